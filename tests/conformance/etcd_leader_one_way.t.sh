#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three members of etcd, of which the leader is cut off from the others in one direction,
# drawn from the sources: it is not heard, or it hears nothing. HF_TEST_ALL=1: both.
. "$(dirname "$0")/../lib/tap.sh"
KIND=etcd
. "$(dirname "$0")/../lib/partition.sh"

leader_is_one_way 5s
finish
