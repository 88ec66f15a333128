#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of ZooKeeper, of which the leader is heard and hears nothing.
. "$(dirname "$0")/../lib/tap.sh"
KIND=zookeeper
. "$(dirname "$0")/../lib/partition.sh"

leader_is_among 'the leader hears nothing' 5s cut_to
finish
