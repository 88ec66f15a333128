#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# Commands on a real etcd: exit codes, order, fences, dead holders, a lease that
# is revoked, a server that stands still, other programs' locks, odd names; locks
# that are broken, handed on, reserved; permits; lists.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'

# ---- The URL -------------------------------------------------------------------

refuses() { # CODE PATTERN WHAT URL
    capture timeout 60 holdfast run -n -u "$4" job -- echo ran
    is "$code" "$1" "$3: exit $1"
    like "$err" "$2" "$3: the message"
    unlike "$err$out" 'secret|^ran' "$3: no password is shown, and nothing runs"
}
refuses 64 'write etcd://HOST:PORT,HOST:PORT' 'no host' 'etcd://'
refuses 64 'write etcd://HOST:PORT,HOST:PORT' 'a port' 'etcd://h:99999'
refuses 64 'write etcd://HOST:PORT,HOST:PORT' 'a path' 'etcd://h/db'
refuses 64 'a password needs a user' 'no user' 'etcd://:secret@h'
refuses 64 'user u needs a password' 'no password' 'etcd://u@h'
refuses 64 'write etcd://HOST:PORT,HOST:PORT' 'an @ in a password' 'etcd://u:se@secret@h'
refuses 64 'write etcd://HOST:PORT,HOST:PORT' 'a / in a password' 'etcd://u:se/secret@h'
refuses 78 'tls_ca is given, but no server of this URL is reached over TLS: write etcds://' \
    'TLS without etcds' 'etcd://h?tls_ca=/ca.crt'
refuses 64 'unknown URL parameter "databse"' 'an unknown parameter' 'etcd://h?databse=1'
refuses 69 '127.0.0.1:1.*Connection refused' 'no server' 'etcd://127.0.0.1:1'
capture ldd "$HF_BUILD/holdfast"
unlike "$out" 'jansson|http_parser' 'the command is not linked with a parser of JSON'

# ---- One command -----------------------------------------------------------------

etcd_start || { fail 'etcd starts'; finish; }
export HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s"
keys() { etcd_ctl get --prefix '' --keys-only | grep -v '^$'; }
is_empty() { [ -z "$(keys)" ]; }
# shellcheck disable=SC2016 # the command's own variables
capture timeout 60 holdfast run nightly -- sh -c 'echo "$HOLDFAST_FENCE"; exit 7'
is "$code" 7 'the exit code of the command'
first=$out
like "$first" '^[1-9][0-9]*$' 'it has a fence'
ok 'nothing is left' is_empty
capture timeout 60 holdfast doctor
is "$code" 0 'doctor: fit'
like "$out$err" 'etcd 3\.[0-9.]+, cluster [0-9a-f]+' 'doctor names version and cluster'
# Of Debian 12; a warning only where a cluster is named.
if [[ "$out" == *'etcd 3.4.23'* ]]; then
    like "$out" 'etcd issue 15247' 'doctor names what this version lacks'
fi
capture timeout 60 holdfast doctor --init
isnt "$code" 0 'doctor --init is refused'
like "$err$out" 'there is nothing to declare' '... with the reason'

begin holder nightly
ok 'a holder' wait_until 20 holds holder
key=$(keys)
number=$(etcd_ctl get --prefix lock:nightly/ -w fields | sed -n 's/^"CreateRevision" : //p')
is "$(sed -n 's/^holder //p' "$W/held")" "$number" 'the fence is the create_revision of its key'
like "$key" '^lock:nightly/[0-9a-f]+-x30-[0-9a-f]{32}:' 'the key names lease, mode, ttl and owner'
gives 75 'a try while it is held' run -n nightly -- true
like "$err" 'held by .* pid [0-9]+' 'it names the holder'
is "$(keys)" "$key" 'a failed try has left nothing'
gives 75 'a shared try' run -n -s nightly -- true
is "$(keys)" "$key" 'it has left nothing'
gives 75 'a wait that ends' run -w 3 nightly -- true
is "$(keys)" "$key" 'it has left nothing'
gives 0 'its queue is shown' ls nightly
like "$out" 'held by .* pid [0-9]+' 'with the holder'
capture timeout 60 holdfast run -n --unfair nightly -- true
is "$code" 78 'unfair is refused'
like "$err" 'would reverse fences' '... with the reason'

