#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The rules in PostgreSQL against the Lua scripts, from a seed that is drawn from
# the sources. See differential.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/nested.sh"
[ -x "$HF_BUILD/tests/postgres/differential" ] ||
    skip_all "built without libpq or without the simulator"
# A lock waits for autovacuum until that is cancelled, after deadlock_timeout. A
# case that fails leaves its locks to the next one, which must not wait for ever.
# Each rule that is removed makes new functions and sessions, whose first five plans of
# each statement are for its own values, unless all are generic.
settings=(-c synchronous_commit=off -c deadlock_timeout=50ms -c lock_timeout=30s
    -c plan_cache_mode=force_generic_plan)
postgres_start "${settings[@]}" || skip_all "no PostgreSQL"
export HF_RESTARTED=$W/restarted
mkfifo "$HF_RESTARTED"
restart() {
    kill -INT "$PG_PID" && wait "$PG_PID"
    postgres_restart "${settings[@]}" && echo "done" >"$HF_RESTARTED"
}
mkdir "$W/schema"
holdfast doctor --print-schema -u postgres: >"$W/schema/whole.sql"
nested differential "$HF_BUILD/tests/postgres/differential" "$W/schema" \
    "$(drawn_seed)"
finish
