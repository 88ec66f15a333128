#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A server that sends without end: it costs its own vote and a few MiB, and
# delays no deadline. As the only server, as one of three, over TLS, on both
# connections.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 180
[ -x "$HF_BUILD/tests/lib/flood" ] || skip_all 'no OpenSSL to build flood with'

# Endless bytes take at most the size limit of a reply, twice while it grows.
PEAK_KIB=65536

servers_start 4
# If the limit fails, the machine must not run out of memory.
is_sanitized "$HF_BUILD/holdfast" || ulimit -Sv 2000000
declare -A FLOOD=()
stop_floods() {
    local port
    for port in "${!FLOOD[@]}"; do
        kill "${FLOOD[$port]}"
        wait "${FLOOD[$port]}"
    done 2>/dev/null
    FLOOD=()
}
at_exit stop_floods

# Set $port: a flood of KIND in front of SERVER, from TRIGGER on. A store of
# three marks its servers: s3 belongs to one, s4 is the single server.
begin_flood() { # SERVER TRIGGER KIND [CERT KEY]
    local server=$1 trigger=$2
    shift 2
    while :; do
        port=$(free_port)
        : >"$W/flood.$port"
        timeout 170 "$HF_BUILD/tests/lib/flood" "$port" "${SERVER_SOCK[$server]}" \
            "$trigger" "$@" >"$W/flood.$port" 2>/dev/null &
        FLOOD[$port]=$!
        wait_until 2 grep -q flood "$W/flood.$port" && return
    done
}

is_modest() { # TITLE
    is_sanitized "$HF_BUILD/holdfast" && return
    ok "$1: $(cat "$W/peak") KiB of memory" \
        test "$(cat "$W/peak")" -le $PEAK_KIB
}

# A try that ends with 69 within its second, with one line that matches.
fails_in_time() { # URL REGEX TITLE
    local start took
    start=$(now_ms)
    capture timeout 60 "$HF_BUILD/tests/lib/peak" "$W/peak" \
        holdfast run -n -u "$1" x -- echo no
    took=$(($(now_ms) - start))
    is "$code:$out" 69: "$3: exit 69"
    like "$err" "^holdfast: [^"$'\n'"]*$2[^"$'\n'"]*$" "$3: one line"
    # A try takes a second; a loaded machine starts and ends it later.
    ok "$3: in time ($took ms)" test $took -le 4500
    is_modest "$3"
}

# Held until it was renewed, and for SECONDS, although the third server is
# flooded.
holds_anyway() { # URL TITLE [SECONDS]
    : >"$W/renewed"
    capture timeout 60 "$HF_BUILD/tests/lib/peak" "$W/peak" \
        holdfast run -w 5 -t 4s --status-fd 8 -u "$1" x -- sh -c \
        'sleep "$1"; until grep -q renewed "$0"; do sleep 0.02; done' \
        "$W/renewed" "${3:-0}" 8>"$W/renewed"
    err+=$(cat "$W/renewed")
    is "$code" 0 "$2: the quorum of the others is held"
    like "$err" renewed "$2: and renewed"
    unlike "$err" 'at-risk|lost' "$2: without a doubt"
    is_modest "$2"
}

three() { # THIRD: a URL of two good servers and it
    local url
    for url in "${SERVER_URL[s1]}" "${SERVER_URL[s2]}" "$1"; do
        echo "$url?quarantine=off"
    done | paste -sd ' '
}

# ---- The first connection
for kind in bulk line array; do
    begin_flood s4 INFO $kind
    fails_in_time "redis://127.0.0.1:$port?quarantine=off" \
        "$port sends a reply above the limit" "$kind, the one server"
    begin_flood s3 EVALSHA $kind
    holds_anyway "$(three "redis://127.0.0.1:$port")" "$kind, one of three"
done
begin_flood s4 '' bulk
fails_in_time "redis://127.0.0.1:$port?quarantine=off" "$port " \
    'a flood unasked'
begin_flood s3 EVALSHA replies
holds_anyway "$(three "redis://127.0.0.1:$port")" 'endless replies'
stop_floods

# A byte now and then is no reply.
begin_flood s4 EVALSHA drip
fails_in_time "redis://127.0.0.1:$port?quarantine=off" "$port" 'a drip'
begin_flood s3 EVALSHA drip
holds_anyway "$(three "redis://127.0.0.1:$port")" 'a drip, one of three' 2
ok 'a drip does not pass for an answer: it connects again' \
    test "$(grep -c begins "$W/flood.$port")" -ge 2
stop_floods

# ---- The second connection: a waiter is served all the same
for kind in bulk replies drip; do
    begin_flood s4 SUBSCRIBE $kind
    url="redis://127.0.0.1:$port?quarantine=off"
    mkfifo "$W/hold.$kind"
    holdfast run -u "$url" y -- cat "$W/hold.$kind" >/dev/null &
    holder=$!
    held() {
        ! holdfast run -n -u "$url" y -- true
    }
    wait_until 5 held
    "$HF_BUILD/tests/lib/peak" "$W/peak" \
        holdfast run -w 20 --status-fd 3 -u "$url" y -- echo in \
        3>"$W/events.$kind" >"$W/out.$kind" &
    waiter=$!
    ok "$kind, pushed: a second connection" \
        wait_until 5 grep -q begins "$W/flood.$port"
    : >"$W/hold.$kind"
    wait $holder
    wait $waiter
    is "$?:$(cat "$W/out.$kind")" 0:in "$kind, pushed: the waiter gets the lock"
    is_modest "$kind, pushed"
done
stop_floods

# ---- TLS
tls_make
over_tls=("$W/tls/server.crt" "$W/tls/server.key")
ca="tls_ca=$W/tls/ca.crt&quarantine=off"
for kind in bulk tickets; do
    begin_flood s4 INFO $kind "${over_tls[@]}"
    fails_in_time "rediss://127.0.0.1:$port?$ca" "$port " "TLS, $kind"
    begin_flood s3 EVALSHA $kind "${over_tls[@]}"
    holds_anyway "$(three "rediss://127.0.0.1:$port")&tls_ca=$W/tls/ca.crt" \
        "TLS, $kind, one of three"
done
begin_flood s4 '' records "${over_tls[@]}"
fails_in_time "rediss://127.0.0.1:$port?$ca" "$port .*TLS handshake" \
    'a handshake that drips'
holds_anyway "$(three "rediss://127.0.0.1:$port")&tls_ca=$W/tls/ca.crt" \
    'a handshake that drips, one of three'

# ---- Large, but a reply: another client's value
head -c 5000000 /dev/zero | tr '\0' v |
    server_cli s4 -x set lock:large >/dev/null
capture holdfast run -w 2 -u "${SERVER_URL[s4]}?quarantine=off" large -- true
is "$code" 75 "another client's value of 5 MB is a lock like others"
capture holdfast ls -u "${SERVER_URL[s4]}?quarantine=off"
like "$code:$out" '^0:.*large' 'and is listed'
finish
