#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# The contract of the client on etcd, except for what needs records: permits,
# marks, breaking, detaching, lists of names; and for what a lease that others
# share cannot do: be extended beyond its ttl, show when it was renewed.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
KEEPS_URL="$ETCD_URL$CONTRACT_QUERY&prefix="
keeps lock test_default_ttl test_given_and_adopted test_adopted_twice \
    test_released_by_its_owner test_kept_taken test_marks \
    test_shared_is_not_marked
keeps loop test_state_callback test_event_wakes_the_loop
keeps threads
keeps cancel test_before_each_call test_before_a_request test_in_a_queue \
    test_in_a_break
keeps started
keeps async test_extend test_lost test_detach_and_adopt test_release_reserved \
    test_list test_bad_arguments
keeps names test_wait_for_one
keeps multi_name_deadlock test_tries_that_meet?
keeps multi_name_handle test_renewed_and_extended test_kept_taken \
    test_one_is_lost test_release_is_told_once test_lost_while_waiting
are_gone() { [ -z "$(etcd_ctl get --prefix '' --keys-only)" ]; }
ok 'nothing is left' wait_until 70 are_gone
finish
