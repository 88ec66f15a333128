#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The contract of the client on ZooKeeper, except for what needs an entry that leaves
# its session: detached, handed on, reserved, extended locks; for tries
# that are granted while their client runs nothing; for what a session cannot do: show
# when it was renewed; and for what is declared at other servers.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

have_zookeeper || skip_all 'no ZooKeeper, or no kazoo'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
# shellcheck disable=SC2034 # contract.sh's
CONTRACT_THIRD=2
KEEPS_URL="$ZOOKEEPER_URL/chroot/of/tests$CONTRACT_QUERY&prefix="
keeps lock test_default_ttl test_given_and_adopted test_adopted_twice \
    test_released_by_its_owner test_kept_taken
keeps loop test_cancel_leaves_nothing test_callback_cancels
keeps threads
keeps callbacks
keeps cancel test_before_each_call test_before_a_request
keeps started test_started_on_a_client?
keeps async test_extend test_lost test_detach_and_adopt test_release_reserved \
    test_bad_arguments
keeps async_end test_close_in_flight test_cancel_each test_token test_release_ends_it
keeps look test_inspect_ended test_break_asks? test_break_what_has_ended \
    test_examine_and_init
keeps break test_waits
keeps names test_one_round_trip test_wait_for_one test_cancel
keeps multi_name_deadlock
keeps multi_name_handle test_renewed_and_extended test_kept_taken test_one_is_lost
keeps semaphore test_renewed
are_gone() { [ -z "$(zookeeper_nodes | grep -v '^/zookeeper/')" ]; }
ok 'nothing is left' wait_until 100 are_gone
finish
