# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is done to the servers, the network and the clients. Source it.
#
# A fault NAME is up to three functions: NAME_on, NAME_tick (every 0.1 s while
# it lasts) and NAME_off, with - in names written _. The table says what is
# promised under it (docs/caveats.md, "Fault by fault"):
#   exclusion  two never believe at once that they hold. "no": overlaps are
#              counted, not failed
#   order      fences are unique and rise
#   kind       one of each may come together: client, net, process (a node is
#              late), memory (a node forgets), clock, data
#   needs      namespaces: cannot be done on one address

FAULTS='
cut             yes yes net     -
cut-requests    yes yes net     -
cut-replies     yes yes net     -
cut-majority    yes yes net     -
cut-client      yes yes net     namespaces
swallow         yes yes net     -
delay           yes yes net     -
reset           yes yes net     -
bytes           yes yes net     -
stop-client     yes yes client  -
kill-client     yes yes client  -
stop-server     yes yes process -
stop-majority   yes yes process -
slow            yes yes process -
script-flush    yes yes process -
kill-server     yes yes memory  -
kill-majority   yes yes memory  -
lost-tail       yes yes memory  -
empty           yes yes memory  -
empty-majority  yes yes memory  -
promote         yes yes memory  -
clock-ahead     no  yes clock   -
clock-back      no  yes clock   -
clock-strobe    no  yes clock   -
clock-majority  no  yes clock   -
clock-leap      no  no  clock   -
flush           no  no  data    -
flush-majority  no  no  data    -
evict           no  no  data    -
'

# ---- Nodes and clients that a fault hits -------------------------------------

