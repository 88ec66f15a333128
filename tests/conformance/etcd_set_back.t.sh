#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd with an older copy of its data is the same cluster: locks that are not in the
# copy are lost, those in it go on. A restored snapshot is another cluster: all
# locks are lost, and clients that know the old one refuse it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/set_back.sh"

have_etcd || skip_all 'no etcd'
# shellcheck disable=SC2034 # set_back.sh's
KIND=etcd NODE=e1
set_back_begin
set_back_to_itself

restore_snapshot() {
    ETCDCTL_API=3 etcdctl snapshot restore "$W/snapshot" --name e1 \
        --data-dir "$W/e1/data" --initial-cluster "$ETCD_MEMBERS" \
        --initial-cluster-token restored \
        --initial-advertise-peer-urls unix://e1:1 >/dev/null 2>&1
}
etcd_ctl snapshot save "$W/snapshot" >/dev/null 2>&1
begin waiter -t 20s -w 200s old
waiter=$begun
ok 'a waiter' wait_until 20 is_queued waiter
set_back restore_snapshot
# shellcheck disable=SC2154 # set_back.sh's
ends_lost old "$old"
like "$(cat "$W/err.old")" 'is of another cluster' '... with the reason'
ok 'the waiter ends' wait_until 20 is_gone "$waiter"
wait "$waiter"
is $? 78 '... refused'
like "$(cat "$W/err.waiter")" 'is of another cluster .* fences' '... with the reason'
gives 0 'another client takes the other cluster' run -w 60s -t 20s free -- true
finish
