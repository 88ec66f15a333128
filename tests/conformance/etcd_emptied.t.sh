#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd that starts again without its data has the cluster id that it had, and begins
# its revisions anew: a client that was open takes no smaller fence.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/holders.sh"

have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
export HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s"
cluster() {
    etcd_ctl endpoint status -w fields | sed -n 's/^"ClusterID" : //p'
}
before=$(cluster)
for other in 1 2 3 4 5; do
    holdfast run -n "other$other" -- true
done
begin holder -t 20s job
holder=$begun
ok 'a holder' wait_until 20 holds holder
begin waiter -t 20s -w 200s job
waiter=$begun
ok 'a waiter' wait_until 20 is_queued waiter

etcd_stop e1
rm -r "$W/e1/data"
etcd_restart e1 || { fail 'etcd starts without its data'; finish; }
is "$(cluster)" "$before" 'without its data it has the same cluster id'
ok 'the holder ends' wait_until 60 is_gone "$holder"
wait "$holder"
is $? 76 '... as one that lost it'
ended() { is_gone "$waiter" || holds waiter; }
ok 'the waiter is granted nothing' wait_until 60 ended
is "$(holds waiter && cat "$W/held")" '' '... and no smaller fence'
[ ! -f "$W/on.waiter" ] || end waiter
wait "$waiter"
is $? 78 '... but refused'
like "$(cat "$W/err.waiter")" 'was set back.* revision .* fences' '... with the reason'
gives 0 'another client takes what is there' run -w 60s -t 20s free -- true
finish
