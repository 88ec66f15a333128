# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Three servers that agree, in place of five that do not: etcd, ZooKeeper or Consul.
# Source it after topology.sh and faults.sh: it replaces what differs.
#
#      c1 ... c6            n1                     n3
#    10.99.0.101 ...     proxy :6379   ...      proxy :6379
#         |                 | -> 127.0.0.1 PORT    |
#    =====+=================+======================+===== bridge, nft drops
#                           + PEER, PEER + 1       +       members to members
#
# Clients go through the proxies, members do not. With namespaces nft can also cut
# a member off from the others while clients reach it. Leases and sessions are counted
# by monotonic clocks, so all is promised while a wall clock is set.

# shellcheck disable=SC2034
NODES=3 MAJORITY=2
PATH=$PATH:$HF_SOURCE/build-consul/usr/bin
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
stop-leader     yes yes process -
kill-server     yes yes memory  -
kill-majority   yes yes memory  -
kill-leader     yes yes memory  -
cut-member      yes yes member  namespaces
cut-leader      yes yes member  namespaces
clock-ahead     yes yes clock   -
clock-back      yes yes clock   -
clock-strobe    yes yes clock   -
clock-majority  yes yes clock   -
clock-leader    yes yes clock   -
'

store_is_here() { # STORE
    case $1 in
    etcd) command -v etcd curl ;;
    consul) command -v consul curl ;;
    zookeeper) command -v java && [ -e /usr/share/java/zookeeper.jar ] ;;
    esac >/dev/null
}

# ---- Nodes -------------------------------------------------------------------

peer_port() { # I: of two
    echo $((BASE + $1 * 10 + 5))
}

node_ask() ( # I PATH [ARG...]: its HTTP API, past its proxy
    place "n$1" curl -sf --noproxy '*' -m 2 "http://127.0.0.1:${PORT[$1]}$2" \
        "${@:3}"
)

node_say() ( # I WORD: ZooKeeper's
    # shellcheck disable=SC2016 # the inner shell's
    place "n$1" timeout 2 bash -c 'exec 9<>"/dev/tcp/127.0.0.1/$0" &&
        printf %s "$1" >&9 && cat <&9' "${PORT[$1]}" "$2" 2>/dev/null
)

etcd_answers() {
    node_ask "$1" /health | grep -q '"health":"true"'
}
etcd_leads() {
    node_ask "$1" /v3/maintenance/status -d '{}' |
        jq -e '.leader == .header.member_id'
}
etcd_run() { # I
    local i=$1 j members=''
    for ((j = 1; j <= NODES; j++)); do
        members+=${members:+,}n$j=http://$(node_host $j):$(peer_port $j)
    done
    place "n$i" env "${clock_env[@]}" etcd --name "n$i" --data-dir "$D/n$i/data" \
        --listen-client-urls "http://127.0.0.1:${PORT[i]}" \
        --advertise-client-urls "http://127.0.0.1:${PORT[i]}" \
        --listen-peer-urls "http://$(node_host "$i"):$(peer_port "$i")" \
        --initial-advertise-peer-urls \
        "http://$(node_host "$i"):$(peer_port "$i")" \
        --initial-cluster "$members" --initial-cluster-state new \
        --logger zap --log-level warn --unsafe-no-fsync \
        --heartbeat-interval 50 --election-timeout 500
}

consul_answers() {
    node_ask "$1" /v1/status/leader | grep -q :
}
consul_leads() {
    node_ask "$1" /v1/agent/self | jq -e '.Stats.consul.leader == "true"'
}
consul_run() { # I
    local i=$1 j args=()
    for ((j = 1; j <= NODES; j++)); do
        args+=(-retry-join "$(node_host $j):$(($(peer_port $j) + 1))")
    done
    place "n$i" env "${clock_env[@]}" consul agent -server -node "n$i" \
        -bootstrap-expect "$NODES" -data-dir "$D/n$i/data" \
        -bind "$(node_host "$i")" -client 127.0.0.1 \
        -http-port "${PORT[i]}" -dns-port -1 -grpc-port -1 -serf-wan-port -1 \
        -server-port "$(peer_port "$i")" -retry-interval 1s \
        -serf-lan-port $(($(peer_port "$i") + 1)) -log-level warn -hcl \
        'disable_update_check = true
        performance { raft_multiplier = 1 }
        autopilot { cleanup_dead_servers = false
            server_stabilization_time = "100ms" }' "${args[@]}"
}

zookeeper_answers() {
    node_say "$1" srvr | grep -q '^Mode:'
}
zookeeper_leads() {
    node_say "$1" srvr | grep -q '^Mode: leader'
}
zookeeper_run() { # I
    local i=$1 j dir=$D/n$1 members=()
    for ((j = 1; j <= NODES; j++)); do
        members+=("server.$j=$(node_host $j):$(peer_port $j):$((
            $(peer_port $j) + 1))")
    done
    mkdir -p "$dir/data"
    echo "$i" >"$dir/data/myid"
    printf '%s\n' tickTime=200 initLimit=50 syncLimit=10 maxClientCnxns=0 \
        forceSync=no preAllocSize=1024 admin.enableServer=false \
        '4lw.commands.whitelist=*' "dataDir=$dir/data" \
        "clientPort=${PORT[i]}" clientPortAddress=127.0.0.1 \
        "${members[@]}" >"$dir/zoo.cfg"
    place "n$i" env "${clock_env[@]}" java -Xmx128m -Xshare:auto -XX:+UseSerialGC \
        -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
        -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -Dznode.container.checkIntervalMs=2000 \
        -Dzookeeper.fastleader.maxNotificationInterval=500 \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg"
}

