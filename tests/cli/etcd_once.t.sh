#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# --once on a real etcd: one run a period, judged by the clock of etcd, whatever
# becomes of the lock: kill -9 of etcd and of holders, contenders, withdrawing,
# etcdctl beside it, a mark that is none, and what is left.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/once.sh"

have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
# shellcheck disable=SC2034 # once.sh's
KIND=etcd NODE=e1
export HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s"
keys() { etcd_ctl get --prefix "$1" --keys-only | grep -v '^$'; }
keys_of() { keys "lock:$1"; }
field_of() { # NAME FIELD: of its mark
    etcd_ctl get "lock:$1#once" -w fields | sed -n "s/^\"$2\" : //p"
}
mark_path() { echo "lock:$1#once"; }
mark_get() { etcd_ctl get "$1" --print-value-only | grep .; }
mark_put() { etcd_ctl put "$1" "$2" >/dev/null; }
mark_remove() { etcd_ctl del "$1" >/dev/null; }

# The first of the test, so that what its `brief` leaves is gone at its end.
once_period
ok 'the fence of the mark is of the entry before it' \
    test "$(mark_of kept | cut -d ' ' -f 1)" -lt "$(field_of kept CreateRevision)"
lease=$(field_of kept Lease)
ttl=$(etcd_ctl lease timetolive "$(printf %x "$lease")" | sed -n 's/.*granted with TTL(\([0-9]*\)s).*/\1/p')
ok "its lease lasts longer than the period ($ttl s)" test "$ttl" -gt 3601

# ---- Other programs --------------------------------------------------------------------

capture etcd_ctl lock lock:kept echo locked
is "$code:$out" 0:locked 'the mark is no contender for etcdctl lock'
is "$(ran kept)" '' '... which does not end it'
etcd_ctl put 'lock:kept#once/1-x30-0123456789abcdef0123456789abcdef:h:1:1764000000' '' >/dev/null
is "$(ran kept)" '' 'a lock with the name of a mark is another thing'
capture timeout 60 holdfast run -n 'kept#once' -- true
is "$code" 75 '... and held'
capture holdfast ls
like "$out" 'kept#once +exclusive' '... as ls shows it'
etcd_ctl del 'lock:kept#once/' --prefix >/dev/null

# ---- Faults, and what is the same on all of them ---------------------------------------

once_server
# Its first lease has 6 s again, and 10 s more than the period.
isnt "$(field_of again Version)" 1 'the period was over while the mark was there'
once_withdrawn
once_names
once_contest
once_killed
once_odd
once_faults 3

# ---- What is left --------------------------------------------------------------------------

is_mark_removed() { [ -z "$(keys 'lock:brief')" ]; }
ok 'a mark is removed when its lease ends' wait_until 60 is_mark_removed
# A mark is of one lease, also one that has replaced another.
unbound=''
while read -r key; do
    [[ "$(etcd_ctl get "$key" -w fields)" =~ '"Lease" : '[1-9] ]] || unbound+="$key "
done < <(keys lock: | grep '#once$')
is "$unbound" '' 'each mark that is left has a lease'
finish
