# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Three servers of a store that agrees by consensus, of which the leader is killed,
# or stands still, and a follower is stopped, while eight processes contend for one
# name, a keeper holds its own, and one is marked. Source after holders.sh, contend.sh and the file
# of the server, of which the test has started three; the test sets
#
#   KIND         etcd, consul, zookeeper: its functions
#   is_back      for wait_until: a server that was gone takes part again
#   entries      prints what is left of locks
#
# and calls in this order
#
#   cluster_begin TTL
#   cluster_leader_fails
#   cluster_follower_fails
#   cluster_end

has_leader() { leader=$("${KIND}_leader") && [ -n "$leader" ]; }
is_back() { true; }

# Its command is ended, perhaps before the deadline: then it has released its lock.
is_lost() { is_gone "$keeper"; }
is_kept() { # a try may meet a server that does not answer
    capture timeout 20 holdfast run -n other -- true
    [ "$code" = 75 ] || { [ "$code" = 0 ] && wait_until 5 is_lost; }
}

# It fails if it meets a server that does not serve. Each run is a line.
once() { # [ARG...]
    # shellcheck disable=SC2016 # the command's own variables
    timeout 20 holdfast run --once 1h "$@" daily -- \
        sh -c 'echo ran >>"$0"' "$W/daily" 2>>"$W/err.once"
}
has_run_once() {
    is "$(wc -l <"$W/daily")" 1 "$1"
}

cluster_begin() { # TTL
    local -n ports=${KIND^^}_PORT
    local port
    ok 'there is a leader' wait_until 20 has_leader
    contend_start 8
    begin keeper -v -t "$1" other
    keeper=$begun
    ok 'a holder' wait_until 60 holds keeper
    contend_goes_on 'three servers' 60
    ok 'a run is marked' wait_until 20 once
    for port in "${ports[@]}"; do
        ok '... at each server' \
            wait_until 20 once -u "$KIND://127.0.0.1:$port?connect_timeout=3s"
    done
    has_run_once '... which has run once'
}

cluster_leader_fails() {
    ok 'there is a leader' wait_until 20 has_leader
    node_kill "$KIND" "$leader"
    contend_goes_on 'the leader was killed' 60
    ok 'the mark is looked for' wait_until 20 once
    has_run_once '... and found'
    ok 'the other lock is still held' wait_until 20 is_kept
    ok 'the server is back' node_restart "$KIND" "$leader"
    ok '... and takes part' wait_until 30 is_back

    ok 'there is a leader' wait_until 20 has_leader
    node_pause "$KIND" "$leader"
    contend_goes_on 'the leader stands still' 60
    ok 'the other lock is still held, or its loss is reported' wait_until 20 is_kept
    node_continue "$KIND" "$leader"
    contend_goes_on 'it runs again' 60
}

a_follower() { # NAME...: one of them
    local name
    for name; do
        [ "$name" = "$leader" ] || echo "$name"
    done | tail -n 1
}

cluster_follower_fails() {
    local -n running=${KIND^^}_PID
    local follower
    ok 'there is a leader' wait_until 20 has_leader
    follower=$(a_follower "${!running[@]}")
    node_pause "$KIND" "$follower"
    contend_goes_on 'a follower stands still' 60
    node_continue "$KIND" "$follower"
    node_stop "$KIND" "$follower"
    contend_goes_on 'a follower is stopped' 60
    ok 'it is back' node_restart "$KIND" "$follower"
}

cluster_end() {
    renewed() { grep -c '"event":"renewed"' "$W/events.keeper"; }
    n=$(renewed)
    renews() { [ "$(renewed)" -gt "$n" ]; }
    goes_on_or_is_lost() { renews || is_lost; }
    ok 'the other lock is renewed, or its loss is reported' \
        wait_until 20 goes_on_or_is_lost
    contend_end
    ! is_lost || diag "$(tail -n 5 "$W/err.keeper" "$W/events.keeper")"
    is_lost || end keeper
    is_empty() { # but for one line at most, the mark
        [ -z "$(entries | grep -v daily)" ] && [ "$(entries | wc -l)" -le 1 ]
    }
    ok 'nothing is left but the mark' wait_until 30 is_empty
}
