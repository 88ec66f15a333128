#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of ZooKeeper, of which a follower, with a client on it, is cut off from the
# others in one direction.
. "$(dirname "$0")/../lib/tap.sh"
KIND=zookeeper
. "$(dirname "$0")/../lib/partition.sh"

follower_is 'it is not heard' 5s cut_from
follower_is 'it hears nothing' 5s cut_to
finish