# ---- Order -----------------------------------------------------------------------

waiters() { [ "$(keys | grep -c '^lock:nightly/')" = "$1" ]; }
for i in 1 2 3; do
    begin "w$i" -w 60 nightly
    ok "waiter $i" wait_until 20 waiters $((i + 1))
done
for i in 1 2 3; do
    end "$([ "$i" = 1 ] && echo holder || echo "w$((i - 1))")"
    ok "waiter $i is next" wait_until 20 holds "w$i"
done
is "$(awk '{print $1}' "$W/held" | tr '\n' ' ')" 'holder w1 w2 w3 ' 'first come, first served'
ok 'fences rise' sort -nCu -k2 "$W/held"
end w3
ok 'nothing is left' wait_until 20 is_empty

begin r1 -s doc
begin r2 -s doc
ok 'a reader' wait_until 20 holds r1
ok 'another one beside it' wait_until 20 holds r2
begin w -w 60 doc
waits() { [ "$(keys | grep -c -- '-x30-')" = 1 ]; }
ok 'a writer waits' wait_until 20 waits
gives 75 'a reader behind it is refused' run -n -s doc -- true
end r1
end r2
ok 'then the writer holds' wait_until 20 holds w
end w
begin several -t 5s b a c
ok 'several names' wait_until 20 holds several
is "$(keys | wc -l)" 3 '... are three keys'
gives 75 'each excludes' run -n a -- true
end several
ok 'all are gone' wait_until 20 is_empty

# ---- A dead holder, a revoked lease -----------------------------------------------

begin dead -t 3s nightly
ok 'a holder' wait_until 20 holds dead
last=$(sed -n 's/^dead //p' "$W/held")
# The wrapper alone would not do: its keeper releases.
mapfile -t children < <(pgrep -P "$begun" && pgrep -P "$(pgrep -d, -P "$begun")")
# Those that are killed later must not act on the end of the first.
are_stopped() {
    local pid
    for pid in "${children[@]}" "$begun"; do
        [[ $(sed 's/.*) //' "/proc/$pid/stat") == T* ]] || return
    done
}
kill -STOP "${children[@]}" "$begun"
ok 'its processes stand still' wait_until 5 are_stopped
killed=$(now_ms)
# The keeper first: the kernel continues stopped processes whose parent's end
# leaves them without a shell.
kill -9 "${children[@]}" "$begun"
# shellcheck disable=SC2016 # the command's own variables
capture timeout 60 holdfast run -t 3s -w 30 nightly -- sh -c 'echo "$HOLDFAST_FENCE"'
took=$(($(now_ms) - killed))
is "$code" 0 'a killed holder is followed'
ok "not before its lease has ended ($took ms)" [ "$took" -ge 1000 ]
ok 'with a greater fence' [ "${out:-0}" -gt "$last" ]

waiters_of() { [ "$(keys | grep -c "^lock:$1/")" = "$2" ]; }
lease_of() { keys | sed -n "s|^lock:$1/\([0-9a-f]*\)-.*|\1|p"; }
is_over() { is_gone "$1"; }
begin revoked -t 9s nightly
ok 'a holder' wait_until 20 holds revoked
etcd_ctl lease revoke "$(lease_of nightly)" >/dev/null
ok 'its lease is revoked: its command is ended' wait_until 8 is_over "$begun"
wait "$begun"
is "$?" 76 '... with exit 76'

# Once it was renewed, a watch tells it at once: by the next renewal it would be
# told 7 s later, at the earliest.
left_of() {
    etcd_ctl lease timetolive "$1" | sed -n 's/.*remaining(\([0-9]*\)s).*/\1/p'
}
left=99
was_renewed() { # LEASE
    local before=$left
    left=$(left_of "$1")
    [ "${left:-0}" -gt "$before" ]
}
begin watched -t 24s nightly
ok 'a holder' wait_until 20 holds watched
lease=$(lease_of nightly)
ok 'it renews' wait_until 10 was_renewed "$lease"
began=$(now_ms)
etcd_ctl lease revoke "$lease" >/dev/null
ok 'its lease is revoked: its command is ended' wait_until 8 is_over "$begun"
took=$(($(now_ms) - began))
ok "... at once ($took ms)" [ "$took" -le 5000 ]
wait "$begun"
is "$?" 76 '... with exit 76'

