#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# get, put and update on three servers of Consul: as in values.t.sh, with what is
# stored, rights, and servers that fail. conformance/client_values has lost replies.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/values.sh"
. "$(dirname "$0")/../lib/values_ordered.sh"

have_consul || skip_all 'no Consul'
unset "${!CONSUL_HTTP_@}"
consul_cluster 3 || { fail 'Consul starts'; finish; }
# shellcheck disable=SC2034 # values_ordered.sh's
KIND=consul
export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=3s"
kv() { # METHOD KEY [DATA]
    consul_api "$1" "kv/$(consul_escaped "$2")?consistent&raw" "${@:3}" 2>/dev/null
}
keys_of() { consul_keys | grep "lock:$1"; }
value_path() { echo "~value/lock:$1"; }
value_get() { kv GET "$1" | grep .; }
value_put() { kv PUT "$1" "$2" >/dev/null; }
value_revision() {
    consul_api GET "kv/$(consul_escaped "$1")?consistent" | jq '.[0].ModifyIndex'
}

test_values
values_apart
is "$(keys_of 'apart' | grep -v '~once')" '~value/lock:apart' 'one key for each value'
is "$(consul_session "$(value_path apart)")" '' '... of no session'
holdfast put -q --delete apart
is "$(keys_of apart | grep -v '~once')" '' 'nothing is left of those that were deleted'
values_odd
values_leader
values_dead
finish
