#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Allocations that fail, on ZooKeeper: client_memory.h. Every second one, drawn
# from the sources: a client costs more than on the other stores.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

program=$HF_BUILD/tests/conformance/memory_zookeeper
[ -x "$program" ] || skip_all 'built without this store'
have_zookeeper || skip_all 'no ZooKeeper, or no kazoo'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
HF_TEST_SEED=$(drawn_seed)
export HF_TEST_SEED
diag "HF_TEST_SEED=$HF_TEST_SEED"
HF_TEST_EVERY=${HF_TEST_EVERY:-2} HF_TEST_URL="$ZOOKEEPER_URL?node_timeout=3s" \
    nested ZooKeeper "$program"
finish