begin deleted -t 9s nightly
ok 'a holder' wait_until 20 holds deleted
etcd_ctl del --prefix lock:nightly/ >/dev/null
ok 'its key is deleted: its command is ended' wait_until 8 is_over "$begun"
wait "$begun"
is "$?" 76 '... with exit 76'

begin holder nightly
ok 'a holder' wait_until 20 holds holder
begin waiter -t 6s -w 60 nightly
ok 'a waiter' wait_until 20 waiters 2
etcd_ctl lease revoke "$(lease_of nightly | tail -n 1)" >/dev/null
ok 'its lease is revoked: it waits again' wait_until 20 waiters 2
is "$(has_said waiter acquired && echo held)" '' '... and does not hold'
end holder
ok 'it is granted the lock in its turn' wait_until 20 holds waiter
end waiter
ok 'nothing is left' wait_until 20 is_empty

# ---- The server ------------------------------------------------------------------

# shellcheck disable=SC2016 # the command's own variables
holdfast run -t 4s nightly -- sh -c 'echo $$ >"$0"; exec sleep 1000' "$W/stalled" &
begun=$!
pids+=("$begun")
ok 'a holder' wait_until 20 [ -s "$W/stalled" ]
began=$(now_ms)
etcd_pause e1
ok 'the server stands still: its command is ended' wait_until 10 \
    is_over "$(cat "$W/stalled")"
took=$(($(now_ms) - began))
ok "... within the lease ($took ms)" [ "$took" -le 4000 ]
wait "$begun"
is "$?" 76 '... with exit 76'
capture timeout 60 holdfast run -n nightly -- echo ran
is "$code" 69 'a try without a server'
etcd_continue e1
fence() { # shellcheck disable=SC2016 # the command's own variables
    timeout 60 holdfast run -w 40 nightly -- sh -c 'echo "$HOLDFAST_FENCE"'
}
before=$(fence)
etcd_kill e1
ok 'the server restarts' etcd_restart e1
after=$(fence)
ok "fences rise across its restart ($before, $after)" [ "${after:-0}" -gt "${before:-0}" ]
begin restart -t 20s nightly
ok 'a holder' wait_until 20 holds restart
etcd_kill e1
ok 'the server restarts' etcd_restart e1
gives 75 'its lock is still held' run -n nightly -- true
renewals() { grep -c '"event":"renewed"' "$W/events.restart"; }
n=$(renewals)
renews() { [ "$(renewals)" -gt "$n" ]; }
ok '... and renewed' wait_until 20 renews
end restart
ok 'nothing is left' wait_until 20 is_empty

# ---- A create that lands late --------------------------------------------------------
#
# While the server stands still, the connection of a client is given up with a create
# in it. Nothing orders that create before what is asked on the next connection: the
# client looks for what its lease holds. The key that is put here is such a create.

plain=$HOLDFAST_URL
export HOLDFAST_URL="$ETCD_URL?node_timeout=100ms&connect_timeout=5s"
begin other late-b
ok 'a holder' wait_until 20 holds other
begin both -t 24s -w 60 late-a late-b
ok 'a client with one lock waits for another' wait_until 20 waiters_of late-b 2
mine=$(lease_of late-a)
is "$mine" "$(lease_of late-b | grep -xF "$mine")" 'both are of one lease'
etcd_pause e1
paused=$(now_ms)
# A heartbeat is sent each 2 s, and given up after a second.
is_given_up() { [ $(($(now_ms) - paused)) -ge 5000 ]; }
ok 'its server stands still' wait_until 10 is_given_up
etcd_continue e1
owner="0123456789abcdef0123456789abcdef:host:1:1700000000"
etcd_ctl put "--lease=$mine" "lock:late-c/$mine-x24-$owner" '' >/dev/null
ok 'a create that lands late is removed' wait_until 12 waiters_of late-c 0
is "$(lease_of late-a)" "$mine" '... and nothing else is'
ok '... also in the queue' waiters_of late-b 2
end other
ok 'the waiter is granted both' wait_until 20 holds both
end both
HOLDFAST_URL=$plain

