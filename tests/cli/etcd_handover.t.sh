#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A cluster that is written to all the time delays no hand-over. etcd brings a watch
# that begins in its past up to date once in 100 ms, so such a watch reports the
# release of the lock half of that late. etcd counts the watches that it has to bring
# up to date: there must be none, or few, since a write may come while one is made.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts' && finish; }
SAMPLES=40

late_watches() { # prints how many there are now
    curl -sS --noproxy '*' "http://127.0.0.1:${ETCD_PORT[e1]}/metrics" |
        sed -n 's/^etcd_debugging_mvcc_slow_watcher_total //p'
}

# Others come and go under another name, and clients hand a lock on.
"$HF_BUILD/bench/ours" --url "$ETCD_URL" --threads 2 --seconds 120 >/dev/null &
noise=$!
"$HF_BUILD/bench/queue" --url "$ETCD_URL" --clients 6 --hold 10 --rest 10 \
    --seconds 120 >/dev/null &
queue=$!
at_exit kill "$noise" "$queue"

has_waiters() { [ "$(etcd_ctl get --prefix lock:queue/ --keys-only | grep -c .)" -gt 2 ]; }
ok 'clients wait' wait_until 30 has_waiters

late=0
for ((i = 0; i < SAMPLES; i++)); do
    is_late=$(late_watches)
    [ "${is_late:-x}" = 0 ] || late=$((late + 1))
done
diag "watches had to be brought up to date at $late of $SAMPLES moments"
ok 'watches of waiters begin where the cluster is' test "$late" -le $((SAMPLES / 3))
ok 'clients still wait' has_waiters
finish
