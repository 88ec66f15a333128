# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Real Consul for shell tests. Source after tap.sh and servers.sh. Each server has
# a NAME, c1 … cN, a folder of its own below $W and free TCP ports. Stopped by its
# pid when the test ends.
#
#   have_consul                        what scripts/test has unpacked, or in PATH
#   consul_start [--tls] [--clock] [-- ARG...]   one server, c1; waits until it answers
#   consul_cluster N [--tls] [--clock] [-- ARG...]   N servers that agree
#       --tls            TLS for clients; certificates by tls_make
#       --clock          under the clock shim; server_clock NAME sets it
#       ARGs             go to each server, and override what is given here
#   $CONSUL_URL ${CONSUL_PID[NAME]} ${CONSUL_PORT[NAME]}
#   consul_api METHOD PATH [DATA]      prints what the first running server answers;
#                                      false unless it is a success
#   consul_api_at NAME METHOD PATH [DATA]
#   consul_keys                        all keys, one a line
#   consul_session KEY                 the session that holds it
#   consul_index KEY                   its CreateIndex
#   consul_ctl ARG...                  the program consul, at the first running one
#   consul_leader                      the leader's NAME
#   consul_votes                       how many servers have a vote
#   consul_stop NAME / consul_kill NAME        SIGTERM / SIGKILL, and reaped
#   consul_pause NAME / consul_continue NAME   SIGSTOP / SIGCONT
#   consul_restart NAME                stopped, if it runs, and started again: same
#                                      folder, same ports; waits as above
#
# CONSUL_TOKEN is sent with each request, once there are rules of access.

unset "${!CONSUL_@}"
declare -A CONSUL_PID=() CONSUL_PORT=() CONSUL_RPC=() CONSUL_SERF=()
CONSUL_URL='' CONSUL_TLS='' CONSUL_CLOCK='' CONSUL_TOKEN='' CONSUL_ARGS=()
PATH=$PATH:$HF_SOURCE/build-consul/usr/bin
# A server that was gone keeps its vote.
consul_config='disable_update_check = true
    performance { raft_multiplier = 1 }
    autopilot { cleanup_dead_servers = false server_stabilization_time = "100ms" }'

have_consul() {
    command -v consul >/dev/null
}

at_exit nodes_end consul

consul_address() { # NAME
    echo "http${CONSUL_TLS:+s}://127.0.0.1:${CONSUL_PORT[$1]}"
}

consul_api_at() { # NAME METHOD PATH [DATA]
    local args=()
    [ -z "$CONSUL_TLS" ] || args+=(--cacert "$W/tls/ca.crt")
    [ -z "$CONSUL_TOKEN" ] || args+=(-H "X-Consul-Token: $CONSUL_TOKEN")
    [ -z "${4:-}" ] || args+=(--data-binary "$4")
    curl -sSgf --noproxy '*' -m 10 "${args[@]}" -X "$2" \
        "$(consul_address "$1")/v1/$3"
}

consul_first() {
    printf '%s\n' "${!CONSUL_PID[@]}" | sort | head -n 1
}

consul_api() { # METHOD PATH [DATA]
    consul_api_at "$(consul_first)" "$@"
}

consul_keys() {
    consul_api GET 'kv/?keys&consistent' 2>/dev/null | jq -r '.[]'
}

consul_escaped() {
    jq -rn --arg key "$1" '$key | split("/") | map(@uri) | join("/")'
}

consul_session() { # KEY
    consul_api GET "kv/$(consul_escaped "$1")?consistent" 2>/dev/null |
        jq -r '.[0].Session // empty'
}

consul_index() { # KEY
    consul_api GET "kv/$(consul_escaped "$1")?consistent" 2>/dev/null |
        jq -r '.[0].CreateIndex'
}

consul_ctl() {
    local trust=()
    [ -z "$CONSUL_TLS" ] || trust=("CONSUL_CACERT=$W/tls/ca.crt")
    env "CONSUL_HTTP_ADDR=$(consul_address "$(consul_first)")" \
        ${CONSUL_TOKEN:+"CONSUL_HTTP_TOKEN=$CONSUL_TOKEN"} "${trust[@]}" consul "$@"
}

