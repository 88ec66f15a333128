#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on ZooKeeper.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/refused.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

have_zookeeper || skip_all 'no ZooKeeper, or no kazoo'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
is_empty() { [ -z "$(zookeeper_nodes)" ]; }
refused 'ZooKeeper' 20 "$ZOOKEEPER_URL"
finish
