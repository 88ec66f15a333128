#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Places of waiters at a real Consul: queue_places.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/consul.sh"

program=$HF_BUILD/tests/conformance/queue_places_consul
[ -x "$program" ] || skip_all 'built without this store'
have_consul || skip_all 'no Consul'
consul_start || { fail 'Consul starts'; finish; }
HF_TEST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s" nested Consul "$program"
finish
