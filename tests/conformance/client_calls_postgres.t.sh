#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Calls of the system, of the allocator and of libpq that fail, on a PostgreSQL
# server. A connection starts a process there; so some of the places are drawn,
# others for other sources.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/drawn.sh"
[ -e "$HF_BUILD/store-postgres.so" ] || skip_all "built without libpq"

postgres_start
url="postgres://postgres@/postgres${CONTRACT_QUERY}&host=$PGHOST"
capture timeout 60 holdfast doctor --init -u "$url"
is "$code" 0 'the server counts'
HF_TEST_SEED=$(drawn_seed)
export HF_TEST_SEED
diag "HF_TEST_SEED=$HF_TEST_SEED"
HF_TEST_EVERY=${HF_TEST_EVERY:-3} contract "PostgreSQL" "$url" calls
HF_TEST_EVERY=${HF_TEST_EVERY:-4} contract "PostgreSQL" "$url" memory
no_connection() { # the server ends it after the client
    [ "$(pg -c "SELECT count(*) FROM pg_stat_activity
        WHERE application_name LIKE 'holdfast%'")" = 0 ]
}
ok "no connection is left open" wait_until 20 no_connection
finish
