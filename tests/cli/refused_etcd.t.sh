#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on etcd.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/refused.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
is_empty() { [ -z "$(etcd_ctl get --prefix '' --keys-only)" ]; }
refused 'etcd' 20 "$ETCD_URL"
finish
