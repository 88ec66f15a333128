#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same on three servers that agree: their leader is killed, a holder is stopped
# past its lease, the leader's wall clock is set. One store of three, drawn from the
# sources; HF_TEST_ALL=1: all.
# All faults on each: tests/chaos/run --store etcd|zookeeper|consul.
# timeout: 300
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/chaos.sh"
. "$HF_SOURCE/tests/chaos/consensus.sh"

at=0
for STORE in etcd zookeeper consul; do
    if ! store_is_here "$STORE"; then
        skip "$STORE" "$STORE is not installed"
    elif drawn_of 3 $at; then
        chaos "$(drawn_seed)" "$STORE" --store "$STORE" \
            --only kill-leader,stop-client,clock-leader
    fi
    at=$((at + 1))
done
finish
