#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# A host of Redis with two addresses: the first one is refused, never answers, or
# accepts and is silent, also for etcd. One without a route is passed over. A name that
# gains an address while a job runs, of which the connection is cut: of its requests,
# and of its pushes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/hosts.sh"
hosts_needed
hosts_write 127.0.0.1 127.0.0.3
is "$(hosts_order)" '127.0.0.1 127.0.0.3 ' 'the order of the addresses'

server_start second --tcp
port=${SERVER_PORT[second]}
second() {
    timeout 10 redis-cli -h 127.0.0.3 -p "$port" "$@"
}
server_cli second config set bind 127.0.0.3 >/dev/null
is_open() { # ADDRESS
    (: <"/dev/tcp/$1/$port") 2>/dev/null
}
is_shut() {
    ! is_open "$1"
}
ok 'a server at the second address' is_open 127.0.0.3
ok '... and not at the first' wait_until 20 is_shut 127.0.0.1
url="redis://two.test:$port?quarantine=off&node_timeout=3s"

gets() { # WHAT [ARG...]
    local what=$1
    shift
    capture with_hosts timeout 60 holdfast run -u "$url" "$@" job -- echo ran
    is "$code:$out:$err" 0:ran: "$what: it gets the lock at the second one"
}
gets 'the first address is refused' -n

"$HF_BUILD/tests/lib/blackhole" "$port" >"$W/deaf" &
deaf=$!
ok 'a port that drops' wait_until 20 grep -q deaf "$W/deaf"
gets 'the first address drops' -w 30
kill $deaf
wait $deaf 2>/dev/null

silent_begin() { # ADDRESS PORT
    "$HF_BUILD/tests/lib/blackhole" "$2" "$1" >"$W/silent" &
    silent=$!
    ok "a port of $1 that accepts and is silent" wait_until 20 grep -q silent "$W/silent"
}
silent_end() {
    kill $silent
    wait $silent 2>/dev/null
}
silent_begin 127.0.0.1 "$port"
gets 'the first address accepts and is silent' -w 60
silent_end

hosts_write 127.0.0.3 255.255.255.255
gets 'the other address has no route' -n

hosts_write 127.0.0.4 127.0.0.5
for scheme in redis rediss etcd etcds consul consuls zookeeper; do
    case $scheme in
    redis | rediss) ;;
    *) [ -e "$HF_BUILD/store-$scheme.so" ] || continue ;;
    esac
    capture with_hosts timeout 60 \
        holdfast run -n -u "$scheme://two.test:$port" job -- echo ran
    is "$code:$out" 69: "$scheme: both addresses refuse"
done

# ---- One that accepts and is silent: etcd, and its watches
etcd_asked() { # PATH
    curl -sS --noproxy '*' "http://127.0.0.3:${ETCD_PORT[e1]}/$1"
}
etcd_serves() { etcd_asked health | grep -q true; }
etcd_watches() { # the holder and the waiter
    [ "$(etcd_asked metrics | sed -n 's/^etcd_debugging_mvcc_watcher_total //p')" = 2 ]
}
etcd_moves() { # to the second address
    etcd_stop e1
    ETCD_ARGS=(--listen-client-urls "http://127.0.0.3:${ETCD_PORT[e1]}")
    etcd_launch e1
    wait_until 60 etcd_serves
}
passes_silent() {
    local url="etcd://two.test:${ETCD_PORT[e1]}?node_timeout=3s"
    hosts_write 127.0.0.1 127.0.0.3
    silent_begin 127.0.0.1 "${ETCD_PORT[e1]}"
    gets 'etcd: the first address accepts and is silent' -w 60
    with_hosts timeout 120 holdfast run -u "$url" -w 60 job -- sh -c \
        'echo held >"$0"
        until [ -e "$1" ]; do sleep 0.05; done' "$W/held.etcd" "$W/go.etcd" &
    holder=$!
    ok 'etcd: a job runs' wait_until 60 test -s "$W/held.etcd"
    with_hosts timeout 120 holdfast run -u "$url" -w 100 job -- echo ran >"$W/ran.etcd" &
    waiter=$!
    ok 'etcd: a waiter watches at the second address' wait_until 60 etcd_watches
    touch "$W/go.etcd"
    wait $holder
    is $? 0 'etcd: the job ends with its lock'
    wait $waiter
    is "$?:$(cat "$W/ran.etcd")" 0:ran 'etcd: the waiter runs'
    silent_end
}
if have_etcd && [ -e "$HF_BUILD/store-etcd.so" ]; then
    ok 'etcd starts' etcd_start
    ok '... and moves to the second address' etcd_moves
    passes_silent
fi

# ---- A name that gains an address
are_there() { # REQUESTERS LISTENERS
    [ "$(second client list type normal | grep -c cmd=evalsha)" -ge "$1" ] &&
        [ "$(second client list type pubsub | grep -c addr=)" = "$2" ]
}
hosts_write 127.0.0.3
with_hosts holdfast run -u "$url" job -- sh -c \
    'echo held >"$0"
    until [ -e "$1" ]; do sleep 0.05; done' "$W/held" "$W/go" &
holder=$!
ok 'a job runs' wait_until 30 test -s "$W/held"
with_hosts holdfast run -u "$url" job -- echo ran >"$W/ran" &
waiter=$!
ok 'another waits' wait_until 20 are_there 2 1
hosts_write 127.0.0.1 127.0.0.3
second client kill type pubsub >/dev/null
ok 'the pushes of the waiter come from the second address' wait_until 20 are_there 2 1
second client kill type normal >/dev/null
ok '... and its requests go there' wait_until 20 are_there 2 1
touch "$W/go"
wait $holder
is $? 0 'the job ends with its lock'
wait $waiter
is "$?:$(cat "$W/ran")" 0:ran 'the other job runs'
finish
