#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Three servers of Consul, of which the leader is killed, or stands still, and a
# follower is stopped, while eight processes contend for one name and another holds
# its own.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/contend.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
consul_cluster 3 || { fail 'Consul starts'; finish; }
export HOLDFAST_URL="$CONSUL_URL?connect_timeout=3s"
has_leader() { leader=$(consul_leader) && [ -n "$leader" ]; }
have_votes() { [ "$(consul_votes)" = 3 ]; }
# Its command is ended, perhaps before the deadline: then it has released its lock.
is_lost() { is_gone "$keeper"; }
is_kept() { # a try may meet a server that does not answer
    capture timeout 20 holdfast run -n other -- true
    [ "$code" = 75 ] || { [ "$code" = 0 ] && wait_until 5 is_lost; }
}

ok 'there is a leader' wait_until 20 has_leader
contend_start 8
begin keeper -v -t 12s other
keeper=$begun
ok 'a holder' wait_until 20 holds keeper
contend_goes_on 'three servers' 60

consul_kill "$leader"
contend_goes_on 'the leader was killed' 60
ok 'the other lock is still held' wait_until 20 is_kept
ok 'the server is back' consul_restart "$leader"
ok '... and has its vote' wait_until 30 have_votes

ok 'there is a leader' wait_until 20 has_leader
consul_pause "$leader"
contend_goes_on 'the leader stands still' 60
ok 'the other lock is still held, or its loss is reported' wait_until 20 is_kept
consul_continue "$leader"
contend_goes_on 'it runs again' 60

ok 'there is a leader' wait_until 20 has_leader
for name in c1 c2 c3; do
    [ "$name" = "$leader" ] || follower=$name
done
consul_pause "$follower"
contend_goes_on 'a follower stands still' 60
consul_continue "$follower"
consul_stop "$follower"
contend_goes_on 'a follower is stopped' 60
ok 'it is back' consul_restart "$follower"

renewed() { grep -c '"event":"renewed"' "$W/events.keeper"; }
n=$(renewed)
renews() { [ "$(renewed)" -gt "$n" ]; }
goes_on_or_is_lost() { renews || is_lost; }
ok 'the other lock is renewed, or its loss is reported' wait_until 20 goes_on_or_is_lost
contend_end
! is_lost || diag "$(tail -n 5 "$W/err.keeper" "$W/events.keeper")"
is_lost || end keeper
is_empty() { [ -z "$(consul_keys)" ]; }
ok 'nothing is left' wait_until 30 is_empty
finish
