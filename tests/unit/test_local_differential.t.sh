#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The rules of the embedded store against the Lua scripts, from a seed that is
# drawn from the sources. See ../differential/suite.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/nested.sh"
[ -x "$HF_BUILD/tests/unit/test_local_differential" ] ||
    skip_all "built without the simulator"
nested differential "$HF_BUILD/tests/unit/test_local_differential" - \
    "$(drawn_seed)"
finish
