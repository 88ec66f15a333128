#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The contract of the client, as on the embedded store, on one server and on
# five.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

contract() { # WHAT URL PART...
    local what=$1 part
    export HF_TEST_URL=$2
    shift 2
    for part; do
        nested "$what, $part" "$HF_BUILD/tests/conformance/client_$part"
    done
}

# What is more than a name's counter: holders, queues, who shares it.
keys() { # SERVER
    server_cli "$1" --raw keys '*' | # some names are not text
        LC_ALL=C grep -a -v -e ':fence$' -e '^hf:node$' | LC_ALL=C sort
}

one=(lock loop threads look)
several=(names meet whole permits)

server_start alone
# Long timeouts: on a busy machine a reply may take its time.
query='?quarantine=off&node_timeout=1s'
contract "one server" "${SERVER_URL[alone]}$query" "${one[@]}"
keys alone >"$W/before"
contract "one server" "${SERVER_URL[alone]}$query" "${several[@]}"
left=$(keys alone | LC_ALL=C comm -13 "$W/before" -)
is "$left" "" "several names and permits leave no key"

servers_start 5
five=$(for i in 1 2 3 4 5; do echo "${SERVER_URL[s$i]}$query"; done)
contract "five servers" "${five//$'\n'/ }" "${one[@]}" "${several[@]}"
finish
