#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# break -w after the clock of a server was set back: its leases seem to last for
# hours, but the break waits for max_ttl at most.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

server_start one --clock
export HOLDFAST_URL="${SERVER_URL[one]}?max_ttl=1m"
servers_declare "$HOLDFAST_URL"
holdfast acquire -t 50s job >"$W/log"
holdfast acquire -t 50s -s read >"$W/log"
server_cli one set lock:foreign another px 50000 >"$W/log"
server_clock one -7200

for name in job read; do
    rm -f "$W/err"
    holdfast break -w 2m $name 2>"$W/err" &
    breaker=$!
    ok "$name: the break is begun" wait_until 20 test -s "$W/err"
    like "$(cat "$W/err")" '^waiting for the lease of ' "$name: and waits"
    kill -TERM "$breaker"
    wait "$breaker"
done
capture timeout 60 holdfast break -w 20s job
is "$code" 75 '-w below max_ttl: not begun'
capture timeout 60 holdfast break -w 2m foreign
is "$code" 75 "another library's lock: not begun, since it may be as long"
finish
