#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul, of which one is cut off from the others: a follower with a
# client on it, also for less than a lease, and the leader.
. "$(dirname "$0")/../lib/tap.sh"
KIND=consul
. "$(dirname "$0")/../lib/partition.sh"

follower_is 'cut off' 10s cut_off
follower_heals 10s 3
release_goes_on
contenders_begin 10
contenders_are_cut 'the leader is cut off' leader
contenders_are_cut 'a follower is cut off' follower
contenders_end
finish
