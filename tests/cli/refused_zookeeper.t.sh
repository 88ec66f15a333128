#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on ZooKeeper.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

export W
have_zookeeper || skip_all 'no ZooKeeper, or no kazoo'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
nested 'ZooKeeper' "$HF_BUILD/tests/lib/refuse" "$ZOOKEEPER_URL?node_timeout=1s"
ok 'the server still serves' holdfast run -w 20 -u "$ZOOKEEPER_URL?node_timeout=3s" last -- true
is_empty() { [ -z "$(zookeeper_nodes)" ]; }
ok 'nothing is left' wait_until 20 is_empty
finish
