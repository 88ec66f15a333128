#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The contract of the client, as on the embedded store, on a PostgreSQL server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/databases.sh"

# Holders, waiters and sharers that are not over.
rows() {
    pg -c "WITH now AS (SELECT holdfast.clock() / 1000 AS ms)
        SELECT 'lock', name FROM holdfast.lock, now
            WHERE owner IS NOT NULL AND until >= ms
        UNION ALL SELECT 'waiter', name FROM holdfast.waiter, now
            WHERE until > ms
        UNION ALL SELECT 'sharer', name FROM holdfast.sharer, now
            WHERE until > ms ORDER BY 1, 2"
}

postgres_start
url="postgres://postgres@/postgres${CONTRACT_QUERY}&host=$PGHOST"
contract "PostgreSQL" "$url" "${CONTRACT_ONE[@]}"
rows >"$W/before"
contract "PostgreSQL" "$url" "${CONTRACT_SEVERAL[@]}" share
left=$(rows | comm -13 "$W/before" -)
is "$left" "" "several names and permits leave no row"
finish
