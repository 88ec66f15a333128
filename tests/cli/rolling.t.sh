#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 180
# Two of three servers are restarted, one after the other, and each counts again before
# the next: a lock survives that if they write their data when they end.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"

# The clock floor rises in steps of 4.2 s: one that is empty takes no older fence.
is_old() { [ "$(now_ms)" -ge $((taken_ms + 4300)) ]; }
renewals() { grep -c '"renewed"' "$W/events.$1"; }
is_renewed() { # NAME TIMES, or ended
    [ "$(renewals "$1")" -gt "$2" ] || is_gone "$begun"
}
two_restarts() { # NAME SAVE
    local name=$1 server
    URLS=''
    for server in "$name"{1,2,3}; do
        ok "$name: a server" server_start "$server" -- --save "$2"
        URLS+=" ${SERVER_URL[$server]}"
    done
    export HOLDFAST_URL="${URLS# }?max_ttl=10s&node_timeout=3s"
    gives 0 "$name: they count" doctor --init
    begin "$name" -t 10s "$name"
    taken_ms=$(now_ms)
    ok "$name: a lock" wait_until 20 holds "$name"
    ok "$name: its fence is older than the step of the clock floor" wait_until 10 is_old
    for server in "$name"{1,2}; do
        server_stop "$server"
        ok "$name: a server is restarted" server_restart "$server"
        gives 0 "$name: it counts" doctor --init --force
        ok "$name: a renewal, or the end" wait_until 10 is_renewed "$name" "$(renewals "$name")"
    done
}

two_restarts kept '3600 1'
is "$(server_cli kept1 exists lock:kept):$(server_cli kept2 exists lock:kept)" 1:1 \
    'kept: the servers have the lock'
end kept
wait "$begun"
is $? 0 'kept: its command ends by itself'

two_restarts lost ''
is "$(server_cli lost1 exists lock:lost):$(server_cli lost2 exists lock:lost)" 0:0 \
    'lost: two servers do not have the lock any more'
wait "$begun"
is $? 76 'lost: its command is ended'
finish
