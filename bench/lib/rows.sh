# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is measured, one function per row of bench/run. Targets are those of
# the issue that asked for the figures.

scripts_dir=$HF_BUILD/generated/lua
columns=(p50 p99 rate client server)

# One server by itself, and five that are a store: a server's marker says of
# how many it is one, so they are not the same.
need_one() {
    [ -z "${SERVER_PID[one]:-}" ] || return 0
    server_start one --tcp && servers_declare "${SERVER_URL[one]}"
}

need_five() {
    [ -z "${SERVER_PID[s1]:-}" ] || return 0
    servers_start 5 --tcp && servers_declare "$URLS"
}

addresses() {
    local name list=''
    for name in "$@"; do
        list+=${list:+,}127.0.0.1:${SERVER_PORT[$name]}
    done
    echo "$list"
}

pids() {
    local name list=''
    for name in "$@"; do
        list+=${list:+,}${SERVER_PID[$name]}
    done
    echo "$list"
}

five=(s1 s2 s3 s4 s5)

# raw DIALECT SECONDS SERVERS... -- OPTIONS
raw() {
    local dialect=$1 servers=()
    shift
    while [ "$1" != -- ]; do
        servers+=("$1") && shift
    done
    shift
    "$bin/raw" --dialect "$dialect" --scripts "$scripts_dir" \
        --seconds "$seconds" --nodes "$(addresses "${servers[@]}")" \
        --pids "$(pids "${servers[@]}")" "$@"
}

# ours URL SERVERS... -- OPTIONS
ours() {
    local url=$1 servers=()
    shift
    while [ "$1" != -- ]; do
        servers+=("$1") && shift
    done
    shift
    "$bin/ours" --url "$url" --seconds "$seconds" \
        --pids "$(pids "${servers[@]}")" "$@"
}

row_one() {
    local i
    need_one || return 1
    title "one Redis, one caller: acquire and release, us"
    for ((i = 1; i <= rounds; i++)); do
        figure plain "$i" raw plain one -- || return 1
        figure raw "$i" raw scripts one -- || return 1
        figure hiredis "$i" "$bin/hiredis_raw" --node "$(addresses one)" \
            --pids "$(pids one)" --scripts "$scripts_dir" \
            --seconds "$seconds" || return 1
        figure ours "$i" ours "${SERVER_URL[one]}" one -- || return 1
    done
    for i in plain raw hiredis ours; do
        table "$i" "${columns[@]}"
    done
    check_ratio p50 ours raw le 1.10
    check_ratio client ours raw le 1.25
    check_ratio p50 ours plain le 1.6
    check_ratio server ours plain le 2.2
    note_ratio client hiredis raw
    note_ratio client ours hiredis
}

row_five() {
    local i
    need_five || return 1
    title "five Redis, one caller: acquire and release, us"
    for ((i = 1; i <= rounds; i++)); do
        figure plain "$i" raw plain "${five[@]}" -- || return 1
        figure raw "$i" raw scripts "${five[@]}" -- || return 1
        figure ours "$i" ours "$URLS" "${five[@]}" -- || return 1
    done
    table plain "${columns[@]}"
    table raw "${columns[@]}"
    table ours "${columns[@]}"
    check_ratio p50 ours raw le 1.10
}

row_many() {
    local i
    need_one && need_five || return 1
    title "64 in flight from one thread: cycles a second"
    for ((i = 1; i <= rounds; i++)); do
        figure raw-1 "$i" raw scripts one -- --inflight 64 || return 1
        figure ours-1 "$i" ours "${SERVER_URL[one]}" one -- --mode events \
            --inflight 64 || return 1
        figure raw-5 "$i" raw scripts "${five[@]}" -- --inflight 64 || return 1
        figure ours-5 "$i" ours "$URLS" "${five[@]}" -- --mode events \
            --inflight 64 || return 1
    done
    table raw-1 "${columns[@]}"
    table ours-1 "${columns[@]}"
    check_ratio rate ours-1 raw-1 ge 0.75
    table raw-5 "${columns[@]}"
    table ours-5 "${columns[@]}"
    check_ratio rate ours-5 raw-5 ge 0.65
}

row_threads() {
    local i
    need_one || return 1
    title "64 blocking threads on one client, beside 64 raw threads"
    for ((i = 1; i <= rounds; i++)); do
        figure raw "$i" raw scripts one -- --threads 64 || return 1
        figure ours "$i" ours "${SERVER_URL[one]}" one -- --threads 64 ||
            return 1
    done
    table raw "${columns[@]}"
    table ours "${columns[@]}"
    note_ratio rate ours raw
}

# Figures of one run with 0, 1 and 2 servers down, each side of its own.
# A victim that was killed is reaped here, else the shell reports it.
faults_once() {
    local fault=$1 round=$2 down name
    "$bin/faults" --url "$URLS" --fault "$fault" --seconds "$faults_seconds" \
        --victims "${SERVER_PID[s1]},${SERVER_PID[s4]}" >"$W/faults" 2>"$W/err" ||
        {
            printf '  %s: %s\n' "$fault" "$(tail -n 1 "$W/err")"
            return 1
        }
    if [ "$fault" = kill ]; then
        for name in s1 s4; do
            server_kill "$name"
            server_restart "$name" || return 1
        done
        servers_declare "$URLS"
    fi
    for down in 0 1 2; do
        figure "$fault-$down" "$round" grep " down=$down " "$W/faults"
    done
}

faults_report() {
    local fault=$1 down key
    for down in 0 1 2; do
        table "$fault-$down" acq50 acq99 acq1 rel50 rel99 rel1 queued rss_kb
    done
    for down in 1 2; do
        for key in acq50 rel50; do
            check_ratio "$key" "$fault-$down" "$fault-0" le 1.1
        done
        for key in acq99 rel99; do
            check_ratio "$key" "$fault-$down" "$fault-0" le 2
        done
    done
}

