#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three members of etcd that fail, one after the other. Each holder locks a witness
# file, which shows two at once; fences must rise. A leader that stood still and runs
# on may revoke leases that were renewed meanwhile (etcd's issue 15247): then the
# loss is reported.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/ordered_cluster.sh"

have_etcd || skip_all 'no etcd'
etcd_cluster 3 -- --heartbeat-interval 50 --election-timeout 500 ||
    { fail 'etcd starts'; finish; }
export HOLDFAST_URL="$ETCD_URL?connect_timeout=3s"
capture timeout 60 holdfast doctor
if [[ "$out" == *'etcd 3.4.23'* ]]; then # of Debian 12
    is "$code" 1 'doctor warns'
    like "$out" 'warning.*etcd issue 15247' '... of what this version lacks'
else
    is "$code" 0 'doctor: fit'
fi

KIND=etcd
entries() { etcd_ctl get --prefix '' --keys-only | grep -v '^$'; }
cluster_begin 8s
cluster_leader_fails
cluster_follower_fails
cluster_end
finish
