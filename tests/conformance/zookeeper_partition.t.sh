#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of ZooKeeper, of which the leader, with a client on it, is cut off from the
# others, or a follower just when a client of it releases its lock.
. "$(dirname "$0")/../lib/tap.sh"
KIND=zookeeper
. "$(dirname "$0")/../lib/partition.sh"

leader_is 'the leader is cut off' 5s cut_off
release_goes_on
contenders_begin 10
contenders_are_cut 'the leader is cut off' leader
contenders_end
finish
