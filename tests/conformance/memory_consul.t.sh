#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Allocations that fail, on Consul: client_memory.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/consul.sh"

program=$HF_BUILD/tests/conformance/memory_consul
[ -x "$program" ] || skip_all 'built without this store'
have_consul || skip_all 'no Consul'
consul_start -- -hcl 'session_ttl_min = "1s"' ||
    { fail 'Consul starts'; finish; }
HF_TEST_URL="$CONSUL_URL?node_timeout=3s&session_ttl_min=1s" \
    nested Consul "$program"
finish
