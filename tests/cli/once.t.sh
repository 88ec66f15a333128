#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A cron job: processes of five hosts, whose clocks differ, start the same short
# job. It runs once, on every kind of store.
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
    is "$bad" 0 "$what: every process exits 0"
    is "$(cat "$W/said")" '' "$what: and prints nothing"
}

# ---- The mark: written before the command starts, looked at by --once alone

marked() { # URL WHAT
    local what=$2 keeper
    export HOLDFAST_URL=$1
    ran() { # NAME [OPTION...]
        local name=$1
        shift
        holdfast run --once 1h "$@" "$name" -- echo ran
    }
    is_free() { holdfast run -n "$1" -- true; }

    is "$(ran kept)" ran "$what: runs"
    is "$(holdfast run -n kept -- echo plain)" plain \
        "$what: a plain run need not wait for the period"
    is "$(ran kept)" '' "$what: and does not end it"
    capture holdfast ls
    like "$out" 'kept +[^ ]+ .*ended' "$what: ls lists the mark"
    capture holdfast ls --json kept
    like "$out" '"state":"ended"' "$what: ls NAME shows it too"
    capture holdfast break kept
    is "$code" 0 "$what: break"
    is "$(ran kept)" ran "$what: break clears the mark"

    # The keeper is the command's parent.
    holdfast run --once 1h -t 1s killed -- \
        sh -c 'echo $PPID >"$0"; kill -9 $PPID; exec sleep 300' "$W/keeper" \
        2>"$W/.err"
    ok "$what: kill -9 of the keeper ends the lease" \
        wait_until 10 is_free killed
    is "$(ran killed)" '' "$what: and not the period"

    capture holdfast run --once 1h failed -- false
    is "$code:$(ran failed)" 1: "$what: a failed run keeps the period"
    capture holdfast run --once 1h --on-fail release let -- false
    is "$code:$(ran let --on-fail release)" 1:ran \
        "$what: --on-fail release leaves it to others"
    is "$(ran let)" '' "$what: one that succeeds keeps it all the same"
    capture holdfast run --once 1h --on-fail release shot -- \
        sh -c 'kill -9 $$'
    is "$code:$(ran shot)" 137:ran "$what: a signal is a failure"

    is "$(ran 'a b' c "d{e}f")" ran "$what: several names are marked"
    is "$(ran c)$(ran 'd{e}f')$(ran 'a b')" '' "$what: each of them"
    is "$(ran 'other' c)" '' "$what: one that is marked suffices"
    is "$(ran other)" ran "$what: and the rest is not marked"
}

mkfifo "$W/pipe"
contest "local://$W/store" 'embedded'
server_start one
contest "${SERVER_URL[one]}?quarantine=off&node_timeout=1s" 'one redis'
servers_start 5
contest "$URLS?quarantine=off&node_timeout=1s" 'five redis'

# The name is free when the time is over.
for url in "local://$W/store" "${SERVER_URL[one]}?quarantine=off&node_timeout=1s" \
    "$URLS?quarantine=off&node_timeout=1s"; do
    start=$(now_ms)
    holdfast run -u "$url" --once 4s again -- true
    capture holdfast run -u "$url" --once 4s again -- echo ran
    is "$code:$out$err" '0:' "${url%%:*}: taken at once"
    ran() {
        [ "$(holdfast run -u "$url" --once 4s again -- echo ran)" = ran ]
    }
    ok "${url%%:*}: runs again" wait_until 5 ran
    took=$(($(now_ms) - start))
    ok "${url%%:*}: not earlier than 4 s ($took ms)" test $took -ge 3950
done
marked "local://$W/store" 'embedded'
marked "${SERVER_URL[one]}?quarantine=off&node_timeout=1s" 'one redis'
marked "$URLS?quarantine=off&node_timeout=1s" 'five redis'
unset HOLDFAST_URL

server_kill s1
server_kill s2
server_kill s3
capture holdfast run -u "$URLS?quarantine=off&node_timeout=1s" --once 1h other -- echo ran
is "$code:$out" 69: 'no majority: 69, and no run'
is "$(printf '%s' "$err" | grep -c '^holdfast: ')" 1 'one line'
finish
