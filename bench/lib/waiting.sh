# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Rows about waiting: a crowd that hands one lock on. Source after rows.sh.
# What the columns mean: bench/contenders.h, bench/waiters.c.

wait_columns=(hand50 hand99 rate wait99 sent all client server)
fair_columns=(unfair longest of_bound gap hand50 rate)

# Clients rest after each turn, so that some wait and some do not; where they
# ask again at once ("no rest"), all others always wait.
crowd_raw() {
    "$bin/queue_raw" --seconds "$crowd_seconds" "$@"
}

crowd_ours() {
    "$bin/queue" --seconds "$crowd_seconds" "$@"
}

# The options that let a program count what servers did.
watching() {
    echo --servers "$(addresses "$@")" --pids "$(pids "$@")"
}

# A server behind half a millisecond each way. Sets $delayed, its address.
need_delay() {
    local pid
    [ -z "${delayed:-}" ] || return 0
    "$bin/delay" --to "$(addresses one)" --us 500 >"$W/delay" 2>&1 &
    pid=$!
    at_exit kill "$pid"
    wait_until 5 grep -q '^port=' "$W/delay" || return 1
    delayed=127.0.0.1:$(sed -n 's/^port=//p' "$W/delay")
}

row_handover() {
    local i watch
    need_one && need_delay || return 1
    read -ra watch <<<"$(watching one)"
    title "one Redis, ten clients, hold 1 ms, rest 10 ms: hand-over, us"
    for ((i = 1; i <= wait_rounds; i++)); do
        figure raw "$i" crowd_raw --node "$(addresses one)" \
            "${watch[@]}" || return 1
        figure line "$i" crowd_raw --node "$(addresses one)" \
            --scripts "$scripts_dir" "${watch[@]}" || return 1
        figure ours "$i" crowd_ours --url "${SERVER_URL[one]}" \
            "${watch[@]}" || return 1
        figure raw-delay "$i" crowd_raw --node "$delayed" \
            --ping "$delayed" "${watch[@]}" || return 1
        figure ours-delay "$i" crowd_ours --url "redis://$delayed" \
            --ping "$delayed" "${watch[@]}" || return 1
    done
    for i in raw line ours; do
        table "$i" "${wait_columns[@]}"
    done
    check_ratio hand50 ours raw le 1.15
    note_ratio hand50 line raw
    note_ratio hand50 ours line
    note_ratio hand99 ours raw
    check_value sent ours le 3.05 # three, and what was under way at the edges
    echo "  0.5 ms of delay each way; rtt: a PING through it"
    for i in raw-delay ours-delay; do
        table "$i" rtt over_rtt "${wait_columns[@]}"
    done
    check_value over_rtt ours-delay le 100
    note_ratio hand50 ours-delay raw-delay
}

row_fair() {
    local i watch
    need_one || return 1
    read -ra watch <<<"$(watching one)"
    title "one Redis, ten clients, hold 1 ms, no rest: fairness; ms"
    for ((i = 1; i <= fair_rounds; i++)); do
        figure raw "$i" crowd_raw --node "$(addresses one)" --rest 0 \
            "${watch[@]}" || return 1
        figure ours "$i" crowd_ours --url "${SERVER_URL[one]}" --rest 0 \
            "${watch[@]}" || return 1
    done
    for i in raw ours; do
        table "$i" "${fair_columns[@]}"
    done
    check_value unfair ours le 1.05
    check_value of_bound ours le 1 # 2 x clients x (hold + hand-over)
    check_value sent ours le 3.05
    note_ratio hand50 ours raw
}