# Set PICKED: COUNT nodes of LIST that no other fault of this round uses.
pick() { # COUNT LIST...
    local count=$1 left=() item at
    shift
    for item; do
        [[ " $TAKEN " == *" $item "* ]] || left+=("$item")
    done
    PICKED=()
    while [ ${#PICKED[@]} -lt "$count" ] && [ ${#left[@]} -gt 0 ]; do
        at=$((RANDOM % ${#left[@]}))
        PICKED+=("${left[at]}")
        TAKEN+=" ${left[at]}"
        unset "left[at]"
        left=("${left[@]}")
    done
}

pick_nodes() { # COUNT
    pick "$1" n1 n2 n3 n4 n5
    PICKED=("${PICKED[@]#n}")
}

pick_clients() { # COUNT
    pick "$1" c1 c2 c3 c4 c5 c6
    PICKED=("${PICKED[@]#c}")
}

# A fault that only slows a node down may hit a node of another fault, too.
pick_any() { # COUNT
    local before=$TAKEN
    TAKEN=''
    pick_nodes "$1"
    TAKEN=$before
}

# ---- Network -----------------------------------------------------------------

cut_node() { # I up|down|both
    local j
    if [ -z "$NAMESPACES" ]; then
        proxy "$1" cut "$2"
        return
    fi
    for ((j = 1; j <= CLIENTS; j++)); do
        [ "$2" = down ] || cut_add "c$j" "n$1"
        [ "$2" = up ] || cut_add "n$1" "c$j"
    done
}

heal_nodes() {
    local i
    if [ -n "$NAMESPACES" ]; then
        cut_clear
        return
    fi
    for ((i = 1; i <= NODES; i++)); do
        proxy "$i" cut none
    done
}

cut_on() {
    pick_nodes 1
    cut_node "${PICKED[0]}" both
}
cut_off() { heal_nodes; }

cut_requests_on() {
    pick_nodes 1
    cut_node "${PICKED[0]}" up
}
cut_requests_off() { heal_nodes; }

cut_replies_on() {
    pick_nodes 1
    cut_node "${PICKED[0]}" down
}
cut_replies_off() { heal_nodes; }

cut_majority_on() {
    local i
    pick_nodes "$MAJORITY"
    for i in "${PICKED[@]}"; do
        cut_node "$i" both
    done
}
cut_majority_off() { heal_nodes; }

# The client holds, and cannot renew: it must notice the loss before another
# client gets the lock.
cut_client_on() {
    local i
    pick_clients 1
    for ((i = 1; i <= MAJORITY; i++)); do
        cut_add "c${PICKED[0]}" "n$i"
        cut_add "n$i" "c${PICKED[0]}"
    done
}
cut_client_off() { heal_nodes; }

swallow_on() {
    pick_nodes 2
    SWALLOWING=("${PICKED[@]}")
    swallow_tick
}
swallow_tick() {
    local i
    for i in "${SWALLOWING[@]}"; do
        ((RANDOM % 3)) || proxy "$i" swallow off
        proxy "$i" swallow on
    done
}
swallow_off() {
    local i
    for i in "${SWALLOWING[@]}"; do
        proxy "$i" swallow off
    done
}

delay_on() {
    local i
    pick_any 3
    for i in "${PICKED[@]}"; do
        proxy "$i" delay $((5 + RANDOM % 20)) $((1 + RANDOM % 40))
    done
}
delay_off() {
    local i
    for ((i = 1; i <= NODES; i++)); do
        proxy "$i" delay 0 0
    done
}

reset_on() { :; }
reset_tick() {
    ((RANDOM % 2)) || proxy $((1 + RANDOM % NODES)) reset
}

bytes_on() {
    local i
    pick_any 3
    for i in "${PICKED[@]}"; do
        proxy "$i" bytes on
    done
}
bytes_off() {
    local i
    for ((i = 1; i <= NODES; i++)); do
        proxy "$i" bytes off
    done
}

# ---- Processes ---------------------------------------------------------------

# While they hold, if the shell is fast enough to see it.
stop_client_on() {
    local try
    STOPPED_CLIENTS=0
    for try in 1 2 3 4 5 6; do
        stop_client_tick
    done
}
stop_client_tick() {
    local i try
    [ $STOPPED_CLIENTS -lt 2 ] || return 0
    for try in 1 2 3 4 5; do
        i=$((1 + RANDOM % CLIENTS))
        [[ " $TAKEN " != *" c$i "* ]] || continue
        case $(tail -n 1 "$D/${CLIENT_ID[i]}.jsonl") in
        *'"obs"'*)
            client_signal "$i" STOP
            TAKEN+=" c$i" STOPPED_CLIENTS=$((STOPPED_CLIENTS + 1))
            return
            ;;
        esac
    done
}
stop_client_off() {
    local i
    for ((i = 1; i <= CLIENTS; i++)); do
        client_signal "$i" CONT
    done
}

kill_client_on() {
    local i
    pick_clients 2
    KILLED_CLIENTS=("${PICKED[@]}")
    for i in "${PICKED[@]}"; do
        client_kill "$i"
    done
}
kill_client_off() {
    local i
    for i in "${KILLED_CLIENTS[@]}"; do
        client_start "$i"
    done
}

stop_nodes() { # COUNT
    local i
    pick_nodes "$1"
    for i in "${PICKED[@]}"; do
        kill -STOP "${NODE_PID[i]}"
    done
}
stop_server_on() { stop_nodes 1; }
stop_server_off() {
    local i
    for ((i = 1; i <= NODES; i++)); do
        kill -CONT "${NODE_PID[i]}"
    done
}
stop_majority_on() { stop_nodes "$MAJORITY"; }
stop_majority_off() { stop_server_off; }

slow_on() {
    pick_any 3
    SLOW=("${PICKED[@]}")
}
slow_tick() {
    local i
    for i in "${SLOW[@]}"; do
        ((RANDOM % 4)) || cli "$i" debug sleep 0.2 >/dev/null &
    done
}

script_flush_on() { script_flush_tick; }
script_flush_tick() {
    local i
    for ((i = 1; i <= NODES; i++)); do
        cli "$i" script flush >/dev/null
    done
}

# ---- Memory ------------------------------------------------------------------

# Killed, down for a while, and restarted with its data.
kill_nodes() { # LIST...
    local i
    for i; do
        node_kill "$i"
    done
}
restart_nodes() {
    local i
    for ((i = 1; i <= NODES; i++)); do
        kill -0 "${NODE_PID[i]}" 2>/dev/null || node_start "$i"
    done
}
kill_server_on() {
    pick 1 n1 n2 n3
    kill_nodes "${PICKED[@]#n}"
}
kill_server_off() { restart_nodes; }
kill_majority_on() {
    pick "$MAJORITY" n1 n2 n3
    kill_nodes "${PICKED[@]#n}"
}
kill_majority_off() { restart_nodes; }

# A power failure with appendfsync everysec: the last writes are lost. (kill -9
# alone loses no write that the kernel has.)
lost_tail_on() {
    TAKEN+=' n4'
    rm -rf "$D/n4/copy"
    cp -r "$D/n4/data${PORT[4]}" "$D/n4/copy"
}
lost_tail_off() {
    node_kill 4
    node_wipe 4
    mv "$D/n4/copy" "$D/n4/data${PORT[4]}"
    node_start 4
}

empty_nodes() { # COUNT
    local i
    pick_nodes "$1"
    kill_nodes "${PICKED[@]}"
    for i in "${PICKED[@]}"; do
        node_wipe "$i"
    done
}
empty_on() { empty_nodes 1; }
empty_off() { restart_nodes; }
# Restarted at once, so that leases which the nodes have lost are still valid:
# after a full lease none would be.
empty_majority_on() {
    empty_nodes 3
    restart_nodes
}

# A replica whose replication stopped earlier replaces its dead primary.
replica_is_whole() {
    redis-cli -s "$D/n$1/s$2" info replication |
        grep -q master_link_status:up
}
promote_on() {
    local i old new
    pick_nodes 1
    i=${PICKED[0]}
    old=${PORT[i]}
    new=$((old % 2 ? old + 1 : old - 1))
    rm -rf "$D/n$i/data$new"
    node_launch "$i" "$new" --replicaof 127.0.0.1 "$old"
    PROMOTED=("$i" "$new" $!)
    until_true 10 replica_is_whole "$i" "$new"
    redis-cli -s "$D/n$i/s$new" replicaof no one >/dev/null
}
promote_off() {
    local i=${PROMOTED[0]}
    node_kill "$i"
    node_wipe "$i"
    PORT[i]=${PROMOTED[1]}
    NODE_PID[i]=${PROMOTED[2]}
    proxy "$i" target "${PORT[i]}"
}

# ---- Clocks of servers -------------------------------------------------------

clock_set() { # I MS
    "$TOOLS/mark" clock "$D/n$1/clock" "$2"
}
clock_pick() { # COUNT STEP_MS
    pick_nodes "$1"
    STEPPED=("${PICKED[@]}") STEP_MS=$2 STEPS=0
}
clock_step() {
    local i
    STEPS=$((STEPS + 1))
    for i in "${STEPPED[@]}"; do
        clock_set "$i" $((STEPS * STEP_MS))
    done
}
clocks_right() {
    local i
    for ((i = 1; i <= NODES; i++)); do
        clock_set "$i" 0
    done
}
# Ahead by minutes. If it is ahead by more than fence_keep (an hour), counters
# expire, and setting the clock right does not bring them back.
clock_ahead_on() { clock_pick 1 60000; }
clock_ahead_tick() { ((RANDOM % 4)) || clock_step; }
clock_ahead_off() { clocks_right; }
clock_back_on() { clock_pick 1 -3600000; }
clock_back_tick() { ((RANDOM % 4)) || clock_step; }
clock_back_off() { clocks_right; }
clock_majority_on() { clock_pick 3 60000; }
clock_majority_tick() { ((RANDOM % 4)) || clock_step; }
clock_majority_off() { clocks_right; }
clock_leap_on() { clock_pick 3 7200000; }
clock_leap_tick() { ((RANDOM % 4)) || clock_step; }
clock_leap_off() { clocks_right; }
clock_strobe_on() {
    pick_nodes 2
    STROBED=("${PICKED[@]}")
}
clock_strobe_tick() {
    local i
    for i in "${STROBED[@]}"; do
        clock_set "$i" $(((RANDOM % 2 * 2 - 1) * (1 << (RANDOM % 12))))
    done
}
clock_strobe_off() { clocks_right; }

# ---- Data --------------------------------------------------------------------

flush_nodes() { # COUNT
    local i
    pick_nodes "$1"
    for i in "${PICKED[@]}"; do
        cli "$i" flushall >/dev/null
    done
}
flush_on() { flush_nodes 1; }
flush_majority_on() { flush_nodes 3; }

# Few keys, and large ones, so that ours are among the evicted.
evict_on() {
    local used
    pick_nodes 1
    EVICTING=${PICKED[0]} EVICTED=0
    used=$(cli "$EVICTING" info memory | sed -nE 's/^used_memory:([0-9]+).*/\1/p')
    cli "$EVICTING" config set maxmemory-policy allkeys-random >/dev/null
    cli "$EVICTING" config set maxmemory $((used + 2000000)) >/dev/null
}
evict_tick() {
    EVICTED=$((EVICTED + 1))
    cli "$EVICTING" debug populate 10 "junk$EVICTED" 100000 >/dev/null
}
evict_off() {
    cli "$EVICTING" config set maxmemory 0 >/dev/null
    cli "$EVICTING" config set maxmemory-policy noeviction >/dev/null
    cli "$EVICTING" eval "for _, key in ipairs(redis.call('keys', 'junk*')) do
        redis.call('del', key) end" 0 >/dev/null
}
