#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Values on stores that agree by consensus. See client_values.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

values_of() { # KIND PORT URL
    export HF_TEST_SOCKET=:$2
    contract "$1" "$3$CONTRACT_QUERY" values
}

if ! have_etcd; then
    skip 'values on etcd' 'no etcd'
elif etcd_start; then
    values_of etcd "${ETCD_PORT[e1]}" "$ETCD_URL"
else
    fail 'etcd starts'
fi

unset "${!CONSUL_HTTP_@}"
if ! have_consul; then
    skip 'values on Consul' 'no Consul'
elif consul_start; then
    values_of Consul "${CONSUL_PORT[c1]}" "$CONSUL_URL"
else
    fail 'Consul starts'
fi

if ! have_zookeeper; then
    skip 'values on ZooKeeper' 'no ZooKeeper'
elif zookeeper_start; then
    values_of ZooKeeper "${ZOOKEEPER_PORT[z1]}" "$ZOOKEEPER_URL"
else
    fail 'ZooKeeper starts'
fi
finish
