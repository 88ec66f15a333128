# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What servers of any KIND have in common: signals, restarts, clusters. Sourced by
# servers.sh, etcd.sh, zookeeper.sh and consul.sh, after tap.sh. The processes of
# KIND are in the array KIND_PID, in capitals, by NAME.
#
#   node_stop KIND NAME / node_kill KIND NAME        SIGTERM / SIGKILL, and reaped
#   node_pause KIND NAME / node_continue KIND NAME   SIGSTOP / SIGCONT
#   nodes_end KIND                 all of them are killed
#
# For kinds with members, which also have KIND_launch NAME, KIND_answers NAME and
# KIND_place NAME...: choose new ports. A member's folder is $W/NAME, with its log
# in the file log and all that it keeps in the folder data; the NAME of the first
# one is the kind's first letter and 1.
#
#   node_restart KIND NAME         stopped, if it runs, and started again: same
#                                  folder, same ports; waits until it answers
#   nodes_start KIND N             N of them; waits until each answers
#
# With partition.sh they reach each other by way of a network that can be cut.

# Servers and tools written in Go: with one thread that runs Go at a time, none
# looks for work in vain. The processors belong to other tests.
export GOMAXPROCS=1

node_signal() { # KIND NAME SIGNAL
    local -n node_pids=${1^^}_PID
    [ -n "${node_pids[$2]:-}" ] && kill "-$3" "${node_pids[$2]}" 2>/dev/null
}

node_reap() { # KIND NAME SIGNAL
    local -n node_reaped=${1^^}_PID
    node_signal "$@"
    wait "${node_reaped[$2]:-}" 2>/dev/null
    unset "node_reaped[$2]"
}

node_stop() {
    node_reap "$1" "$2" TERM
}

node_kill() {
    node_reap "$1" "$2" KILL
}

node_is_stopped() {
    local -n node_pids=${1^^}_PID
    [[ $(sed 's/.*) //' "/proc/${node_pids[$2]}/stat") == T* ]]
}

node_pause() {
    node_signal "$1" "$2" STOP && wait_until 5 node_is_stopped "$1" "$2"
}

node_continue() {
    node_signal "$1" "$2" CONT
}

nodes_end() { # KIND
    local -n node_all=${1^^}_PID
    local name
    for name in "${!node_all[@]}"; do
        node_kill "$1" "$name"
    done
}

node_is_gone() { # KIND NAME
    local -n node_pids=${1^^}_PID
    is_gone "${node_pids[$2]}"
}

node_has_started() { # KIND NAME, or failed to
    node_is_gone "$1" "$2" || "$1_answers" "$2"
}

node_await() { # KIND NAME
    wait_until 15 node_has_started "$1" "$2" && ! node_is_gone "$1" "$2"
}

nodes_show_logs() { # KIND NAME...
    local kind=$1 name
    shift
    for name; do
        diag "$kind $name: $(grep -m 3 Exception "$W/$name/log" 2>/dev/null)"
        diag "$(tail -n 3 "$W/$name/log" 2>/dev/null)"
    done
}

# Ports were chosen, and none of them is started yet; one was started. partition.sh has
# others.
nodes_placed() { # KIND NAME...
    true
}
node_launched() { # KIND NAME
    true
}

node_launch() { # KIND NAME
    mkdir -p "$W/$2"
    : >"$W/$2/log"
    "$1_launch" "$2"
    node_launched "$1" "$2"
}

node_restart() { # KIND NAME
    local -n node_pids=${1^^}_PID
    [ -z "${node_pids[$2]:-}" ] || node_stop "$1" "$2"
    node_launch "$1" "$2"
    node_await "$1" "$2" && return 0
    nodes_show_logs "$1" "$2"
    return 1
}

# All on new ports, and with nothing in them.
nodes_try() { # KIND NAME...
    local kind=$1 name status=0
    shift
    "${kind}_place" "$@"
    nodes_placed "$kind" "$@"
    for name; do
        rm -rf "$W/$name/data"
        node_launch "$kind" "$name"
    done
    for name; do
        node_await "$kind" "$name" || { status=1 && break; }
    done
    [ $status = 0 ] && return
    nodes_show_logs "$kind" "$@"
    nodes_end "$kind"
    return 1
}

nodes_start() { # KIND N
    local names=() i try
    for ((i = 1; i <= $2; i++)); do
        names+=("${1:0:1}$i")
    done
    "have_$1" || { diag "no $1"; return 1; }
    for try in 1 2 3; do
        nodes_try "$1" "${names[@]}" && return 0
    done
    return 1
}
