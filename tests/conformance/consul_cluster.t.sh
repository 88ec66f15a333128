#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul that fail, one after the other.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/ordered_cluster.sh"

have_consul || skip_all 'no Consul'
consul_cluster 3 || { fail 'Consul starts'; finish; }
export HOLDFAST_URL="$CONSUL_URL?connect_timeout=3s"
KIND=consul
entries() { consul_keys; }
is_back() { [ "$(consul_votes)" = 3 ]; }
# The reply to a create may come too late for what is left of a session.
CONTEND_MAY='the lock was lost again as soon as it was taken'
cluster_begin 12s
cluster_leader_fails
cluster_follower_fails
cluster_end
finish