# ---- Other programs ----------------------------------------------------------------

mkfifo "$W/until"
etcd_ctl_lock() { # until something is written to $W/until
    ETCDCTL_API=3 exec etcdctl --endpoints "http://127.0.0.1:${ETCD_PORT[e1]}" \
        lock "lock:$1" --ttl 5 -- sh -c "echo in >'$W/ctl'; read -r x <'$W/until'"
}
has_ctl() { [ -s "$W/ctl" ]; }
rm -f "$W/ctl"
etcd_ctl_lock shared-name &
ctl=$!
ok 'etcdctl lock holds' wait_until 20 has_ctl
gives 75 'a try is refused' run -n shared-name -- true
begin after -w 60 shared-name
ok 'a waiter' wait_until 20 eval '[ "$(keys | grep -c "^lock:shared-name/")" = 2 ]'
is "$(holds after && echo held)" '' 'it waits'
echo x >"$W/until"
ok 'it is granted the lock when etcdctl has ended' wait_until 20 holds after
wait "$ctl" 2>/dev/null
rm -f "$W/ctl"
etcd_ctl_lock shared-name &
ctl=$!
ok 'etcdctl lock waits' wait_until 20 eval '[ "$(keys | grep -c "^lock:shared-name/")" = 2 ]'
is "$(has_ctl && echo held)" '' 'while we hold'
end after
ok 'then it holds' wait_until 20 has_ctl
echo x >"$W/until"
wait "$ctl" 2>/dev/null

# ---- Names -----------------------------------------------------------------------

long=$(printf '%1024s' '' | tr ' ' '\377')
for name in 'with space' 'a/b' 'a%2Fb' 'é' '%' "$long"; do
    begin odd "$name"
    ok "a name: ${name:0:9}" wait_until 20 holds odd
    gives 75 'it excludes' run -n "$name" -- true
    unlike "$(keys)" 'lock:[^/]*/[^/]*/' 'its key has one folder'
    end odd
    ok 'it is gone' wait_until 20 is_empty
done
begin below a/b
ok 'a/b is held' wait_until 20 holds below
gives 0 '... and a is free' run -n a -- true
gives 0 '... and a%2Fb is another name' run -n 'a%2Fb' -- true
end below

# ---- Locks that are broken ------------------------------------------------------------

begin holder -t 4s job
ok 'a holder' wait_until 20 holds holder
number=$(etcd_ctl get --prefix lock:job/ -w fields | sed -n 's/^"CreateRevision" : //p')
holdfast break job 2>"$W/break.err" &
breaker=$!
pids+=("$breaker")
has_note() { etcd_ctl get --prefix lock:job/ | grep -q '^4 [0-9a-f]\{32\}:.*:break$'; }
ok 'its entry gets a note' wait_until 20 has_note
is "$(etcd_ctl get --prefix lock:job/ -w fields | sed -n 's/^"CreateRevision" : //p')" \
    "$number" '... and keeps its number'
gives 75 'the name is not free yet' run -n job -- true
ok 'its command is ended' wait_until 8 is_over "$begun"
wait "$begun"
is "$?" 76 '... with exit 76'
wait "$breaker"
is "$?" 0 'then the break ends'
gives 0 'the name is free' run -n job -- true
begin holder -t 20s job
ok 'a holder' wait_until 20 holds holder
gives 0 'break --now' break --now job
gives 0 'frees the name at once' run -n job -- true
ok 'its command is ended with its next renewal' wait_until 20 is_over "$begun"
wait "$begun"
is "$?" 76 '... with exit 76'
begin holder -t 20s job
ok 'a holder' wait_until 20 holds holder
is_noted() { etcd_ctl get --prefix lock:job/ | grep -q ':break$'; }
capture timeout -s INT 2 holdfast break job
is "$code" 124 'a break is interrupted'
ok 'the note is taken away' eval '! is_noted'
end holder
ok 'nothing is left' wait_until 20 is_empty
rm -f "$W/ctl"
etcd_ctl_lock foreign &
ctl=$!
ok 'etcdctl lock holds' wait_until 20 has_ctl
gives 75 'it is not broken' break foreign
like "$err" 'only with --now' '... with the reason'
gives 0 '... but with --now' break --now foreign
gives 0 'the name is free' run -n foreign -- true
echo x >"$W/until"
wait "$ctl" 2>/dev/null

