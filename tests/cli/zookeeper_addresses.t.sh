#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Addresses of ZooKeeper's servers: an ensemble that moves with its name, a name that
# is found late, one that is never found or not in time, a server that starts late.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/hosts.sh"
hosts_needed
have_zookeeper || skip_all 'needs ZooKeeper'
[ -e "$HF_BUILD/store-zookeeper.so" ] || skip_all 'needs the store for ZooKeeper'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
port=$(free_port)
relay_pid=''

# Its server at another address of this host, and at no other any more.
relay_end() {
    [ -z "$relay_pid" ] || { kill "$relay_pid" && wait "$relay_pid" 2>/dev/null; }
    relay_pid=''
}
at_exit relay_end
relay_answers() { # ADDRESS
    grep -q '^ok' "$W/relay.$1.out" && (: <"/dev/tcp/$1/$port") 2>/dev/null
}
relay_at() { # ADDRESS
    relay_end
    rm -f "$W/relay.$1"
    mkfifo "$W/relay.$1"
    "$HF_BUILD/tests/lib/partition" <>"$W/relay.$1" >"$W/relay.$1.out" &
    relay_pid=$!
    printf '%s\n' 'member client' 'member server' \
        "stream client server $1:$port 127.0.0.1:${ZOOKEEPER_PORT[z1]}" >"$W/relay.$1"
    wait_until 20 relay_answers "$1"
}

# A command has two connections.
has_connections() { # N
    [ "$(zookeeper_say z1 cons | grep -c sid=0x)" = "$1" ]
}
entries_are() { # N
    [ "$(zookeeper_nodes | grep -c '^/lock:job/')" = "$1" ]
}
job() { # URL [ARG...]
    local url=$1
    shift
    with_hosts timeout 120 holdfast run -u "$url" "$@"
}

# ---- An ensemble that moves ----------------------------------------------------------
hosts_write 127.0.0.3
ok 'a server at 127.0.0.3' relay_at 127.0.0.3
url=zookeeper://two.test:$port
job "$url" job -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$W/go" &
holder=$!
ok 'a job runs' wait_until 30 entries_are 1
job "$url" job -- echo ran >"$W/ran" &
waiter=$!
ok 'another waits' wait_until 30 entries_are 2
relay_end
ok 'their connections end' wait_until 20 has_connections 0
hosts_write 127.0.0.4
ok 'the server moves, and so does its name' relay_at 127.0.0.4
ok 'both connect there, with their sessions' wait_until 30 has_connections 4
touch "$W/go"
wait $holder
is $? 0 'the job ends with its lock'
wait $waiter
is "$?:$(cat "$W/ran")" 0:ran 'the other job runs'

# ---- Names that are not found --------------------------------------------------------
if ! hosts_nameserver; then
    skip 'a name server' "$(tail -n 1 "$W/nameserver.log")"
    finish
fi
: >"$W/hosts"
job "zookeeper://127.0.0.9:$port,two.test:$port" job -- echo ran >"$W/ran" &
waiter=$!
ok 'a name is not found' wait_until 30 hosts_asked two.test 2
hosts_write 127.0.0.4
wait $waiter
is "$?:$(cat "$W/ran")" 0:ran 'it is found later, and its server is reached'

capture job "zookeeper://127.0.0.9:$port,none.test:$port" -w 2 job -- echo ran
is "$code:$out" 69: 'no server is reached'
like "$err" "Connection refused; none.test:$port: cannot find the host: *" \
    'the message names what was not found'

capture job "zookeeper://slow.test:$port,two.test:$port" -w 20 job -- echo ran
is "$code:$out:$err" 0:ran: 'a name is looked up for ever: the others are reached'
capture job "zookeeper://slow.test:$port" -w 3 job -- echo ran
is "$code:$out" 69: 'it is the only one'
like "$err" "slow.test:$port: the host's address is not found in time" '... says so'

capture job "zookeeper://late.test:${ZOOKEEPER_PORT[z1]}?connect_timeout=100ms" -w 60 \
    job -- echo ran
is "$code:$out:$err" 0:ran: 'a resolver that is slower than a connect_timeout'

# ---- A server that starts late -------------------------------------------------------
# The library tries every second address again: one of two. A name that is looked up a
# third time shows that each was tried.
relay_end
waiters=()
for i in 1 2 3 4 5 6; do
    job "zookeeper://127.0.0.9:$port,127.0.0.4:$port,none$i.test:$port" -w 40 "late$i" \
        -- echo ran >"$W/late$i" &
    waiters+=($!)
done
for i in 1 2 3 4 5 6; do
    ok "waiter $i has tried both addresses" wait_until 30 hosts_asked "none$i.test" 9
done
ok 'a server at one of them' relay_at 127.0.0.4
for i in 1 2 3 4 5 6; do
    wait "${waiters[i - 1]}"
    is "$?:$(cat "$W/late$i")" 0:ran "waiter $i reaches it"
done
finish
