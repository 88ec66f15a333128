# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Five servers, each behind a proxy in a network namespace of its own, and six
# clients, each in one of its own, on a bridge. Source it.
#
#      c1 ... c6            n1                      n5
#    10.99.0.101 ...     proxy :6379   ...       proxy :6379
#         |                 | -> redis 127.0.0.1    |
#    =====+=================+=======================+===== bridge, nft drops
#
# Without $NAMESPACES all of it is on 127.0.0.1, and only the proxies cut.
#
#   network_make / nodes_start / clients_start
#   node_start I / node_kill I / node_ready I / node_wipe I
#   cli I ARG...                 redis-cli to a node, past its proxy
#   proxy I WORD...              a line to its control
#   cut_add FROM TO / cut_clear  nft: places, one direction
#   client_start I / client_kill I
#   URL                          for Holdfast; ADDRESSES for the others

# shellcheck disable=SC2034
NODES=5 MAJORITY=3 CLIENTS=6
declare -a PROGRAM=() PORT=() NODE_PID=() PROXY_PID=() CONTROL=() AOF=()
declare -a CLIENT_PID=() CLIENT_ID=() CLIENT_LIVES=()

# Replaces the shell that calls it: run it in the background.
place() { # NAME COMMAND...
    local name=$1
    shift
    [ -z "$NAMESPACES" ] || exec ip netns exec "$name" "$@"
    exec "$@"
}

until_true() { # SECONDS COMMAND... : polls
    local end=$((SECONDS + $1 + 1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.01
    done
}

# ---- Network -----------------------------------------------------------------

network_place() { # NAME ADDRESS
    ip netns add "$1" &&
        ip -n "$1" link set lo up &&
        ip link add "v$1" type veth peer name eth0 netns "$1" &&
        ip link set "v$1" master br0 up &&
        ip -n "$1" addr add "$2/24" dev eth0 &&
        ip -n "$1" link set eth0 up
}

network_make() {
    local i
    [ -n "$NAMESPACES" ] || return 0
    ip link set lo up && ip link add br0 type bridge && ip link set br0 up &&
        nft -f - <<'RULES' || return 1
add table bridge chaos
add set bridge chaos gone { type ifname . ifname; }
add chain bridge chaos forward { type filter hook forward priority 0; }
add rule bridge chaos forward iifname . oifname @gone drop
RULES
    for ((i = 1; i <= NODES; i++)); do
        network_place "n$i" "10.99.0.$i" || return 1
    done
    for ((i = 1; i <= CLIENTS; i++)); do
        network_place "c$i" "10.99.0.$((100 + i))" || return 1
    done
}

cut_add() { # FROM TO
    nft add element bridge chaos gone "{ \"v$1\" . \"v$2\" }"
}

cut_clear() {
    nft flush set bridge chaos gone
}

# ---- Nodes -------------------------------------------------------------------

node_host() {
    if [ -n "$NAMESPACES" ]; then echo "10.99.0.$1"; else echo 127.0.0.1; fi
}

node_port() {
    if [ -n "$NAMESPACES" ]; then echo 6379; else echo $((BASE + $1 * 10)); fi
}

cli() { # I ARG...
    local i=$1
    shift
    timeout 10 redis-cli -s "$D/n$i/s${PORT[i]}" "$@" 2>&1
}

node_answers() {
    [ "$(cli "$1" ping)" = PONG ]
}

# Two ports in turn: a promoted replica uses the free one.
node_launch() { # I PORT ARG... : prints nothing, sets $!
    local i=$1 port=$2 dir=$D/n$1 args
    shift 2
    mkdir -p "$dir/data$port"
    read -ra args <<<"${AOF[i]}"
    place "n$i" env "CLOCKSHIM=$dir/clock" \
        "LD_PRELOAD=$HF_BUILD/tests/lib/clock_shim.so" "${PROGRAM[i]}" \
        --port "$port" --bind 127.0.0.1 --unixsocket "$dir/s$port" --save '' \
        --dir "$dir/data$port" --logfile "$dir/log" \
        --enable-debug-command yes --repl-diskless-sync-delay 0 \
        "${args[@]}" "$@" >>"$dir/out" 2>&1 </dev/null &
}

node_start() { # I
    node_launch "$1" "${PORT[$1]}"
    NODE_PID[$1]=$!
    until_true 15 node_answers "$1" || echo "node $1 does not start" >&2
}

node_kill() {
    kill -KILL "${NODE_PID[$1]}" 2>/dev/null
    wait "${NODE_PID[$1]}" 2>/dev/null
}

node_wipe() {
    rm -rf "$D/n$1/data${PORT[$1]}"
}

proxy() { # I WORD...
    local i=$1
    shift
    echo "$*" >&"${CONTROL[i]}"
}

proxy_answers() ( # I
    [ "$(place c1 timeout 5 redis-cli -h "$(node_host "$1")" \
        -p "$(node_port "$1")" ping)" = PONG ]
)

proxy_start() { # I
    local i=$1 fifo=$D/n$1/control fd
    mkfifo "$fifo"
    exec {fd}<>"$fifo"
    CONTROL[i]=$fd
    place "n$i" "$TOOLS/proxy" "$(node_host "$i")" "$(node_port "$i")" \
        127.0.0.1 "${PORT[i]}" "$fifo" 2>>"$D/n$i/out" </dev/null &
    PROXY_PID[i]=$!
    until_true 10 proxy_answers "$i" || echo "proxy $i does not start" >&2
}

nodes_start() {
    local i modes=(x always always always everysec none)
    ADDRESSES='' BASE=$((11000 + RANDOM % 1800 * 10))
    for ((i = 1; i <= NODES; i++)); do
        PROGRAM[i]=redis-server
        if ((i == 2 || i == 4)) && command -v valkey-server >/dev/null; then
            PROGRAM[i]=valkey-server
        fi
        case ${modes[i]} in
        none) AOF[i]="--appendonly no" ;;
        *) AOF[i]="--appendonly yes --appendfsync ${modes[i]}" ;;
        esac
        PORT[i]=$((BASE + i * 10 + 1))
        mkdir -p "$D/n$i"
        "$TOOLS/mark" clock "$D/n$i/clock" 0
        node_start "$i"
        proxy_start "$i"
        ADDRESSES+=${ADDRESSES:+,}$(node_host "$i"):$(node_port "$i")
    done
    URL="redis://$ADDRESSES?max_ttl=$((2 * TTL_MS))ms${PARAMETERS:+&$PARAMETERS}"
}