# The leader's own answer: a server that lost its leader may name an old one.
consul_is_leader() { # NAME
    [ "$(consul_api_at "$1" GET agent/self 2>/dev/null |
        jq -r .Stats.consul.leader)" = true ]
}

consul_leader() {
    local name
    for name in "${!CONSUL_PID[@]}"; do
        ! consul_is_leader "$name" || echo "$name"
    done
}

# How many servers have a vote: one that has come back may have none yet.
consul_votes() {
    consul_api GET operator/raft/configuration |
        jq '[.Servers[] | select(.Voter)] | length'
}

# A port may be another server's, which has another name. It makes sessions once it
# has told the members of itself.
consul_answers() { # NAME
    local id
    [ "$(consul_api_at "$1" GET agent/self | jq -r .Config.NodeName)" = \
        "$1-$tap_shell" ] || return
    id=$(consul_api_at "$1" PUT session/create '{"TTL":"10s","Checks":[]}' |
        jq -re .ID) || return
    consul_api_at "$1" PUT "session/destroy/$id"
}

consul_place() { # NAME...
    local name
    CONSUL_URL=''
    for name; do
        CONSUL_PORT[$name]=$(free_port) CONSUL_RPC[$name]=$(free_port)
        CONSUL_SERF[$name]=$(free_port)
        CONSUL_URL+=${CONSUL_URL:+,}127.0.0.1:${CONSUL_PORT[$name]}
    done
    CONSUL_URL=consul${CONSUL_TLS:+s}://$CONSUL_URL
}

# Where a server listens for the others, and where they find it: partition.sh has
# others.
consul_back() { # NAME
    echo 127.0.0.1
}
consul_front() { # NAME
    echo 127.0.0.1
}

consul_launch() { # NAME
    local name=$1 args=() other clock_env=()
    if [ -n "$CONSUL_TLS" ]; then
        args=(-http-port -1 -https-port "${CONSUL_PORT[$name]}" -hcl
            "cert_file = \"$W/tls/server.crt\" key_file = \"$W/tls/server.key\"")
    else
        args=(-http-port "${CONSUL_PORT[$name]}")
    fi
    for other in "${!CONSUL_SERF[@]}"; do
        args+=(-retry-join "$(consul_front "$other"):${CONSUL_SERF[$other]}")
    done
    [ -z "$CONSUL_CLOCK" ] || server_clock_env "$name"
    env "${clock_env[@]}" consul agent -server -bootstrap-expect "${#CONSUL_SERF[@]}" \
        -node "$name-$tap_shell" -data-dir "$W/$name/data" \
        -bind "$(consul_back "$name")" -advertise "$(consul_front "$name")" \
        -client 127.0.0.1 -dns-port -1 -grpc-port -1 -serf-wan-port -1 \
        -server-port "${CONSUL_RPC[$name]}" -retry-interval 1s \
        -serf-lan-port "${CONSUL_SERF[$name]}" -log-level warn -hcl \
        "$consul_config" \
        "${args[@]}" "${CONSUL_ARGS[@]}" >>"$W/$name/log" 2>&1 </dev/null &
    CONSUL_PID[$name]=$!
}

consul_cluster() {
    local n=$1
    shift
    CONSUL_TLS='' CONSUL_CLOCK='' CONSUL_ARGS=()
    while [ $# -gt 0 ]; do
        case $1 in
        --tls) tls_make && CONSUL_TLS=1 ;;
        --clock) CONSUL_CLOCK=1 ;;
        --) shift && CONSUL_ARGS=("$@") && break ;;
        *) echo "consul_cluster: $1?" >&2 && return 1 ;;
        esac
        shift
    done
    nodes_start consul "$n"
}

consul_start() {
    consul_cluster 1 "$@"
}

consul_stop() {
    node_stop consul "$1"
}

consul_kill() {
    node_kill consul "$1"
}

consul_pause() {
    node_pause consul "$1"
}

consul_continue() {
    node_continue consul "$1"
}

consul_restart() {
    node_restart consul "$1"
}
