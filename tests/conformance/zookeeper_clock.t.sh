#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ZooKeeper's wall clock is set while locks are held.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/clock_steps.sh"

have_zookeeper || skip_all 'no ZooKeeper'
zookeeper_start --clock || { fail 'ZooKeeper starts'; finish; }
export HOLDFAST_URL="$ZOOKEEPER_URL?node_timeout=3s&connect_timeout=5s"
# shellcheck disable=SC2034 # clock_steps.sh's
NODE=z1

# It writes its time into each node.
server_time() {
    zookeeper_do put /clock x
    echo $(($(zookeeper_do stat /clock mtime) / 1000))
}

steps_begin 10 6
steps_set 7200
steps_set -7200
steps_set 0
steps_end
marks_set
finish
