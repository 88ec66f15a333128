#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The rules in PostgreSQL against the Lua scripts. See differential.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/nested.sh"
[ -x "$HF_BUILD/tests/postgres/differential" ] ||
    skip_all "built without libpq or without the simulator"
postgres_start -c synchronous_commit=off || skip_all "no PostgreSQL"
nested differential "$HF_BUILD/tests/postgres/differential" \
    "$HF_SOURCE/src/store/postgres/schema.sql"
finish