# Five servers are busy for a hand-over, which takes its time on one core; so
# the same on all cores too.
row_queue5() {
    local i watch all=0-$((cores - 1))
    need_one && need_five || return 1
    read -ra watch <<<"$(watching "${five[@]}")"
    title "five Redis, ten clients, hold 1 ms, rest 10 ms; gap in ms"
    for ((i = 1; i <= fair_rounds; i++)); do
        figure one "$i" crowd_ours --url "${SERVER_URL[one]}" || return 1
        figure five "$i" crowd_ours --url "$URLS" "${watch[@]}" || return 1
        servers_spread "${five[@]}"
        figure five-spread "$i" taskset -c "$all" "$bin/queue" --seconds \
            "$crowd_seconds" --url "$URLS" "${watch[@]}" || return 1
        servers_gather "${five[@]}"
    done
    for i in one five five-spread; do
        table "$i" rate hand50 hand99 gap longest unfair sent client server
    done
    for i in five five-spread; do
        check_value rate "$i" ge 500
        check_value gap "$i" le 20 # 2 x hold x clients
    done
    note_ratio hand50 five one
}

# waiters MODE COUNT SECONDS URL SERVER...
waiters() {
    local mode=$1 count=$2 for=$3 url=$4 watch
    shift 4
    read -ra watch <<<"$(watching "$@")"
    "$bin/waiters" --mode "$mode" --count "$count" --seconds "$for" \
        --url "$url" "${watch[@]}"
}

waiters_turns() {
    local i n
    title "N waiters of one process on one name: per grant, us"
    for ((i = 1; i <= fair_rounds; i++)); do
        for n in 10 100 1000; do
            figure "turns-$n" "$i" waiters turns "$n" "$crowd_seconds" \
                "${SERVER_URL[one]}" one || return 1
        done
    done
    for n in 10 100 1000; do
        table "turns-$n" grant_us client server sent all wrong moved failed left
    done
    check_ratio grant_us turns-1000 turns-10 le 1.5
    check_ratio server turns-1000 turns-10 le 1.5
    check_ratio client turns-1000 turns-10 le 1.5
    check_value wrong turns-1000 le 0
}

waiters_processes() {
    title "$wait_processes processes queue up, and are served once"
    figure processes 1 waiters processes "$wait_processes" 1 \
        "${SERVER_URL[one]}" one || return 1
    table processes served wrong left hand_us
    check_value served processes ge "$wait_processes"
    check_value wrong processes le 0
}

waiters_idle() {
    local i
    title "100 wait for $idle_seconds s, lease 30 s: a waiter, per second and node"
    figure one 1 waiters idle 100 "$idle_seconds" "${SERVER_URL[one]}" one ||
        return 1
    figure five 1 waiters idle 100 "$idle_seconds" "$URLS" "${five[@]}" ||
        return 1
    for i in one five; do
        table "$i" sent_per_s client_us_per_s server_us_per_s left
        check_value sent_per_s "$i" le 0.5
        check_value left "$i" le 0
    done
}

row_waiters() {
    local status=0
    need_one && need_five || return 1
    waiters_turns || status=1
    waiters_processes || status=1
    waiters_idle || status=1
    return $status
}

# With a rest: without one, the releasing process would acquire again before the
# next holder runs on the one core.
row_queue_local() {
    local i url=local://$W/local-queue
    title "embedded store, two and ten processes, hold 1 ms: hand-over, us"
    for ((i = 1; i <= fair_rounds; i++)); do
        figure ring-2 "$i" crowd_raw --ring 1 --clients 2 --rest 0.5 &&
            figure local-2 "$i" crowd_ours --url "$url" --clients 2 \
                --rest 0.5 &&
            figure ring-10 "$i" crowd_raw --ring 1 --rest 5 &&
            figure local-10 "$i" crowd_ours --url "$url" --rest 5 &&
            figure ring-no-rest "$i" crowd_raw --ring 1 --rest 0 &&
            figure local-no-rest "$i" crowd_ours --url "$url" --rest 0 ||
            return 1
    done
    for i in ring-2 local-2 ring-10 local-10 ring-no-rest local-no-rest; do
        table "$i" hand50 hand99 unfair longest of_bound client
    done
    check_ratio hand50 local-2 ring-2 le 3
    check_ratio hand50 local-10 ring-10 le 3
    check_value unfair local-no-rest le 1.05
    check_value of_bound local-no-rest le 1
}
