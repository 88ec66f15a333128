#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The cron form: five hosts' worth of processes, each with its own idea of the
# time, start the same short job: it runs once, on every kind of store.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

# Two processes a host, 0 to 3 s apart, a job of 10 ms.
contest() { # URL WHAT
    local url=$1 what=$2 i delay pids=() bad=0
    : >"$W/runs"
    : >"$W/said"
    for i in 0 1 2 3 4 5 6 7 8 9; do
        # The first few at the same instant, where votes split.
        delay=$((i < 4 ? 0 : RANDOM % 3000))
        (
            read -rt "$((delay / 1000)).$(printf %03d $((delay % 1000)))" \
                <>"$W/pipe"
            exec holdfast run -u "$url" --once 1h nightly -- \
                sh -c 'echo ran >>"$0"; sleep 0.01' "$W/runs" 2>>"$W/said"
        ) &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || bad=$((bad + 1))
    done
    is "$(wc -l <"$W/runs")" 1 "$what: exactly one run"
    is "$bad" 0 "$what: everybody exits 0"
    is "$(cat "$W/said")" '' "$what: nobody says anything"
}

mkfifo "$W/pipe"
contest "local://$W/store" 'embedded'
server_start one
contest "${SERVER_URL[one]}?quarantine=off" 'one redis'
servers_start 5
contest "$URLS?quarantine=off" 'five redis'

# The name is free when the time is over.
for url in "local://$W/store" "${SERVER_URL[one]}?quarantine=off" \
    "$URLS?quarantine=off"; do
    start=$(now_ms)
    holdfast run -u "$url" --once 1s again -- true
    capture holdfast run -u "$url" --once 1s again -- echo ran
    is "$code:$out$err" '0:' "${url%%:*}: taken at once"
    ran() {
        [ "$(holdfast run -u "$url" --once 1s again -- echo ran)" = ran ]
    }
    ok "${url%%:*}: runs again" wait_until 5 ran
    took=$(($(now_ms) - start))
    ok "${url%%:*}: not earlier than 1 s ($took ms)" test $took -ge 950
done
server_kill s1
server_kill s2
server_kill s3
capture holdfast run -u "$URLS?quarantine=off" --once 1h other -- echo ran
is "$code:$out" 69: 'no majority: 69, and no run'
is "$(printf '%s' "$err" | grep -c '^holdfast: ')" 1 'one line'
finish
