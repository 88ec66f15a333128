#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on etcd.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/etcd.sh"

export W
have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
nested 'etcd' "$HF_BUILD/tests/lib/refuse" "$ETCD_URL?node_timeout=1s"
ok 'the server still serves' holdfast run -w 20 -u "$ETCD_URL?node_timeout=3s" last -- true
is_empty() { [ -z "$(etcd_ctl get --prefix '' --keys-only)" ]; }
ok 'nothing is left' wait_until 20 is_empty
finish
