#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three members of etcd, of which the leader is killed, or stands still, while
# eight processes contend for one name and another holds its own. Each holder
# locks a witness file, which shows two at once; fences must rise. A leader that
# stood still and runs on may revoke leases that were renewed meanwhile (etcd's
# issue 15247): then the loss is reported.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
etcd_cluster 3 -- --heartbeat-interval 50 --election-timeout 500 ||
    { fail 'etcd starts'; finish; }
export HOLDFAST_URL="$ETCD_URL?connect_timeout=3s"
capture timeout 60 holdfast doctor
if [[ "$out" == *'etcd 3.4.23'* ]]; then # of Debian 12
    is "$code" 1 'doctor warns'
    like "$out" 'warning.*etcd issue 15247' '... of what this version lacks'
else
    is "$code" 0 'doctor: fit'
fi

contend_start 8
begin keeper -v -t 8s other
is_lost() { has_said keeper lost; }
is_kept() { # a try may meet a member that does not answer
    capture timeout 20 holdfast run -n other -- true
    [ "$code" = 75 ] || { [ "$code" = 0 ] && wait_until 5 is_lost; }
}
ok 'a holder' wait_until 20 holds keeper
contend_goes_on 'three members' 60

leader=$(etcd_leader)
like "$leader" '^e[123]$' 'there is a leader'
etcd_kill "$leader"
contend_goes_on 'the leader was killed' 60
ok 'the other lock is still held' wait_until 20 is_kept
ok 'the member is back' etcd_restart "$leader"

has_leader() { leader=$(etcd_leader) && [ -n "$leader" ]; }
ok 'there is a leader' wait_until 20 has_leader
etcd_pause "$leader"
contend_goes_on 'the leader stands still' 60
ok 'the other lock is still held, or its loss is reported' wait_until 20 is_kept
etcd_continue "$leader"
contend_goes_on 'it runs again' 60

renewed() { grep -c '"event":"renewed"' "$W/events.keeper"; }
n=$(renewed)
renews() { [ "$(renewed)" -gt "$n" ]; }
goes_on_or_is_lost() { renews || is_lost; }
ok 'the other lock is renewed, or its loss is reported' wait_until 20 goes_on_or_is_lost
renews || diag "$(tail -n 5 "$W/err.keeper" "$W/events.keeper")"
contend_end
is_lost || end keeper
keys() { etcd_ctl get --prefix '' --keys-only | grep -v '^$'; }
is_empty() { [ -z "$(keys)" ]; }
ok 'nothing is left' wait_until 20 is_empty
finish
