#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The contract of the client, as on the embedded store, on a MariaDB server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

# Holders, waiters and sharers that are not over.
rows() {
    sql -e "SELECT 'lock', name FROM holdfast.lock
            WHERE owner IS NOT NULL AND until >= holdfast.clock() DIV 1000
        UNION ALL SELECT 'waiter', name FROM holdfast.waiter
            WHERE until > holdfast.clock() DIV 1000
        UNION ALL SELECT 'sharer', name FROM holdfast.sharer
            WHERE until > holdfast.clock() DIV 1000 ORDER BY 1, 2"
}

mariadb_start || skip_all "no MariaDB"
url="mysql://root@/${CONTRACT_QUERY}&socket=$W/maria/s"
contract "MariaDB" "$url" "${CONTRACT_ONE[@]}"
rows >"$W/before"
contract "MariaDB" "$url" "${CONTRACT_SEVERAL[@]}" share
left=$(rows | comm -13 "$W/before" -)
is "$left" "" "several names and permits leave no row"
finish
