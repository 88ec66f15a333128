#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul, of which the leader is cut off from the others in one direction,
# drawn from the sources: it is not heard, or it hears nothing. HF_TEST_ALL=1: both.
. "$(dirname "$0")/../lib/tap.sh"
KIND=consul
. "$(dirname "$0")/../lib/partition.sh"

leader_is_one_way 10s
finish