# ---- Clients -----------------------------------------------------------------

client_start() { # I
    local i=$1 id
    CLIENT_LIVES[i]=$((${CLIENT_LIVES[i]:-0} + 1))
    id=c$i.${CLIENT_LIVES[i]}
    CLIENT_ID[i]=$id
    if [ "$GROUP" = holdfast ]; then
        place "c$i" "$TOOLS/client" "$id" "$URL" "$D/register" "$D/epoch" \
            "$D/$id.jsonl" "$TTL_MS" $((SEED * 100 + i * 10 + CLIENT_LIVES[i])) \
            >>"$D/clients.out" 2>&1 </dev/null &
    elif [ "$STORE" != redis ]; then
        place "c$i" setsid "$TOOLS/wrapped" "$STORE" "$id" "$ADDRESSES" \
            "$D/register" "$D/epoch" "$D/$id.jsonl" "$TTL_MS" \
            $((SEED * 100 + i * 10 + CLIENT_LIVES[i])) >>"$D/clients.out" 2>&1 \
            </dev/null &
    else
        place "c$i" node "$NODE_DIR/client.js" "$GROUP" "$id" "$ADDRESSES" \
            "$D/register" "$D/epoch" "$D/$id.jsonl" "$TTL_MS" \
            "$CLOCK_OFFSET" >>"$D/clients.out" 2>&1 </dev/null &
    fi
    CLIENT_PID[i]=$!
    mark "\"ev\":\"up\",\"client\":\"$id\""
}

# A rival is a process group: its command, and the child of that.
client_signal() { # I SIGNAL
    local pid=${CLIENT_PID[$1]}
    [ "$GROUP" = holdfast ] || [ "$STORE" = redis ] || pid=-$pid
    kill "-$2" -- "$pid" 2>/dev/null
}

client_kill() { # I
    client_signal "$1" KILL
    wait "${CLIENT_PID[$1]}" 2>/dev/null
    mark "\"ev\":\"down\",\"client\":\"${CLIENT_ID[$1]}\""
}

clients_start() {
    local i
    for ((i = 1; i <= CLIENTS; i++)); do
        client_start "$i"
    done
}

clients_end() {
    local i
    for ((i = 1; i <= CLIENTS; i++)); do
        kill -TERM "${CLIENT_PID[i]}" 2>/dev/null
    done
    for ((i = 1; i <= CLIENTS; i++)); do
        timeout 10 tail --pid="${CLIENT_PID[i]}" -f /dev/null
        client_signal "$i" KILL
        wait "${CLIENT_PID[i]}" 2>/dev/null
    done
}
