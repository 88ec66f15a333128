#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of ZooKeeper, of which the leader hears the others and is not heard.
. "$(dirname "$0")/../lib/tap.sh"
KIND=zookeeper
. "$(dirname "$0")/../lib/partition.sh"

leader_is_among 'the leader is not heard' 5s cut_from
finish
