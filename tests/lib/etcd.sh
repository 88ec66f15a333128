# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Real etcd for shell tests. Source after tap.sh and servers.sh. Each node has a
# NAME, e1 … eN, a folder of its own below $W and a free TCP port for clients;
# peers talk through unix sockets. Stopped by its pid when the test ends.
#
#   have_etcd
#   etcd_start [--tls] [--clock] [-- ARG...]     one node, e1; waits until it answers
#   etcd_cluster N [--tls] [--clock] [-- ARG...] N nodes that agree
#       --tls            TLS for clients; certificates by tls_make
#       --clock          under the clock shim; server_clock NAME sets it
#       ARGs             go to each server, and override what is given here
#   $ETCD_URL ${ETCD_PID[NAME]} ${ETCD_PORT[NAME]}
#   etcd_ctl ARG...                    etcdctl, to all nodes, with the arguments
#                                      in ETCD_CTL too
#   etcd_leader                        the leader's NAME
#   etcd_stop NAME / etcd_kill NAME    SIGTERM / SIGKILL, and reaped
#   etcd_pause NAME / etcd_continue NAME     SIGSTOP / SIGCONT
#   etcd_restart NAME                  stopped, if it runs, and started again:
#                                      same folder, same port; waits as above
#
# Data are not synced to disk: after SIGKILL they are there, as after a crash of
# the process, but not of the machine.

declare -A ETCD_PID=() ETCD_PORT=()
ETCD_URL='' ETCD_TLS='' ETCD_CLOCK='' ETCD_MEMBERS='' ETCD_ARGS=() ETCD_CTL=()
unset "${!ETCDCTL_@}"

have_etcd() {
    command -v etcd etcdctl >/dev/null
}

at_exit nodes_end etcd

etcd_ctl() {
    etcd_ctl_at "${!ETCD_PORT[*]}" "$@"
}

etcd_ctl_at() { # "NAME..." ARG...
    local name endpoints='' tls=()
    for name in $1; do
        endpoints+=${endpoints:+,}http${ETCD_TLS:+s}://127.0.0.1:${ETCD_PORT[$name]}
    done
    shift
    [ -z "$ETCD_TLS" ] || tls=(--cacert "$W/tls/ca.crt")
    ETCDCTL_API=3 timeout 20 etcdctl --endpoints "$endpoints" "${tls[@]}" \
        "${ETCD_CTL[@]}" "$@"
}

# The leader's own answer: a node that lost its leader may name an old one.
etcd_is_leader() { # NAME
    local status
    status=$(etcd_ctl_at "$1" endpoint status -w fields 2>/dev/null) || return
    [ "$(sed -n 's/^"MemberID" : //p' <<<"$status")" = \
        "$(sed -n 's/^"Leader" : //p' <<<"$status")" ]
}

etcd_leader() {
    local name
    for name in "${!ETCD_PID[@]}"; do
        ! etcd_is_leader "$name" || echo "$name"
    done
}

# A port may be another process's: only the node's own log tells that it listens.
# It then serves once the members agree.
etcd_answers() { # NAME
    is_gone "${ETCD_PID[$1]}" && return
    grep -q 'serving client traffic' "$W/$1/log" || return
    etcd_ctl_at "$1" --command-timeout 3s get / --consistency l
}

# Where a member finds the sockets of all: partition.sh has another one.
etcd_folder() { # NAME
    echo "$W"
}

# The name of a unix socket is a host and a port, in the working folder.
etcd_launch() { # NAME
    local name=$1 url tls=() clock_env=()
    url=http${ETCD_TLS:+s}://127.0.0.1:${ETCD_PORT[$1]}
    [ -z "$ETCD_TLS" ] ||
        tls=(--cert-file "$W/tls/server.crt" --key-file "$W/tls/server.key")
    [ -z "$ETCD_CLOCK" ] || server_clock_env "$name"
    (cd "$(etcd_folder "$name")" && exec env "${clock_env[@]}" etcd \
        --name "$name" --data-dir "$W/$name/data" \
        --listen-client-urls "$url" --advertise-client-urls "$url" \
        --listen-peer-urls "unix://$name:1" \
        --initial-advertise-peer-urls "unix://$name:1" \
        --initial-cluster "$ETCD_MEMBERS" --initial-cluster-state new \
        --logger zap --log-level info --unsafe-no-fsync \
        "${tls[@]}" "${ETCD_ARGS[@]}") >>"$W/$name/log" 2>&1 </dev/null &
    ETCD_PID[$name]=$!
}

etcd_place() { # NAME...
    local name
    ETCD_MEMBERS='' ETCD_URL=''
    for name; do
        ETCD_MEMBERS+="${ETCD_MEMBERS:+,}$name=unix://$name:1"
        ETCD_PORT[$name]=$(free_port)
        ETCD_URL+=${ETCD_URL:+,}127.0.0.1:${ETCD_PORT[$name]}
    done
    ETCD_URL=etcd${ETCD_TLS:+s}://$ETCD_URL
}

etcd_cluster() {
    local n=$1
    shift
    ETCD_TLS='' ETCD_CLOCK='' ETCD_ARGS=()
    while [ $# -gt 0 ]; do
        case $1 in
        --tls) tls_make && ETCD_TLS=1 ;;
        --clock) ETCD_CLOCK=1 ;;
        --) shift && ETCD_ARGS=("$@") && break ;;
        *) echo "etcd_cluster: $1?" >&2 && return 1 ;;
        esac
        shift
    done
    nodes_start etcd "$n"
}

etcd_start() {
    etcd_cluster 1 "$@"
}

# A stopped one hands its leadership over before it ends.
etcd_stop() {
    node_stop etcd "$1"
}

etcd_kill() {
    node_kill etcd "$1"
}

etcd_pause() {
    node_pause etcd "$1"
}

etcd_continue() {
    node_continue etcd "$1"
}

etcd_restart() {
    node_restart etcd "$1"
}
