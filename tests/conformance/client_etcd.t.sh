#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The contract of the client on etcd, except for what a lease cannot do:
# last for less than whole seconds, or show when it was renewed; and for what is
# declared at other servers.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
# shellcheck disable=SC2034 # contract.sh's
CONTRACT_THIRD=0
KEEPS_URL="$ETCD_URL$CONTRACT_QUERY&prefix="
keeps lock
keeps loop
keeps threads
keeps callbacks
keeps cancel
keeps started
keeps async
keeps async_end
keeps look test_examine_and_init
keeps break test_waits
keeps names test_wait_for_one
keeps multi_name_deadlock
keeps multi_name_handle test_one_is_lost
keeps semaphore
# Marks of an hour are.
are_gone() {
    etcd_ctl get --prefix '' --keys-only >"$W/left" &&
        [ -z "$(grep -v '#once$' "$W/left")" ]
}
ok 'no lock is left' wait_until 70 are_gone
finish
