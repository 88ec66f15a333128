#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three members of etcd, of which the leader hears the others and is not heard.
. "$(dirname "$0")/../lib/tap.sh"
KIND=etcd
. "$(dirname "$0")/../lib/partition.sh"

leader_is_among 'the leader is not heard' 5s cut_from
finish
