#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The wall clock of Consul's leader is set while locks are held.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/clock_steps.sh"

have_consul || skip_all 'no Consul'
consul_cluster 3 --clock || { fail 'Consul starts'; finish; }
# shellcheck disable=SC2034 # clock_steps.sh's
KIND=consul
server_time() { http_time "$(consul_address "$NODE")/v1/status/leader"; }

ok 'there is a leader' wait_until 20 has_leader
export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"
steps_begin 15 10
steps_set 7200
steps_set -7200
steps_end

# A mark is judged by the agent that is asked.
marks_set_beside c1 c2
finish
