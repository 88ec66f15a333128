#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The contract of the client on Consul, except for marks; for what a session cannot
# do: last for less than whole seconds, or show when it was renewed; for what is
# declared at other servers; and for what a try cannot do in one request.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
consul_start -- -hcl 'session_ttl_min = "1s"' || { fail 'Consul starts'; finish; }
KEEPS_URL="$CONSUL_URL$CONTRACT_QUERY&session_ttl_min=1s&prefix="
keeps lock test_marks
keeps loop test_cancel_leaves_nothing test_callback_cancels
keeps threads
keeps callbacks
keeps cancel test_before_each_call test_before_a_request
keeps started
keeps async
keeps async_end test_close_in_flight
keeps look test_examine_and_init
keeps break test_waits test_mark test_cancelled?
keeps names test_one_round_trip test_wait_for_one test_cancel
keeps multi_name_deadlock test_tries_that_meet?
keeps multi_name_handle test_one_is_lost
keeps permits
are_gone() { [ -z "$(consul_keys)" ]; }
ok 'nothing is left' wait_until 130 are_gone
finish
