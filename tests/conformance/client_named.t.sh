#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# The contract of the client on named locks of a MariaDB session, except for what
# needs a record of the lock: fences, owners' names, breaking, marks, permits, a
# queue; or sharers; or several requests on their way at once.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

ok 'the server starts' mariadb_start
KEEPS_URL="mysql://root@/${CONTRACT_QUERY}&lock=named&socket=$W/maria/s&prefix="
keeps lock test_take_and_give_back test_fences_rise test_busy_says_who \
    test_dead_holder_is_followed test_default_ttl test_given_and_adopted \
    test_adopted_twice test_released_by_its_owner test_kept_taken test_marks \
    test_shared_is_not_marked
keeps loop test_callback_cancels? test_state_callback test_event_wakes_the_loop
keeps async test_lost test_detach_and_adopt test_release_reserved \
    test_inspect_and_queue test_list test_bad_arguments
keeps names test_all_free test_wait_for_one
keeps multi_name_deadlock test_opposite_orders test_philosophers
keeps multi_name_handle test_kept_taken test_one_is_lost \
    test_release_is_told_once test_lost_while_waiting
unheld() { [ "$(sql -e "SELECT COUNT(*) FROM information_schema.processlist
    WHERE user NOT IN ('system user', 'event_scheduler') AND id <> CONNECTION_ID()")" = 0 ]; }
ok 'no session is left, and so no lock' wait_until 20 unheld
finish
