#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Calls of the system that fail, against one server, by its name, sealed, and
# against three; and the public door there.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

on() { # WHAT URL PART...
    local part what=$1
    export HF_TEST_URL=$2
    shift 2
    for part; do
        nested "$what, $part" "$HF_BUILD/tests/conformance/client_$part"
    done
}

server_start alone
# Long timeouts: on a busy machine a reply may take its time.
query='?quarantine=off&node_timeout=1s'
on "one server" "${SERVER_URL[alone]}$query" calls door
server_start named --tcp
on "by name" "redis://localhost:${SERVER_PORT[named]}$query" calls
server_start sealed --tls
on "sealed" "${SERVER_URL[sealed]}$query&tls_ca=$W/tls/ca.crt" calls
servers_start 3
three=$(for i in 1 2 3; do echo "${SERVER_URL[s$i]}$query"; done)
on "three servers" "${three//$'\n'/ }" calls door
finish
