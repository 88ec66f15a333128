#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# Three servers of ZooKeeper that fail, one after the other. Then a holder's own
# follower is killed, or cut off from the leader while it goes on to answer what it
# is asked: before another is granted the lock, the holder's command must have ended.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/ordered_cluster.sh"

have_zookeeper || skip_all 'no ZooKeeper'
command -v socat >/dev/null || skip_all 'no socat'
zookeeper_cluster 3 || { fail 'ZooKeeper starts'; finish; }
export HOLDFAST_URL="$ZOOKEEPER_URL?connect_timeout=3s"
KIND=zookeeper
entries() { zookeeper_nodes | grep -v '^/lock:%sessions/'; }
# The reply to a write may come too late for what is left of a session.
CONTEND_MAY='the lock was lost again as soon as it was taken'
gives 0 'doctor: an ensemble is fit' doctor
cluster_begin 12s
cluster_leader_fails
cluster_follower_fails
cluster_end
nodes_end zookeeper

# ---- The follower of a holder ---------------------------------------------------------

# z1 reaches the leader by proxies alone, which can stand still. A follower goes on
# to serve for 100 ticks, 20 s, without its leader.
zookeeper_proxy() { # PORT: of which z1 is told instead
    local port
    port=$(free_port)
    socat "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr,nodelay" \
        "TCP:127.0.0.1:$1" 2>/dev/null &
    proxies+=($!)
    pids+=($!)
    proxy=$port
}
proxies=()
zookeeper_members() { # NAME: what it is told of the members
    local name port
    [ "$1" = z1 ] || { printf %s "$ZOOKEEPER_MEMBERS" && return; }
    while IFS=: read -r name port election; do
        [ -z "$name" ] && continue
        [[ $name == server.1=* ]] || { zookeeper_proxy "$port" && port=$proxy; }
        echo "$name:$port:$election"
    done <<<"$ZOOKEEPER_MEMBERS"
}
proxy_processes() {
    local pid
    for pid in "${proxies[@]}"; do
        echo "$pid" && cat "/proc/$pid/task/$pid/children"
    done
}
cut() { # STOP | CONT
    local pid
    # shellcheck disable=SC2046 # a list
    for pid in $(proxy_processes); do
        kill "-$1" "$pid"
    done
}

# A server that cannot agree gives no session: what it has is read by its words.
node_at() { # SERVER
    zookeeper_say "$1" dump | sed -n 's|^\t\(/lock:own/.*\)|\1|p'
}
cat >"$W/next" <<'X'
#!/bin/sh
! kill -0 "$(cat "$1/pid")" 2>/dev/null || echo "it runs: $(cat "$1/pid")" >"$1/alive"
echo "$HOLDFAST_FENCE" >"$1/next.fence"
X
chmod +x "$W/next"
loses() { # WHAT COMMAND...: a client of z1 holds; COMMAND; what happens to it
    local what=$1 holder waiter fence began
    shift
    rm -f "$W/pid" "$W/alive" "$W/next.fence"
    # shellcheck disable=SC2016 # the command's own variables
    holdfast run -u "zookeeper://127.0.0.1:${ZOOKEEPER_PORT[z1]}?connect_timeout=3s" \
        -t 4s own -- sh -c 'echo "$HOLDFAST_FENCE" >"$0/fence"; echo $$ >"$0/pid"
            exec sleep 1000' "$W" 2>"$W/err.own" &
    holder=$!
    pids+=("$holder")
    ok "$what: a holder, by way of it" wait_until 20 [ -s "$W/pid" ]
    fence=$(cat "$W/fence")
    HOLDFAST_URL=$others holdfast run -w 60 own -- "$W/next" "$W" &
    waiter=$!
    pids+=("$waiter")
    has_two() { [ "$(node_at z1 | wc -l)" = 2 ]; }
    ok '... and a waiter, by way of the others' wait_until 20 has_two
    own=$(node_at z1 | grep -e -x4-)
    began=$(now_ms)
    "$@"
    ok '... another is granted the lock' wait_until 30 [ -s "$W/next.fence" ]
    diag "after $(($(now_ms) - began)) ms"
    wait "$waiter"
    is "$?" 0 '... once'
    is "$(cat "$W/alive" 2>/dev/null)" '' '... when the command of the first has ended'
    ok '... with a greater fence' [ "$(cat "$W/next.fence")" -gt "$fence" ]
    still=$(node_at z1 | grep -e -x4-)
    is_over() { is_gone "$holder"; }
    ok '... and was told' wait_until 20 is_over
    wait "$holder"
    is "$?" 76 '... with exit 76'
    like "$(cat "$W/err.own")" 'own' '... by a line'
}

zookeeper_cluster 3 -- syncLimit=100 || { fail 'ZooKeeper starts'; finish; }
others="zookeeper://127.0.0.1:${ZOOKEEPER_PORT[z2]},127.0.0.1:${ZOOKEEPER_PORT[z3]}?connect_timeout=3s"
ok 'there is a leader' wait_until 20 has_leader
# z1 as a follower: it finds the others in a quorum.
if [ "$leader" = z1 ]; then
    zookeeper_stop z1
    ok 'there is another leader' wait_until 20 has_leader
    ok '... for z1' zookeeper_restart z1
fi
loses 'its follower is cut off' cut STOP
is "$still" "$own" 'its follower has the lost entry yet, and would tell of it'
like "$(zookeeper_say z1 srvr)" 'Mode: follower' '... as a follower'
cut CONT
is_rid() { [ -z "$(node_at z1)" ]; }
ok 'it follows again' wait_until 40 is_rid
loses 'its follower is killed' zookeeper_kill z1

ok 'it is back' zookeeper_restart z1
export HOLDFAST_URL="$ZOOKEEPER_URL?connect_timeout=3s"
begin mover -v -t 30s mover # an election may take seconds
ok 'a holder, of three servers' wait_until 20 holds mover
session=$(zookeeper_session "$(zookeeper_nodes | grep '^/lock:mover/')")
has_it() { zookeeper_say "$1" cons | grep -q "sid=$session,"; }
for name in z1 z2 z3; do
    ! has_it "$name" || at=$name
done
ok 'one of them has its session' has_it "${at:-}"
zookeeper_kill "$at"
moves() {
    local name
    for name in "${!ZOOKEEPER_PID[@]}"; do
        ! has_it "$name" || return 0
    done
    return 1
}
ok 'that one is killed: it goes on at another one' wait_until 20 moves
n=$(grep -c '"event":"renewed"' "$W/events.mover")
goes_on() { [ "$(grep -c '"event":"renewed"' "$W/events.mover")" -gt "$n" ]; }
ok '... and is renewed' wait_until 20 goes_on
is "$(has_said mover lost && echo lost)" '' '... and not lost'
end mover
finish
