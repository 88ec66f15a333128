#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd that starts again without its data has the cluster id that it had, and begins
# its revisions anew: a client that was open takes no smaller fence.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/set_back.sh"

have_etcd || skip_all 'no etcd'
# shellcheck disable=SC2034 # set_back.sh's
KIND=etcd NODE=e1
cluster() {
    etcd_ctl endpoint status -w fields | sed -n 's/^"ClusterID" : //p'
}
set_back_begin
before=$(cluster)
begin waiter -t 20s -w 200s old
waiter=$begun
ok 'a waiter' wait_until 20 is_queued waiter

set_back true # no data take its place
is "$(cluster)" "$before" 'without its data it has the same cluster id'
# shellcheck disable=SC2154 # set_back.sh's
ends_lost old "$old"
ended() { is_gone "$waiter" || holds waiter; }
ok 'the waiter is granted nothing' wait_until 60 ended
is "$(holds waiter && cat "$W/held")" '' '... and no smaller fence'
[ ! -f "$W/on.waiter" ] || end waiter
wait "$waiter"
is $? 78 '... but refused'
like "$(cat "$W/err.waiter")" 'was set back.* revision .* fences' '... with the reason'
gives 0 'another client takes what is there' run -w 60s -t 20s free -- true
finish
