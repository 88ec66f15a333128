#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul, of which the leader, with a client on it, is cut off from the
# others.
. "$(dirname "$0")/../lib/tap.sh"
KIND=consul
. "$(dirname "$0")/../lib/partition.sh"

leader_is 'cut off' 10s cut_off
finish
