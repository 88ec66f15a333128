#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The wall clock of etcd's leader is set while locks are held. Before 3.5 it keeps the
# lock of a holder that died before that for as long as it was set back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/clock_steps.sh"

have_etcd || skip_all 'no etcd'
etcd_cluster 3 --clock || { fail 'etcd starts'; finish; }
# shellcheck disable=SC2034 # clock_steps.sh's
KIND=etcd
server_time() { http_time "http://127.0.0.1:${ETCD_PORT[$NODE]}/version"; }

ok 'there is a leader' wait_until 20 has_leader
export HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s"
steps_begin 10 6
steps_set 7200
if [[ $(etcd --version) == *'etcd Version: 3.4.'* ]]; then
    # What is next to be revoked is looked up by the wall clock (etcd's issue 12291).
    steps_kill -7200
    gives_s=80 gives 75 '... and a killed holder: its lock stays' \
        run -w 15s "$died" -- true
    steps_kept
    late=$died
    steps_set -7200 # renewed by the clock that was set
    steps_end
    gives 75 'the one that stays' run -n "$late" -- true
    ok 'another member leads' etcd_restart "$NODE"
    gives_s=80 gives 0 '... and it is granted again' run -w 60s "$late" -- true
else
    steps_set -7200
    steps_end
fi

# A mark is judged by the member that is asked.
marks_set_beside e1 e2
finish
