#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul, of which the leader, with a client on it, is cut off from the
# others.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/partition.sh"

have_consul || skip_all 'no Consul'
consul_cluster 3 || { fail 'Consul starts'; finish; }
# shellcheck disable=SC2034 # partition.sh's
KIND=consul FREE_S=20
leader_is 'cut off' 10s cut_off
finish
