#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A client of etcd that was idle while it connected: plain, over TLS, with a login.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'

idles() { # WHAT URL
    capture env HF_TEST_URL="$2" timeout 60 "$HF_BUILD/tests/conformance/etcd_idle"
    is "$out" 'HF_OK ' "$1: a try after idleness has the lock"
}
with='node_timeout=10s&connect_timeout=3s&max_ttl=200s'
ok 'etcd starts' etcd_start -- --bcrypt-cost 4
idles plain "$ETCD_URL?$with"
etcd_stop e1
rm -rf "$W/e1"
ok 'etcd starts with TLS' etcd_start --tls -- --bcrypt-cost 4
idles TLS "$ETCD_URL?$with&tls_ca=$W/tls/ca.crt"
etcd_ctl user add root:root >/dev/null
etcd_ctl user grant-role root root >/dev/null
ok 'authentication is enabled' etcd_ctl auth enable
ETCD_CTL=(--user root:root)
idles 'TLS and a login' "${ETCD_URL/\/\////root:root@}?$with&tls_ca=$W/tls/ca.crt"
finish
