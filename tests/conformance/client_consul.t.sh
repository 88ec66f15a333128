#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The contract of the client on Consul, except for what a session cannot do: last for
# less than whole seconds, or show when it was renewed; for what is declared at other
# servers; for what a try cannot do in one request; and for 1,200 releases within 5 s.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
consul_start -- -hcl 'session_ttl_min = "1s"' ||
    { fail 'Consul starts'; finish; }
# shellcheck disable=SC2034 # contract.sh's
CONTRACT_THIRD=1
KEEPS_URL="$CONSUL_URL$CONTRACT_QUERY&session_ttl_min=1s&prefix="
keeps lock test_close_gives_back?
# Cases that wait for 20 s, and the most writes, one after the other.
keeps_ahead semaphore
keeps_ahead loop names
keeps_ahead async_end multi_name_handle
keeps loop test_cancel_leaves_nothing test_callback_cancels
keeps threads
keeps callbacks
keeps cancel
keeps started
keeps async
keeps async_end
keeps look test_examine_and_init
keeps break test_waits
keeps names test_one_round_trip test_wait_for_one test_cancel
keeps multi_name_deadlock
keeps multi_name_handle test_one_is_lost
keeps semaphore
# Marks of an hour are.
are_gone() { [ -z "$(consul_keys | grep -v '~once$')" ]; }
ok 'no lock is left' wait_until 130 are_gone
finish
