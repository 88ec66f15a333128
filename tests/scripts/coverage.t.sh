#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every branch of core is reached by its own tests.
# timeout: 300
. "$(dirname "$0")/../lib/tap.sh"

capture "$HF_SOURCE/scripts/coverage" -b "$HF_TEST_DIR/build" --core
is "$code" 0 "scripts/coverage --core succeeds"
like "$out" "core, at least 100% .* 100\.00%" "every branch is taken"
finish
