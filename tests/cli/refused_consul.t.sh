#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on Consul.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/consul.sh"

export W
have_consul || skip_all 'no Consul'
consul_start -- -hcl 'session_ttl_min = "1s"' ||
    { fail 'Consul starts'; finish; }
nested 'Consul' "$HF_BUILD/tests/lib/refuse" \
    "$CONSUL_URL?node_timeout=1s&session_ttl_min=1s"
ok 'the server still serves' holdfast run -w 20 -u "$CONSUL_URL?node_timeout=3s" last -- true
is_empty() { [ -z "$(consul_keys)" ]; }
ok 'nothing is left' wait_until 30 is_empty
finish
