#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three members of etcd, of which one is cut off from the others: a follower with a
# client on it, in both directions, in one, and for less than a lease; and the leader.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/partition.sh"

have_etcd || skip_all 'no etcd'
etcd_cluster 3 -- --heartbeat-interval 50 --election-timeout 500 ||
    { fail 'etcd starts'; finish; }
# shellcheck disable=SC2034 # partition.sh's
KIND=etcd FREE_S=6 SERVED_S=16
is_back() {
    local name
    for name in "${!ETCD_PORT[@]}"; do
        etcd_ctl_at "$name" --command-timeout 3s get / --consistency l || return
    done
}
follower_is 'cut off' 5s cut_off
leader_is 'the leader is cut off' 5s cut_off
follower_is 'it is not heard' 5s cut_from
follower_is 'it hears nothing' 5s cut_to
follower_heals 8s 3
release_goes_on
contenders_begin
contenders_are_cut 'the leader is cut off' leader
contenders_are_cut 'a follower is cut off' follower
contenders_end
finish
