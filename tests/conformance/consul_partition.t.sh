#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul, of which one is cut off from the others: a follower with a
# client on it, also for less than a lease, and the leader.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/partition.sh"

have_consul || skip_all 'no Consul'
consul_cluster 3 || { fail 'Consul starts'; finish; }
# shellcheck disable=SC2034 # partition.sh's
KIND=consul FREE_S=20 SERVED_S=25
is_back() {
    local name
    for name in "${!CONSUL_PORT[@]}"; do
        consul_api_at "$name" GET 'kv/?keys&consistent' || return
    done
}
# The reply to a create may come too late for what is left of a session.
CONTEND_MAY='the lock was lost again as soon as it was taken'
follower_is 'cut off' 10s cut_off
follower_heals 10s 3
release_goes_on
contenders_begin
contenders_are_cut 'the leader is cut off' leader
contenders_are_cut 'a follower is cut off' follower
contenders_end
finish
