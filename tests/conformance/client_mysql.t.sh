#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# The contract of the client, as on the embedded store, on a MariaDB server,
# except for parts that need a request executed before the reply to an earlier
# one is read: such cases would wait for it in vain.
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

mariadb_needed
KEEPS_URL="mysql://root@/${CONTRACT_QUERY}&socket=$W/maria/s&prefix="
keeps lock
keeps threads
keeps callbacks
keeps cancel
keeps started
keeps async
keeps look
keeps break
rows >"$W/before"
keeps multi_name_handle
keeps multi_name_deadlock
keeps semaphore
keeps share
left=$(rows | comm -13 "$W/before" -)
is "$left" "" "several names, permits and sharers leave no row"
# The last: a case that fails leaves its locks until their leases end, and a
# server on which a lock is held is not declared anew (look).
keeps names test_cancel? test_close?
keeps loop test_callback_cancels?
keeps async_end test_release_ends_it?

# Some of it over TLS, where OpenSSL may have read what the loop waits for.
if [ -n "${HF_TEST_ALL:-}" ]; then
    ok 'the server has TLS' eval 'tls_make && mariadb_restart_tcp server'
    KEEPS_URL="mysqls://root@127.0.0.1:$MARIADB_PORT/$CONTRACT_QUERY&tls_ca=$W/tls/ca.crt&prefix=tls_"
    for part in lock threads async share multi_name_handle; do
        keeps "$part"
    done
fi
finish
