#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Commands on a real ZooKeeper: exit codes, order, fences, dead holders, a session
# that is ended, a server that stands still, kazoo's locks, odd names; locks that
# are broken; permits; lists; what an entry that ends with its session cannot do.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/killed.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/ordered.sh"

have_zookeeper || skip_all 'no ZooKeeper'
KIND=zookeeper NODE=z1
entries() {
    zookeeper_nodes | grep "^/lock:${1:+$1[/#]}" | grep -v '^/lock:%sessions/'
}
first_entry() { sed 's/\(.*\)\(.\{10\}\)$/\2 &/' | sort | sed -n '1s/^[^ ]* //p'; }
session_of() { zookeeper_session "$1"; }
session_end() { zookeeper_do expire "$1"; }
entry_remove() { zookeeper_do delete "$1"; }

# ---- The URL -------------------------------------------------------------------

refuses() { ordered_refuses "$@"; }
refuses 64 'write zookeeper://HOST:PORT,HOST:PORT' 'no host' 'zookeeper://'
refuses 64 'write zookeeper://HOST:PORT,HOST:PORT' 'a port' 'zookeeper://h:99999'
refuses 64 'a password needs a user' 'no user' 'zookeeper://:secret@h'
refuses 64 'user u needs a password' 'no password' 'zookeeper://u@h'
refuses 64 'write zookeeper://HOST:PORT,HOST:PORT' 'an @ in a password' \
    'zookeeper://u:se@secret@h'
refuses 64 'tls_ca is given, but a zookeeper: store is not reached over TLS' \
    'TLS' 'zookeeper://h?tls_ca=/ca.crt'
refuses 64 'unknown URL parameter "databse"' 'an unknown parameter' \
    'zookeeper://h?databse=1'
refuses 69 '127.0.0.1:1.*' 'no server' 'zookeeper://127.0.0.1:1'
capture ldd "$HF_BUILD/holdfast"
unlike "$out" 'zookeeper' 'the command is not linked with the client library'

# ---- The server ----------------------------------------------------------------

zookeeper_start || { fail 'ZooKeeper starts'; finish; }
url="$ZOOKEEPER_URL?node_timeout=3s&connect_timeout=5s"
export HOLDFAST_URL="$url&prefix=dead:"
ordered_dead_begin
killed_begin true -t 3s
HOLDFAST_URL=$url
ordered_one 'ZooKeeper'
ordered_order
ordered_lost
ordered_watched entry
ordered_top
ordered_names
ordered_permits
ordered_list
ordered_break
ordered_dead_end 3000 12000
killed_end 14500 # its session has 4.5 s

begin holder -t 30s nightly
ok 'a holder' wait_until 20 holds holder
key=$(entries nightly)
like "$key" '^/lock:nightly/[0-9a-f]+-x30-[0-9a-f]{32}:.*-lock-[0-9]{10}$' \
    'the node names session, mode, ttl and owner'
fence=$(sed -n 's/^holder //p' "$W/held" | tail -n 1)
ok 'the fence is at most the czxid of the node' \
    [ "$fence" -le "$(zookeeper_do stat "$key" czxid)" ]
end holder
ok 'nothing is left' wait_until 20 counts 0

# ---- kazoo ----------------------------------------------------------------------

mkfifo "$W/until"
kazoo() { # WHAT NAME [PATTERN]: until something is written to $W/until
    : >"$W/kazoo"
    zookeeper_do "$1" "/lock:$2" "${@:3}" <>"$W/until" >"$W/kazoo" 2>&1 &
    kazoo=$!
}
has_kazoo() { grep -q "$1" "$W/kazoo"; }
kazoo lock foreign
ok "kazoo's Lock holds" wait_until 20 has_kazoo held
gives 75 'a try is refused' run -n foreign -- true
gives 0 'it is listed' ls foreign
gives 75 'it is not broken' break foreign
like "$err" 'only with --now' '... with the reason'
begin after -w 60 foreign
ok 'a waiter' wait_until 20 counts 2 foreign
is "$(holds after && echo held)" '' 'it waits'
echo x >"$W/until"
ok "it is granted the lock when kazoo's has ended" wait_until 20 holds after
wait "$kazoo"
kazoo try foreign -lock-
wait "$kazoo"
ok "kazoo's Lock with the pattern -lock- is refused while we hold" has_kazoo busy
kazoo lock foreign -lock-
ok '... or waits' wait_until 20 counts 2 foreign
is "$(has_kazoo held && echo held)" '' '... and does not hold'
end after
ok 'it holds when we have ended' wait_until 20 has_kazoo held
echo x >"$W/until"
wait "$kazoo"
kazoo lock foreign
ok "kazoo's Lock holds" wait_until 20 has_kazoo held
gives 0 'break --now ends it' break --now foreign
gives 0 'the name is free' run -n foreign -- true
echo x >"$W/until"
wait "$kazoo"

