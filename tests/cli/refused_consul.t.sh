#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on Consul.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/refused.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
consul_start -- -hcl 'session_ttl_min = "1s"' ||
    { fail 'Consul starts'; finish; }
is_empty() { [ -z "$(consul_keys)" ]; }
refused 'Consul' 30 "$CONSUL_URL" session_ttl_min=1s
finish
