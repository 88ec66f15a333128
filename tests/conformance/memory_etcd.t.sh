#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Allocations that fail, on etcd: client_memory.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/etcd.sh"

program=$HF_BUILD/tests/conformance/memory_etcd
[ -x "$program" ] || skip_all 'built without this store'
have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
HF_TEST_URL="$ETCD_URL?node_timeout=3s" \
    nested etcd "$program"
finish
