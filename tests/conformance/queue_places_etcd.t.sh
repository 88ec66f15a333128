#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Places of waiters at a real etcd: queue_places.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/etcd.sh"

program=$HF_BUILD/tests/conformance/queue_places_etcd
[ -x "$program" ] || skip_all 'built without this store'
have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
HF_TEST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s" nested etcd "$program"
finish