# ---- A chroot, a login ---------------------------------------------------------------

begin below -u "$ZOOKEEPER_URL/a/b" below
ok 'a chroot that is not there is made' wait_until 20 holds below
like "$(zookeeper_nodes)" '/a/b/lock:below/' '... with the lock below it'
end below
secret=zookeeper://worker:secret@${ZOOKEEPER_URL#*//}
begin private -u "$secret/private" private
ok 'a holder with a login' wait_until 20 holds private
gives 75 'another one with that login' run -n -u "$secret/private" private -- true
capture timeout 20 holdfast run -n -u "${secret/secret/wrong}/private" private -- echo ran
is "$code" 77 'none with another password'
is "$out" '' '... and nothing runs'
unlike "$err" 'secret|wrong' '... which is not shown'
gives 77 'none without a login' run -n -u "$ZOOKEEPER_URL/private" private -- true
capture timeout 20 holdfast doctor -u "${secret/secret/wrong}/private"
isnt "$code" 0 'doctor: not fit'
like "$out$err" 'right' '... for want of a right'
end private

# ---- What it lacks ------------------------------------------------------------------

gives 78 'a lock without its process is refused' acquire -t 20s handed
like "$err" 'ends with the process' '... with the reason'
gives 78 'a reservation is refused' run --min-hold 3s kept -- echo ran
like "$err" 'ends with the session' '... with the reason'
unlike "$out" ran '... and nothing runs'
sleep 1000 &
process=$!
pids+=("$process")
gives 0 'a lock of another process' acquire -t 6s --while-pid "$process" while
gives 75 'it is held' run -n while -- true
kill "$process"
gives 0 '... until that ends' run -w 15 while -- true
ok 'nothing is left' wait_until 20 counts 0
gives 78 'a ttl beyond the longest session is refused' \
    run -u "$url&max_ttl=200s" -t 100s long -- true
like "$err" 'maxSessionTimeout' '... with the reason'

# ---- A holder stands still -----------------------------------------------------------

# For more than a third of its session of 27 s, but not as long as its lease: it has
# to connect again before it renews, as the leader may not have heard of it since.
begin paused -v -t 18s paused
ok 'a holder' wait_until 20 holds paused
renewals() { grep -c '"event":"renewed"' "$W/events.paused"; }
has_renewed() { [ "$(renewals)" -gt "$1" ]; }
ok 'it renews' wait_until 20 has_renewed 0
session=$(zookeeper_session "$(zookeeper_nodes | grep '^/lock:paused/')")
connection() { # its address
    zookeeper_say z1 cons | sed -n "s,^ */\([0-9.:]*\)\[.*sid=$session\,.*,\1,p"
}
before=$(connection)
isnt "$before" '' 'it has a connection'
mapfile -t children < <(pgrep -P "$begun")
n=$(renewals)
kill -STOP "${children[@]}" "$begun"
stopped=$(now_ms)
is_time() { [ $(($(now_ms) - stopped)) -ge 10000 ]; }
ok 'it stands still for 10 s' wait_until 10 is_time
kill -CONT "${children[@]}" "$begun"
ok 'it renews again' wait_until 10 has_renewed "$n"
isnt "$(connection)" "$before" '... on another connection'
is "$(has_said paused lost && echo lost)" '' '... and is not lost'
end paused

# ---- The server stands still, and is killed ----------------------------------------------

ordered_server

# ---- A server that takes few connections of one address -------------------------------------

ZOOKEEPER_LINES=(maxClientCnxns=6)
ok 'the server starts again, with a small maxClientCnxns' zookeeper_restart z1
for i in 1 2 3; do
    begin "few$i" -t 60s "few$i"
    ok "a command with two connections: $i" wait_until 20 holds "few$i"
done
gives 69 'there is none left' run -n few -- true
like "$err" 'refuses a session .*maxClientCnxns' '... and the message names the setting'
for i in 1 2 3; do
    end "few$i"
done
ZOOKEEPER_LINES=()
ok 'the server starts again' zookeeper_restart z1
ordered_endpoints "zookeeper://127.0.0.1:1,127.0.0.1:${ZOOKEEPER_PORT[z1]},127.0.0.1:2?connect_timeout=5s"
finish
