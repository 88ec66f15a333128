#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# --once on a real etcd: one run a period, judged by the clock of etcd, whatever
# becomes of the lease: kill -9 of etcd and of holders, contenders, withdrawing,
# etcdctl beside it, a mark that is none, and what is left.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
etcd_start || { fail 'etcd starts'; finish; }
export HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s"

ran() { # NAME [OPTION...]
    local name=$1
    shift
    timeout 60 holdfast run --once 1h "$@" "$name" -- echo ran
}
keys() { etcd_ctl get --prefix "$1" --keys-only | grep -v '^$'; }
mark_of() { etcd_ctl get "lock:$1#once" --print-value-only; }
is_free() { holdfast run -n "$1" -- true; }

# The first of the test, so that what it leaves is gone at its end.
holdfast run --once 1s brief -- true
is "$(keys 'lock:brief')" 'lock:brief#once' 'of a run its mark is left'

# ---- A period ---------------------------------------------------------------------

capture ran kept
is "$code:$out$err" 0:ran 'runs'
capture ran kept
is "$code:$out$err" 0: 'and not again in this period'
is "$(timeout 60 holdfast run -n kept -- echo plain)" plain 'a plain run need not wait for it'
is "$(ran kept)" '' '... and does not end it'
fence=$(etcd_ctl get 'lock:kept#once' -w fields | sed -n 's/^"CreateRevision" : //p')
like "$(mark_of kept)" '^[0-9]+ [0-9]{13} 3600000 [0-9a-f]{32}:' 'the mark: fence, start, length, owner'
ok 'its fence is of the entry before it' test "$(mark_of kept | cut -d ' ' -f 1)" -lt "$fence"
now=$(date +%s)
start=$(mark_of kept | cut -d ' ' -f 2)
ok 'it begins by the clock of the server' test "$((start / 1000 - now))" -le 1
ok '... just now' test "$((now - start / 1000))" -le 60
lease=$(etcd_ctl get 'lock:kept#once' -w fields | sed -n 's/^"Lease" : //p')
ttl=$(etcd_ctl lease timetolive "$(printf %x "$lease")" | sed -n 's/.*granted with TTL(\([0-9]*\)s).*/\1/p')
ok "its lease lasts longer than the period ($ttl s)" test "$ttl" -gt 3601

capture holdfast ls
like "$out" 'kept +[^ ]+ .*ended' 'ls lists the mark'
is "$(grep -c '^kept ' <<<"$out")" 1 '... once'
capture holdfast ls --json kept
like "$out" '"state":"ended"' 'ls NAME shows it, too'

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

# ---- kill -9 of etcd ---------------------------------------------------------------------

began=$(now_ms)
holdfast run --once 6s again -- true
etcd_kill e1
etcd_restart e1 || fail 'etcd starts again'
capture timeout 60 holdfast run --once 6s again -- echo ran
took=$(($(now_ms) - began))
if [ $took -lt 5900 ]; then
    is "$code:$out$err" '0:' 'etcd is killed: the period goes on'
else
    diag "a start took $took ms: the period is over"
fi
is "$(ran kept)" '' '... the other one, too'
again() { [ "$(timeout 60 holdfast run --once 6s again -- echo ran)" = ran ]; }
ok 'it runs again' wait_until 20 again
took=$(($(now_ms) - began))
ok "not earlier than 6 s ($took ms)" test $took -ge 5950
ok 'not later than three seconds after that' test $took -lt 11000
# Its first lease has 6 s again, and 10 s more than the period.
is "$(mark_of again | wc -l)" 1 'it is marked'
isnt "$(etcd_ctl get 'lock:again#once' -w fields | sed -n 's/^"Version" : //p')" 1 \
    'the period was over while the mark was there'

# ---- A mark that is withdrawn ---------------------------------------------------------------

capture timeout 60 holdfast run --once 1h failed -- false
is "$code:$(ran failed)" 1: 'a failed run keeps the period'
capture timeout 60 holdfast run --once 1h --on-fail release let -- false
is "$code" 1 'a run fails that leaves it to others'
like "$(mark_of let)" '^[0-9]+ [0-9]+ [0-9]+ $' '... by a tombstone'
is "$(ran let --on-fail release)" ran '... which run'
is "$(ran let)" '' 'one that succeeds keeps it'
capture timeout 60 holdfast break kept
is "$code" 0 'break'
is "$(ran kept)" ran '... clears the mark'
is "$(ran 'a b' c 'd/e%f')" ran 'several names are marked'
is "$(ran c)$(ran 'd/e%f')$(ran 'a b')" '' 'each of them'

# ---- Contenders, and one that is killed -----------------------------------------------------

contest() { # ROUND: five at once, exactly one runs
    local i pids=() bad=0
    : >"$W/runs"
    : >"$W/said"
    for i in 1 2 3 4 5; do
        timeout 60 holdfast run --once 1h "cron$1" -- \
            sh -c 'echo ran >>"$0"' "$W/runs" 2>>"$W/said" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || bad=$((bad + 1))
    done
    is "$(wc -l <"$W/runs"):$bad:$(cat "$W/said")" 1:0: "five contenders: one runs ($1)"
}
for i in 1 2 3; do
    contest "$i"
done

# The keeper is the command's parent.
holdfast run --once 1h -t 2s killed -- \
    sh -c 'echo $PPID >"$0"; kill -9 $PPID; exec sleep 300' "$W/keeper" 2>"$W/.err"
ok 'kill -9 of the keeper ends the lock' wait_until 20 is_free killed
is "$(ran killed)" '' 'and not the period'

# ---- A mark that is none -------------------------------------------------------------------

etcd_ctl put 'lock:odd#once' 'hello' >/dev/null
capture ran odd
isnt "$code" 0 'a key of another program in its place'
like "$err" "is none of Holdfast's" '... is told'
unlike "$out" ran '... and nothing runs'
capture timeout 60 holdfast ls
like "$out" 'odd +[^ ]+ +.another kind of client' '... and ls shows it'
like "$out" 'kept +[^ ]+ .*ended' '... beside the others'
is "$(mark_of odd)" hello '... and it stays'
is "$(timeout 60 holdfast run -n odd -- echo plain)" plain 'without --once it does not matter'
etcd_ctl del 'lock:odd#once' >/dev/null

# ---- What is left --------------------------------------------------------------------------

is_brief_gone() { [ -z "$(keys 'lock:brief')" ]; }
ok 'a mark is removed when its lease ends' wait_until 60 is_brief_gone
# A mark is of one lease, also one that has replaced another.
unbound=''
while read -r key; do
    [[ "$(etcd_ctl get "$key" -w fields)" =~ '"Lease" : '[1-9] ]] || unbound+="$key "
done < <(keys lock: | grep '#once$')
is "$unbound" '' 'each mark that is left has a lease'
finish
