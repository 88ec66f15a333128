#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three members of etcd, of which one is cut off from the others: a follower with a
# client on it, in both directions, in one, and for less than a lease; and the leader.
. "$(dirname "$0")/../lib/tap.sh"
KIND=etcd
. "$(dirname "$0")/../lib/partition.sh"

follower_is 'cut off' 5s cut_off
leader_is 'the leader is cut off' 5s cut_off
follower_is 'it is not heard' 5s cut_from
follower_is 'it hears nothing' 5s cut_to
follower_heals 8s 3
release_goes_on
contenders_begin 10
contenders_are_cut 'the leader is cut off' leader
contenders_are_cut 'a follower is cut off' follower
contenders_end
finish
