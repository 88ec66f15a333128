#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A leader of etcd that has just lost its majority answers keepalives, and reads that
# need not be up to date, from its memory, for an election timeout: they prove nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
etcd_cluster 3 -- --heartbeat-interval 500 --election-timeout 10000 ||
    { fail 'etcd starts'; finish; }
has_leader() { leader=$(etcd_leader) && [ -n "$leader" ]; }
ok 'a leader' wait_until 60 has_leader
export HOLDFAST_URL="etcd://127.0.0.1:${ETCD_PORT[$leader]}?connect_timeout=10s"

renewals() { grep -c '"event":"renewed"' "$W/events.own"; }
is_renewed() { [ "$(renewals)" -ge 2 ]; } # by a read, and by a comparison
begin own -t 6s own
ok 'a client of the leader holds a lock' wait_until 20 holds own
ok 'it is renewed' wait_until 20 is_renewed
for name in "${!ETCD_PID[@]}"; do
    [ "$name" = "$leader" ] || ok "$name stands still" etcd_pause "$name"
done
before=$(renewals)
gives 69 'the leader alone grants no free lock' run -n free -- true
like "$err" 'no answer in [0-9]+ ms|has no leader' '... and that is the reason'
# One may have been confirmed by the others, and not reported yet.
wait "$begun"
is $? 76 'its command is ended'
more=$(($(renewals) - before))
ok "the leader alone has proven nothing ($more)" [ $more -le 1 ]
for name in "${!ETCD_PID[@]}"; do
    [ "$name" = "$leader" ] || ok "$name goes on" etcd_continue "$name"
done
gives_s=60
gives 0 'and the lock is free again' run -w 50 own -- true
finish
