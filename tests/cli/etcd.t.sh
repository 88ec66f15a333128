#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# Commands on a real etcd: exit codes, order, fences, dead holders, a lease that
# is revoked, a server that stands still, other programs' locks, odd names; locks
# that are broken, handed on, reserved; permits; lists.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/killed.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/ordered.sh"

have_etcd || skip_all 'no etcd'
KIND=etcd NODE=e1
keys() { etcd_ctl get --prefix '' --keys-only | grep -v '^$'; }
entries() { keys | grep "^lock:${1:+$1[/#]}"; }
field_of() { # FIELD KEY
    etcd_ctl get "$2" -w fields | sed -n "s/^\"$1\" : //p"
}
number_of() { field_of CreateRevision "$1"; }
first_entry() { # of those that are read: the least number
    local key
    while read -r key; do
        echo "$(number_of "$key") $key"
    done | sort -n | sed -n '1s/^[0-9]* //p'
}
session_of() { sed 's|^lock:[^/]*/\([0-9a-f]*\)-.*|\1|' <<<"$1"; }
session_end() { etcd_ctl lease revoke "$1" >/dev/null; }
entry_remove() { etcd_ctl del "$1" >/dev/null; }

# ---- The URL -------------------------------------------------------------------

refuses() { ordered_refuses "$@"; }
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

# ---- The server ----------------------------------------------------------------

etcd_start || { fail 'etcd starts'; finish; }
export HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s"
ordered_one 'etcd 3\.[0-9.]+, cluster [0-9a-f]+'
capture timeout 60 holdfast doctor
# Of Debian 12; a warning only where a cluster is named.
if [[ "$out" == *'etcd 3.4.23'* ]]; then
    like "$out" 'etcd issue 15247' 'doctor names what this version lacks'
    like "$out" 'etcd issue 12291' '... also where its clock is set back'
fi
ordered_server

# ---- A dead holder, and what others do meanwhile ---------------------------------

HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s&prefix=dead:"
ordered_dead_begin
killed_begin true -t 3s
HOLDFAST_URL="$ETCD_URL?node_timeout=3s&connect_timeout=5s"
ordered_order
ordered_lost
ordered_watched session
ordered_top
ordered_names
ordered_permits
ordered_list
ordered_break
ordered_handed
ordered_dead_end 1000 20000
killed_end 13000 # its lease has 3 s

begin holder nightly
ok 'a holder' wait_until 20 holds holder
key=$(entries nightly)
is "$(sed -n 's/^holder //p' "$W/held" | tail -n 1)" "$(number_of "$key")" \
    'the fence is the create_revision of its key'
like "$key" '^lock:nightly/[0-9a-f]+-x30-[0-9a-f]{32}:' 'the key names lease, mode, ttl and owner'
end holder
ok 'it is gone' wait_until 20 counts 0
begin below a/b
ok 'a/b is held' wait_until 20 holds below
like "$(keys)" '^lock:a%2Fb/[^/]+$' 'its key has one folder'
end below
ok 'nothing is left' wait_until 20 counts 0

# ---- A create that lands late --------------------------------------------------------
#
# While the server stands still, the connection of a client is given up with a create
# in it. Nothing orders that create before what is asked on the next connection: the
# client looks for what its lease holds. The key that is put here is such a create.

plain=$HOLDFAST_URL
export HOLDFAST_URL="$ETCD_URL?node_timeout=100ms&connect_timeout=5s"
begin other late-b
ok 'a holder' wait_until 20 holds other
begin both -t 60s -w 200 late-a late-b
ok 'a client with one lock waits for another' wait_until 20 counts 2 late-b
leases_of() { entries "$1" | sed 's|^[^/]*/\([0-9a-f]*\)-.*|\1|'; }
mine=$(leases_of late-a)
is "$mine" "$(leases_of late-b | grep -xF "$mine")" 'both are of one lease'
etcd_pause e1
paused=$(now_ms)
# A heartbeat is sent each 10 s, and given up after a second.
is_given_up() { [ $(($(now_ms) - paused)) -ge 12000 ]; }
ok 'its server stands still' wait_until 20 is_given_up
etcd_continue e1
owner="0123456789abcdef0123456789abcdef:host:1:1700000000"
etcd_ctl put "--lease=$mine" "lock:late-c/$mine-x60-$owner" '' >/dev/null
ok 'a create that lands late is removed' wait_until 40 counts 0 late-c
is "$(leases_of late-a)" "$mine" '... and nothing else is'
ok '... also in the queue' counts 2 late-b
end other
ok 'the waiter is granted both' wait_until 20 holds both
end both
HOLDFAST_URL=$plain

# ---- Other programs ----------------------------------------------------------------

