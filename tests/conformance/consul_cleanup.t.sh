#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Consul's autopilot removes a server that is dead, by default, and with it the
# sessions that were opened by it: a lock ends though a majority is left, its
# holder is told, and the next fence is greater.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
ok 'three servers that remove dead ones' \
    consul_cluster 3 -- -hcl 'autopilot { cleanup_dead_servers = true }'
export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"
begin holder -t 50s -w 60s job
holder=$begun
ok 'a holder' wait_until 60 holds holder || finish
session=$(consul_session "$(consul_keys | grep '^lock:job/')")
node=$(consul_api GET "session/info/$session" | jq -r '.[0].Node')
begin waiter -t 50s -w 250s job
ok 'a waiter' wait_until 60 is_queued waiter

consul_kill "${node%%-*}"
ok 'the server of its session dies: the holder ends' wait_until 90 is_gone "$holder"
wait "$holder"
is $? 76 '... as one that lost the lock'
ok 'the waiter has it' wait_until 60 holds waiter
fence_of() { sed -n "s/^$1 //p" "$W/held"; }
ok '... with a greater fence' [ "$(fence_of waiter)" -gt "$(fence_of holder)" ]
end waiter
finish