row_faults() {
    local i fault
    need_five || return 1
    for fault in stop kill; do
        title "five Redis, $fault one, then two of them: us"
        for ((i = 1; i <= rounds; i++)); do
            faults_once "$fault" "$i" 2>/dev/null || return 1
        done
        faults_report "$fault"
    done
}

# Which libraries does a whole run map? TLS and other stores' must not be there.
cli_libraries() {
    local found
    found=$(strace -f -e trace=openat,open "$@" 2>&1 >/dev/null |
        grep -v ENOENT | grep -oE 'lib[a-z0-9_+-]+\.so[.0-9]*' | sort -u |
        grep -vE '^lib(c|m|dl|pthread|rt)\.so' | tr '\n' ' ')
    printf '    %-44s %s\n' "libraries beside libc" "${found:-none}"
    case $found in
    *libssl* | *libcrypto* | *holdfast-tls*) echo '    TLS is loaded: MISSED' ;;
    *) echo '    no TLS library is loaded' ;;
    esac
}

row_cli() {
    local i side dir=$W/cli
    need_one && need_five || return 1
    mkdir -p "$dir"
    title "whole commands: wall us, CPU us, largest resident set"
    for ((i = 1; i <= rounds; i++)); do
        "$bin/spawn" --count $((cli_count / rounds)) -- \
            flock flock "$dir/file" true ::: \
            bare-1 "$bin/bare" "$(addresses one)" true ::: \
            bare-5 "$bin/bare" "$(addresses "${five[@]}")" true ::: \
            local holdfast run -u "local://$dir/store" x -- true ::: \
            one holdfast run -u "${SERVER_URL[one]}" x -- true ::: \
            five holdfast run -u "$URLS" x -- true >"$W/spawn" 2>"$W/err" ||
            {
                echo "  $(tail -n 1 "$W/err")"
                return 1
            }
        for side in flock bare-1 bare-5 local one five; do
            figure "$side" "$i" grep "job=$side " "$W/spawn"
        done
    done
    for side in flock bare-1 bare-5 local one five; do
        table "$side" p50 p99 cpu rss_kb failed
    done
    check_ratio p50 local flock le 1.25
    check_ratio p50 one flock le 1.35
    check_ratio p50 five flock le 1.6
    note_ratio p50 bare-1 flock
    note_ratio p50 bare-5 flock
    check_value rss_kb five le 3000
    cli_libraries holdfast run -u "$URLS" x -- true
}

# `hold` runs this to count renewals; it is not a shell function there.
hold_counter() {
    local name
    for name in "$@"; do
        printf 'redis-cli -p %s info commandstats; ' "${SERVER_PORT[$name]}"
    done >"$W/count"
    echo "(sh $W/count) | awk -F'[=,]' '/^cmdstat_evalsha:/{s+=\$2}END{print s}'"
}

hold_once() {
    local side=$1 url=$2 ttl=$3
    shift 3
    figure "$side" 1 "$bin/hold" --url "$url" --locks "$hold_locks" --ttl "$ttl" \
        --seconds "$hold_seconds" --nodes $# --pids "$(pids "$@")" \
        --count "$(hold_counter "$@")" || return 1
    table "$side" period us_per_renewal core_percent server_us bytes rss_mb lost
}

# Where servers may run: on all cores, or on the one again.
servers_spread() {
    local name
    for name in "$@"; do
        taskset -acp "0-$((cores - 1))" "${SERVER_PID[$name]}" >/dev/null
    done
}

servers_gather() {
    local name
    for name in "$@"; do
        taskset -acp "$core" "${SERVER_PID[$name]}" >/dev/null
    done
}

row_hold() {
    need_one && need_five || return 1
    # So many renewals keep five servers busier than one core: they get all.
    servers_spread one "${five[@]}"
    title "$hold_locks leases of 10 s, held and renewed by one client"
    hold_once one "${SERVER_URL[one]}" 10000 one || return 1
    check_value us_per_renewal one le 2
    check_value core_percent one le 6
    check_value bytes one le 256
    check_value lost one le 0
    # Five servers need two cores to renew so many every 3 s, which is more
    # than two cores have beside a client: leases of 60 s, then.
    title "$hold_locks leases of 60 s on five servers, likewise"
    hold_once five "$URLS" 60000 "${five[@]}" || return 1
    check_value us_per_renewal five le 2
    check_value bytes five le 448
    check_value lost five le 0
    servers_gather one "${five[@]}"
}

row_local() {
    local i all=0-$((cores - 1)) url=local://$W/local
    title "embedded store, in process: cycles a second"
    for ((i = 1; i <= rounds; i++)); do
        figure flock-1 "$i" "$bin/local" --flock "$W/f" --seconds "$seconds"
        figure local-1 "$i" "$bin/local" --url "$url" --seconds "$seconds" ||
            return 1
        figure flock-2 "$i" taskset -c "$all" "$bin/local" --flock "$W/f" \
            --processes 2 --same --seconds "$seconds"
        figure local-2 "$i" taskset -c "$all" "$bin/local" --url "$url" \
            --processes 2 --same --seconds "$seconds" || return 1
        figure local-2own "$i" taskset -c "$all" "$bin/local" --url "$url" \
            --processes 2 --seconds "$seconds" || return 1
    done
    for i in flock-1 local-1 flock-2 local-2 local-2own; do
        table "$i" rate p50 p99 longest share client
    done
    check_value rate local-1 ge 200000
    check_value share local-2 ge 0.5 # our reading of "starves neither"
}
