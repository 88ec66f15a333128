#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A try whose undoing is lost at a real Consul: undo_wire_consul.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/consul.sh"

program=$HF_BUILD/tests/conformance/undo_wire_consul
[ -x "$program" ] || skip_all 'built without this store'
have_consul || skip_all 'no Consul'
consul_start || { fail 'Consul starts'; finish; }
HF_TEST_PORT=${CONSUL_PORT[c1]} nested Consul "$program"
finish
