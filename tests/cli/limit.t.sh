#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Few descriptors (ulimit -n), and closed standard ones: the command works, or
# ends soon with one line that names the limit.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 180
server_start redis
stores=("local://$W/store" "${SERVER_URL[redis]}?quarantine=off&node_timeout=3s&connect_timeout=10s")
first=3 last=40
# A sanitizer needs some for its libraries, and to look for leaks.
is_sanitized "$(command -v holdfast)" && first=8
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0

limited() { # LIMIT COMMAND...
    (ulimit -n "$1" && shift && exec timeout 10 "$@")
}

limited_closed() { # LIMIT COMMAND...
    (exec <&- >&- 2>&- && limited "$@")
}

# A try, and a look, end after 0.9 s if the server does not answer, as where the
# machine stands still: that shows nothing about descriptors.
is_late() {
    [[ $code = 69 && $ms -ge 600 && $err =~ 'answer' ]]
}
# Sets code, err, out and ms. A late run is repeated: one that is always late is
# a failure.
timed() { # COMMAND...
    local began i
    for i in 1 2 3 4 5; do
        began=$(now_ms)
        capture "$@"
        ms=$(($(now_ms) - began))
        is_late || return
    done
}

# The allowed results of a run with too few descriptors.
says_so() {
    [[ $code =~ ^(69|70)$ && $ms -lt 8000 && -z $out ]] &&
        [[ $err =~ ^holdfast:[^$'\n']*'too many open files; raise the limit (ulimit -n)'[^$'\n']*$ ]]
}
# The program itself cannot be loaded.
is_unloaded() {
    [[ $code = 127 && $err =~ 'error while loading shared libraries' ]]
}

sweep() { # TITLE WANTED-OUTPUT COMMAND...
    local title=$1 want=$2 limit enough='' wrong=''
    shift 2
    for ((limit = first; limit <= last; limit++)); do
        timed limited "$limit" "$@"
        if [ "$code" = 0 ] && [[ $out =~ $want ]] && [ -z "$err" ]; then
            enough=${enough:-$limit}
        elif [ -n "$enough" ] || { ! says_so && ! is_unloaded; }; then
            wrong+="limit $limit, $ms ms, code $code: $err"$'\n'
        fi
    done
    is "$wrong" '' "$title: works from $enough descriptors on, says so below"
    ok "$title: few are enough" test "${enough:-99}" -le 20
}

# With stdin, stdout and stderr closed as well, no descriptor of ours replaces
# them.
sweep_closed() {
    local limit wrong=''
    for ((limit = first; limit <= last; limit++)); do
        rm -f "$W/ran"
        timed limited_closed "$limit" holdfast run -n job -- touch "$W/ran"
        [ -e "$W/ran" ] && code+=' ran'
        [[ $ms -lt 8000 && $code =~ ^('0 ran'|69|70|127)$ ]] ||
            wrong+="limit $limit, $ms ms, code $code"$'\n'
    done
    is "$wrong" '' "$store: run -n with closed standard descriptors"
}

# A wait needs more: a second connection, a socket for wake-ups.
sweep_wait() {
    local limit wrong='' holder
    rm -f "$W/held"
    holdfast run held -- sh -c 'touch "$0"; exec sleep 300' "$W/held" &
    holder=$!
    wait_until 10 test -e "$W/held"
    for ((limit = 10; limit <= 24; limit++)); do
        timed limited "$limit" holdfast run -w 200ms held -- true
        [[ $ms -lt 8000 && $code = 75 ]] || says_so ||
            wrong+="limit $limit, $ms ms, code $code: $err"$'\n'
    done
    is "$wrong" '' "$store: run -w"
    # The store is not unreachable: only this process cannot open it.
    wrong=
    for ((limit = first; limit <= last; limit++)); do
        timed limited "$limit" holdfast run -n --on-unreachable run held -- \
            echo ran
        [[ $ms -lt 8000 && $code = 75 && -z $out ]] || says_so || is_unloaded ||
            wrong+="limit $limit, $ms ms, code $code: $out $err"$'\n'
    done
    kill $holder
    wait $holder
    is "$wrong" '' "$store: --on-unreachable run beside a holder"
}

for HOLDFAST_URL in "${stores[@]}"; do
    export HOLDFAST_URL
    store=${HOLDFAST_URL%%:*}
    shown=$(holdfast acquire -t 60s shown)
    sweep "$store: run -n" '^ran$' holdfast run -n job -- echo ran
    # A server may take a twentieth of the lease to answer.
    sweep "$store: acquire" '^[^ ]+@[0-9]+/60000 [0-9]+ [0-9.]+$' \
        holdfast acquire -n -s -t 60s lent
    holdfast break --now lent >/dev/null
    sweep "$store: ls" shown holdfast ls -q
    sweep_closed
    sweep_wait
    HOLDFAST_OWNER=${shown%% *} holdfast release shown
    ok "$store: no lock remains" holdfast run -w 20 job lent -- true
    is "$(holdfast ls -q)" '' "$store: nor held"
done
finish
