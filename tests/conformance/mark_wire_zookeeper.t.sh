#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Marks on the wire to a real ZooKeeper: mark_wire.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

program=$HF_BUILD/tests/conformance/mark_wire_zookeeper
[ -x "$program" ] || skip_all 'built without this store'
have_zookeeper || skip_all 'no ZooKeeper'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
HF_TEST_URL="$ZOOKEEPER_URL?node_timeout=3s&connect_timeout=5s" nested ZooKeeper "$program"
finish
