#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# A renewal counts only if a majority confirms the leader: renewal_wire_consul.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/consul.sh"

program=$HF_BUILD/tests/conformance/renewal_wire_consul
[ -x "$program" ] || skip_all 'built without this store'
have_consul || skip_all 'no Consul'

# A leader without followers goes on for half a second times this.
ok 'three servers' consul_cluster 3 -- -hcl 'performance { raft_multiplier = 3 }'
has_leader() { leader=$(consul_leader) && [ -n "$leader" ]; }
ok 'and a leader' wait_until 20 has_leader
followers=()
for name in "${!CONSUL_PID[@]}"; do
    [ "$name" = "$leader" ] || followers+=("${CONSUL_PID[$name]}")
done
HF_TEST_FOLLOWERS="${followers[*]}" \
    HF_TEST_URL="consul://127.0.0.1:${CONSUL_PORT[$leader]}" nested Consul "$program"
finish
