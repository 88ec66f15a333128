#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every example runs, on the embedded store and on a server, and prints the text that its
# comment promises.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

server_start one
server="${SERVER_URL[one]}?quarantine=off"

example() { # NAME REGEX...
    local name=$1 url want
    shift
    if [ ! -x "$HF_BUILD/examples/$name" ]; then
        skip "$name" "not built"
        return
    fi
    for url in "local://$W/store" "$server"; do
        capture timeout 20 "$HF_BUILD/examples/$name" "$url"
        is "$code" 0 "$name on ${url%%:*}: exits with 0"
        is "$err" "" "$name on ${url%%:*}: no complaint"
        for want in "$@"; do
            like "$out" "$want" "$name on ${url%%:*}: $want"
        done
    done
}

example blocking 'working under fence [0-9]+' 'given back: ok'
example guarded_update 'refused: fence [0-9]+ is older' 'the lock is lost'
example leader 'leading with fence [0-9]+' 'tick 3 of fence' 'resigning'
example transfer 'permit [01] of 2' 'account-17 under fence [0-9]+' 'account-4711 under fence'
example event_loop_poll 'job-99: fence' 'job-99: ok'
example event_loop_uv 'tick 10: [1-9][0-9]* ms' 'given back: ok'

# No name stays held.
is "$(server_cli one keys 'lock:*')" "" "no lock is left on the server"
finish
