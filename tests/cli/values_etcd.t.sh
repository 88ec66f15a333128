#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# get, put and update on three members of etcd: as in values.t.sh, with what is
# stored, and members that fail. conformance/client_values has lost replies.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/values.sh"
. "$(dirname "$0")/../lib/values_ordered.sh"

have_etcd || skip_all 'no etcd'
etcd_cluster 3 -- --heartbeat-interval 50 --election-timeout 500 ||
    { fail 'etcd starts'; finish; }
# shellcheck disable=SC2034 # values_ordered.sh's
KIND=etcd
export HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=3s"
keys_of() { etcd_ctl get --prefix "lock:$1" --keys-only | grep -v '^$'; }
value_path() { echo "lock:$1#value"; }
value_get() { etcd_ctl get "$1" --print-value-only | grep .; }
value_put() { etcd_ctl put "$1" "$2" >/dev/null; }
value_revision() { etcd_ctl get "$1" -w fields | sed -n 's/^"ModRevision" : //p'; }

test_values
values_apart
is "$(keys_of 'apart' | grep -v '#once')" 'lock:apart#value' 'one key for each value'
is "$(etcd_ctl get "$(value_path apart)" -w fields | sed -n 's/^"Lease" : //p')" 0 \
    '... of no lease'
holdfast put -q --delete apart
is "$(keys_of apart | grep -v '#once')" '' 'nothing is left of those that were deleted'
values_odd
values_leader
values_dead
finish