node_answers() {
    "${STORE}_answers" "$1"
}

node_launch() { # I
    local clock_env=("CLOCKSHIM=$D/n$1/clock"
        "LD_PRELOAD=$HF_BUILD/tests/lib/clock_shim.so")
    "${STORE}_run" "$1" >>"$D/n$1/log" 2>&1 </dev/null &
    NODE_PID[$1]=$!
}

node_start() { # I
    node_launch "$1"
    until_true 30 node_answers "$1" || echo "node $1 does not start" >&2
}

# Of several that were down, none answers before a majority is there.
restart_nodes() {
    local i
    for ((i = 1; i <= NODES; i++)); do
        kill -0 "${NODE_PID[i]}" 2>/dev/null || node_launch "$i"
    done
    for ((i = 1; i <= NODES; i++)); do
        until_true 30 node_answers "$i" || echo "node $i does not start" >&2
    done
}

proxy_answers() ( # I
    # shellcheck disable=SC2016 # the inner shell's
    place c1 timeout 5 bash -c ': <"/dev/tcp/$0/$1"' "$(node_host "$1")" \
        "$(node_port "$1")"
)

nodes_start() {
    local i
    ADDRESSES='' BASE=$((11000 + RANDOM % 1800 * 10))
    for ((i = 1; i <= NODES; i++)); do
        PORT[i]=$((BASE + i * 10 + 1))
        mkdir -p "$D/n$i"
        clock_set "$i" 0
        node_launch "$i"
        ADDRESSES+=${ADDRESSES:+,}$(node_host "$i"):$(node_port "$i")
    done
    for ((i = 1; i <= NODES; i++)); do
        until_true 30 node_answers "$i" || echo "node $i does not start" >&2
        grep -q "/n$i/clock\$" "/proc/${NODE_PID[i]}/maps" ||
            { echo "the clock of node $i cannot be set" >&2 && exit 1; }
        proxy_start "$i"
    done
    URL="$STORE://$ADDRESSES?max_ttl=$((2 * TTL_MS))ms${PARAMETERS:+&$PARAMETERS}"
}

# ---- Faults of their own -----------------------------------------------------

# Three faults may need more than there are: then one has two.
pick_nodes() { # COUNT
    pick "$1" n1 n2 n3
    [ ${#PICKED[@]} -gt 0 ] || TAKEN='' pick "$1" n1 n2 n3
    PICKED=("${PICKED[@]#n}")
}

# Sets PICKED: the leader, if it is known and free; else any.
pick_leader() {
    local i
    PICKED=()
    for ((i = 1; i <= NODES; i++)); do
        if [[ " $TAKEN " != *" n$i "* ]] && "${STORE}_leads" "$i" >/dev/null; then
            PICKED=("$i")
            TAKEN+=" n$i"
            return
        fi
    done
    pick_nodes 1
}

stop_leader_on() {
    pick_leader
    kill -STOP "${NODE_PID[${PICKED[0]}]}"
}
stop_leader_off() { stop_server_off; }

kill_leader_on() {
    pick_leader
    kill_nodes "${PICKED[0]}"
}
kill_leader_off() { restart_nodes; }

# From the other members; clients reach it.
cut_off_member() { # I
    local j
    for ((j = 1; j <= NODES; j++)); do
        [ "$j" = "$1" ] || { cut_add "n$1" "n$j" && cut_add "n$j" "n$1"; }
    done
}
cut_member_on() {
    pick_nodes 1
    cut_off_member "${PICKED[0]}"
}
cut_member_off() { heal_nodes; }
cut_leader_on() {
    pick_leader
    cut_off_member "${PICKED[0]}"
}
cut_leader_off() { heal_nodes; }

# A node of another fault, too.
clock_pick() { # COUNT STEP_MS
    pick_any "$1"
    STEPPED=("${PICKED[@]}") STEP_MS=$2 STEPS=0
}
clock_strobe_on() {
    pick_any 2
    STROBED=("${PICKED[@]}")
}
clock_majority_on() { clock_pick "$MAJORITY" 60000; }

# By hours, ahead, back and right again.
clock_leader_on() {
    local before=$TAKEN
    TAKEN=''
    pick_leader
    TAKEN=$before
    LEAPING=${PICKED[0]}
    clock_set "$LEAPING" $(((RANDOM % 2 * 2 - 1) * 7200000))
}
clock_leader_tick() {
    ((RANDOM % 5)) || clock_set "$LEAPING" $(((RANDOM % 3 - 1) * 7200000))
}
clock_leader_off() { clocks_right; }
