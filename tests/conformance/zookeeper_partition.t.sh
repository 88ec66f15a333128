#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of ZooKeeper, of which the leader, with a client on it, is cut off from the
# others, or a follower just when a client of it releases its lock.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/partition.sh"

have_zookeeper || skip_all 'no ZooKeeper'
# The partition looks for the process that connects, in the table of IPv4.
export JAVA_TOOL_OPTIONS=-Djava.net.preferIPv4Stack=true
zookeeper_cluster 3 || { fail 'ZooKeeper starts'; finish; }
# shellcheck disable=SC2034 # partition.sh's
KIND=zookeeper FREE_S=20 SERVED_S=45
is_back() {
    local name
    for name in "${!ZOOKEEPER_PORT[@]}"; do
        zookeeper_say "$name" srvr | grep -q '^Mode: ' || return
    done
}
is_at() { # NAME
    local session
    session=$(zookeeper_session "$(zookeeper_nodes | grep '^/lock:own/')")
    [ -n "$session" ] && zookeeper_say "$1" cons | grep -q "sid=$session,"
}
# The reply to a create may come too late for what is left of a session.
CONTEND_MAY='the lock was lost again as soon as it was taken'
leader_is 'the leader is cut off' 5s cut_off
release_goes_on
contenders_begin
contenders_are_cut 'the leader is cut off' leader
contenders_end
finish