etcd_ctl_lock() { # NAME
    ETCDCTL_API=3 exec etcdctl --endpoints "http://127.0.0.1:${ETCD_PORT[e1]}" \
        lock "lock:$1" --ttl 5 -- sh -c "$foreign_script"
}
ordered_foreign_begin 'etcdctl lock' etcd_ctl_lock
ordered_foreign_wait 'etcdctl lock'
ordered_foreign etcd_ctl_lock
ok 'etcdctl lock waits' wait_until 20 counts 2 foreign
is "$(has_foreign && echo held)" '' 'while we hold'
end after
ok 'then it holds' wait_until 20 has_foreign
gives 0 'break --now ends it' break --now foreign
gives 0 'the name is free' run -n foreign -- true
foreign_end
wait "$foreign" 2>/dev/null

# ---- Locks that are broken ------------------------------------------------------------

holder noted -t 12s job
ok 'a holder' wait_until 20 holds noted
key=$(entries job)
number=$(number_of "$key")
holdfast break job 2>"$W/break.err" &
breaker=$!
pids+=("$breaker")
has_note() { etcd_ctl get --prefix lock:job/ | grep -q '^12 [0-9a-f]\{32\}:.*:break$'; }
ok 'its entry gets a note' wait_until 20 has_note
is "$(number_of "$key")" "$number" '... and keeps its number'
gives 75 'the name is not free yet' run -n job -- true
ordered_ends noted 25 'it is broken'
wait "$breaker"
is "$?" 0 'then the break ends'
begin holder -t 20s job
ok 'a holder' wait_until 20 holds holder
is_noted() { etcd_ctl get --prefix lock:job/ | grep -q ':break$'; }
# In the foreground: else a SIGCONT follows, which undoes the SIGSTOP by which the
# leak check of a sanitizer stops a program at its end, and it waits for ever.
capture timeout --foreground -s INT 2 holdfast break job
is "$code" 124 'a break is interrupted'
ok 'the note is taken away' eval '! is_noted'
end holder
ok 'nothing is left' wait_until 20 counts 0

# ---- Locks that change hands ------------------------------------------------------------

read -r owner _ < <(holdfast acquire -t 20s handed)
key=$(entries handed)
isnt "$(field_of Lease "$key")" "$((16#$(session_of "$key")))" \
    'the key of a lock without a process is under a lease of its own'
gives 0 'extend' extend handed --owner "$owner" -t 30s
is "$(etcd_ctl get "$key" --print-value-only)" 30 '... puts it under a longer lease'
gives 0 'release' release handed --owner "$owner"
owner=$(holdfast acquire -t 2s handed)
ok 'a lock that nothing renews ends' wait_until 20 counts 0
gives 76 '... and is not extended' extend handed --owner "${owner%% *}"
gives 0 'a command ends before --min-hold' run --min-hold 3s kept -- true
gives 75 'the name is held' run -n kept -- true
gives 0 'its queue is shown' ls kept
ok 'the reservation ends by itself' wait_until 20 counts 0

# ---- A queue ------------------------------------------------------------------------------

# Of a new entry's queue three are in the reply, and the others are counted.
begin holder -t 60s queue
queued=("$begun")
ok 'a holder' wait_until 20 holds holder
for i in 0 1 2 3 4; do
    begin "w$i" -t 60s -w 120 queue
    queued+=("$begun")
    ok "waiter $i has a place" wait_until 20 is_queued "w$i"
    is "$(grep -om 1 '"ahead":[0-9]*' "$W/events.w$i")" "\"ahead\":$((i + 1))" \
        '... and all before it are counted'
done
for i in holder w0 w1 w2 w3 w4; do
    ok "$i has its turn" wait_until 20 holds "$i"
    end "$i"
done
wait "${queued[@]}"
is "$(sed -n 's/^\(w[0-9]\|holder\) .*/\1/p' "$W/held" | tail -n 6 | xargs)" \
    'holder w0 w1 w2 w3 w4' 'in order'

# ---- A list of several pages -----------------------------------------------------------

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

# ---- A server that takes few operations in a transaction -----------------------------------

ETCD_ARGS=(--max-txn-ops 4)
ok 'the server starts again, with a small --max-txn-ops' etcd_restart e1
mapfile -t forty < <(seq -f 'few-%g' 40)
gives 0 'many locks of one ttl are renewed' run -t 10s "${forty[@]}" -- sleep 11
ETCD_ARGS=(--max-txn-ops 1)
ok 'the server starts again, with one that is too small' etcd_restart e1
gives 69 '... it makes no lock' run -n few -- true
like "$err" 'max-txn-ops' '... and the message names the setting'
ETCD_ARGS=()
ok 'the server starts again' etcd_restart e1

# ---- Several endpoints -------------------------------------------------------------

ordered_endpoints "etcd://127.0.0.1:1,127.0.0.1:${ETCD_PORT[e1]},127.0.0.1:2?connect_timeout=5s"
finish
