#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul, of which the leader is cut off from the others in one direction,
# drawn from the sources: it is not heard, or it hears nothing. HF_TEST_ALL=1: both.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"
KIND=consul
. "$(dirname "$0")/../lib/partition.sh"

! drawn_half 0 || leader_is_among 'the leader is not heard' 10s cut_from
! drawn_half 1 || leader_is_among 'the leader hears nothing' 10s cut_to
finish