# ---- Locks that change hands ------------------------------------------------------------

read -r owner fence left < <(holdfast acquire -t 20s handed)
like "$owner $fence $left" '^[0-9a-f]{32}:.*@[0-9]+/20000 [0-9]+ 19\.' 'acquire prints an owner'
mine=$(lease_of handed)
isnt "$(etcd_ctl get --prefix lock:handed/ -w fields | sed -n 's/^"Lease" : //p')" \
    "$((16#$mine))" 'its key is under a lease of its own'
gives 75 'it is held' run -n handed -- true
gives 0 'extend' extend handed --owner "$owner" -t 30s
is "$(etcd_ctl get --prefix lock:handed/ | tail -n 1)" 30 '... puts it under a longer lease'
gives 76 'another owner' release handed --owner \
    "$(tr 0-9a-f 1-9a-f0 <<<"${owner:0:32}")${owner:32}"
gives 0 'release' release handed --owner "$owner"
gives 76 'it is released once' release handed --owner "$owner"
gives 0 'the name is free' run -n handed -- true
owner=$(holdfast acquire -t 2s handed)
ok 'a lock that nothing renews ends' wait_until 20 is_empty
gives 76 '... and is not extended' extend handed --owner "${owner%% *}"
gives 0 'a command ends before --min-hold' run --min-hold 3s kept -- true
gives 75 'the name is held' run -n kept -- true
gives 0 'its queue is shown' ls kept
ok 'the reservation ends by itself' wait_until 20 is_empty

# ---- Permits ------------------------------------------------------------------------------

begin p1 -p 2 sem
begin p2 -p 2 sem
ok 'a permit' wait_until 20 holds p1
ok 'another one' wait_until 20 holds p2
gives 75 'there are two' run -n -p 2 sem -- true
gives 64 'not three' run -n -p 3 sem -- true
like "$err" 'semaphore of 2 permits, not of 3' '... with the reason'
gives 75 'no exclusive lock beside them' run -n sem -- true
begin p3 -w 60 -p 2 sem
ok 'a third one waits' wait_until 20 eval '[ "$(keys | grep -c "p3:\|sem#")" -ge 4 ]'
end p1
ok 'it gets the permit that is free' wait_until 20 holds p3
end p2
end p3
ok 'nothing is left' wait_until 20 is_empty

# ---- A list ----------------------------------------------------------------------------

gives 0 'ls of nothing' ls
is "$out" '' '... is empty'
begin one 'x/y'
begin two plain
ok 'a holder' wait_until 20 holds one
ok 'another one' wait_until 20 holds two
gives 0 'ls' ls
like "$out" '(^|.)plain +exclusive' 'has a name'
like "$out" 'x/y +exclusive' '... as it was given'
end one
end two
put_many() { # FIRST LAST: names of other clients, in one transaction
    printf '\n'
    seq -f 'put lock:many-%05g/1-x30-0123456789abcdef0123456789abcdef:h:1:1764000000 ""' \
        "$1" "$2"
    printf '\n\n'
}
for ((i = 0; i < 25; i++)); do
    put_many $((i * 100)) $((i * 100 + 99)) | etcd_ctl txn >/dev/null
done
gives 0 'a list of several pages' ls --json
is "$(grep -c '"name":"many-' <<<"$out")" 2500 '... has each name'
is "$(grep -o '"name":"many-[0-9]*"' <<<"$out" | sort -u | wc -l)" 2500 '... once'
etcd_ctl del --prefix lock:many- >/dev/null

# ---- Several endpoints -------------------------------------------------------------

export HOLDFAST_URL="etcd://127.0.0.1:1,127.0.0.1:${ETCD_PORT[e1]},127.0.0.1:2?connect_timeout=5s"
for i in 1 2 3 4; do
    gives 0 "an endpoint that answers is found ($i)" run -n job -- true
done
finish
