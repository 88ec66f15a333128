#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# Waiting and sharing, as on the embedded store, on one server and on five.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

waiting() { # WHAT URL
    local part
    export HF_TEST_URL=$2
    for part in wait share; do
        nested "$1, $part" "$HF_BUILD/tests/conformance/client_$part"
    done
}

server_start alone
# Long timeouts: on a busy machine a reply may take its time.
query='?quarantine=off&node_timeout=1s'
waiting "one server" "${SERVER_URL[alone]}$query"

servers_start 5
five=$(for i in 1 2 3 4 5; do echo "${SERVER_URL[s$i]}$query"; done)
waiting "five servers" "${five//$'\n'/ }"
finish
