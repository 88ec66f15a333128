#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proofs that a server still has all locks: its marker, its disk, a host
# that has watched it for max_ttl, and the operator. Uptime and wall clocks
# prove nothing: each of these servers reports an uptime of two hours.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

query='?max_ttl=10s'

# A server that started two hours ago, by its own clock.
start_old() { # NAME [OPTION...]
    local name=$1
    shift
    head -c 16 /dev/zero >"$W/$name.clock"
    SERVER_CLOCK[$name]=$W/$name.clock
    server_clock "$name" 0
    server_start "$name" --clock "$@"
    server_clock "$name" 7200
    wait_until 5 is_old "$name"
}

is_old() {
    server_cli "$1" info server | grep -q 'uptime_in_seconds:7[2-9]'
}

hold() { # URL
    capture holdfast acquire -t 9s -u "$1" held
    owner=${out%% *}
    [ "$code" = 0 ]
}

refused() { # URL TITLE
    capture holdfast run -n -t 5s -u "$1" held -- echo overlap
    is "$code:$out" 69: "$2"
}

# ---- Watching begins here, and ends below ------------------------------------

server_start watched
watched=${SERVER_URL[watched]}$query
capture holdfast run -n -t 5s -u "$watched" x -- echo ran
began=$(now_ms)
is "$code:$out" 69: 'no trace of Holdfast: no vote'
like "$err" 'watched/s shows no trace of Holdfast \(new, restarted or emptied\): locks from before may still be held, so it counts in ([5-9]|10) s$' \
    'the line says so, claims no uptime, and proposes nothing'
is "$(server_cli watched hkeys hf:node | grep -c '^at:')" 1 \
    'a -n that exits 69 has written its host'
capture holdfast run -n -t 5s -u "$watched" x -- echo ran
like "$code:$err" '^69:.* is being watched .* so it counts in ([1-9]|10) s' \
    'the next command reads it'
is "$(server_cli watched hkeys hf:node | grep -c '^at:')" 1 \
    'one host, one entry'

# ---- A flushed server is not new to a fresh command ---------------------------

ok 'a server of two hours' start_old flushed
flushed=${SERVER_URL[flushed]}$query
servers_declare "$flushed"
ok 'declared, it grants' hold "$flushed"
server_cli flushed flushall >/dev/null
refused "$flushed" 'flushed, to a command that never met it: no vote'
server_stop flushed

# ---- A wall clock that is set right after an empty restart ----------------------

ok 'a server of two hours' start_old wrong
wrong=${SERVER_URL[wrong]}$query
servers_declare "$wrong"
ok 'declared, it grants' hold "$wrong"
server_kill wrong
server_clock wrong 0
server_restart wrong
server_clock wrong 7200
ok 'restarted empty, and its clock leaps' wait_until 5 is_old wrong
refused "$wrong" 'a clock set right after the restart: no vote'
server_stop wrong

# ---- A replica of two hours is promoted, and the address moves --------------------

server_start primary --tcp
ok 'a replica of two hours' start_old replica
moved=redis://127.0.0.1:${SERVER_PORT[primary]}$query
servers_declare "$moved"
server_cli replica replicaof 127.0.0.1 "${SERVER_PORT[primary]}" >/dev/null
has_link() {
    server_cli replica info replication | grep -q master_link_status:up
}
has_marker() {
    [ "$(server_cli replica exists hf:node)" = 1 ]
}
ok 'it follows' wait_until 10 has_link
ok 'and has the marker' wait_until 10 has_marker
server_cli replica replicaof no one >/dev/null # before it hears of the lock
ok 'the primary grants' hold "$moved"
refused "${SERVER_URL[replica]}$query" 'promoted: no vote inside the old lease'
like "$err" 'was restarted or promoted since Holdfast last knew it' \
    'and the reason'
# The old primary never restarted, so its marker names it. docs/caveats.md has
# this limit.
capture holdfast run -n -t 5s -u "$moved" held -- echo overlap
is "$code" 75 'the old primary names itself, and votes'
server_stop replica
server_stop primary

# ---- Durable is all of it, then and now ------------------------------------------

durable() { # TITLE CODE BEFORE-ARGS... -- AFTER-ARGS...
    local title=$1 want=$2 before=()
    shift 2
    while [ "$1" != -- ]; do
        before+=("$1")
        shift
    done
    shift
    server_start disk --aof always -- "${before[@]}"
    local url=${SERVER_URL[disk]}$query
    servers_declare "$url"
    hold "$url" || fail "$title: granted before"
    [ -z "${change:-}" ] || server_cli disk config set $change >/dev/null
    [ -z "${look:-}" ] || holdfast ls -u "$url" >/dev/null
    server_kill disk
    SERVER_ARGS[disk]="--appendonly yes --appendfsync always $*"
    server_restart disk
    capture holdfast run -n -t 5s -u "$url" held -- echo overlap
    is "$code:$out" "$want:" "$title"
    server_stop disk
    rm -rf "$W/disk"
}
durable 'synced at every write: the lock is still there' 75 --
durable 'no sync during a rewrite, before: no vote' 69 \
    --no-appendfsync-on-rewrite yes --
durable 'no sync during a rewrite, after: no vote' 69 -- \
    --no-appendfsync-on-rewrite yes
durable 'no right to ask: no vote' 69 --rename-command CONFIG none -- \
    --rename-command CONFIG none
change='appendfsync everysec' look=1 durable \
    'set to everysec while it ran, seen by the next command: no vote' 69 --
change='no-appendfsync-on-rewrite yes' look=1 durable \
    'set not to sync during a rewrite, likewise: no vote' 69 --

# ---- A replica's files, started as the primary -----------------------------------

# Its run id is new, like that of the primary after a restart.
server_start primary --tcp --aof always
server_start replica --aof always
copied=redis://127.0.0.1:${SERVER_PORT[primary]}$query
servers_declare "$copied"
server_cli replica replicaof 127.0.0.1 "${SERVER_PORT[primary]}" >/dev/null
ok 'a replica of a durable server follows' wait_until 10 has_link
ok 'and has the marker' wait_until 10 has_marker
capture holdfast run -n -t 5s -u "$copied" other -- echo ran
is "$code:$out" 0:ran 'the primary grants'
capture holdfast doctor -u "$copied"
unlike "$out" 'a restart loses nothing' 'doctor does not call it durable'
like "$out" 'has replicas' 'and says why'
has_other() { # it has all that came before
    [ "$(server_cli replica get "hf:{lock:other}:fence")" = \
        "$(server_cli primary get "hf:{lock:other}:fence")" ]
}
ok 'the replica is up to date' wait_until 10 has_other
server_pause replica
ok 'the primary grants a lock that the replica does not get' hold "$copied"
server_kill primary
server_kill replica
cp -r "$W/replica/appendonlydir" "$W/replica.files"
rm -rf "$W/primary/appendonlydir"
mv "$W/replica.files" "$W/primary/appendonlydir"
server_restart primary
is "$(server_cli primary exists lock:held)" 0 'its files have lost the lock'
refused "$copied" 'the files of a replica on the address of its primary: no vote'
server_stop primary

# ---- Databases that change places --------------------------------------------------

server_start swapped --tcp
first=${SERVER_URL[swapped]}$query
second=${SERVER_URL[swapped]}/1$query
servers_declare "$first"
servers_declare "$second"
ok 'database 0 grants' hold "$first"
capture holdfast run -n -t 5s -u "$second" held -- echo ran
is "$code:$out" 0:ran 'database 1 has other locks'
is "$(server_cli swapped swapdb 0 1)" OK 'the databases change places'
refused "$first" 'a marker of database 1 in database 0: no vote'
refused "$second" 'and the reverse'
like "$err" 'was restarted or promoted since|being watched|database' 'and the reason'
capture holdfast extend -t 9s -u "$first" held --owner "$owner"
unlike "$code" '^0$' 'the holder of before learns it'
is "$(server_cli swapped swapdb 0 1)" OK 'and back'
refused "$second" 'no vote until it has been watched'
server_cli swapped flushall >/dev/null
servers_declare "$first"
servers_declare "$second"
is "$(server_cli swapped hget hf:node db)" 0 'the marker names its database'
is "$(server_cli swapped -n 1 hget hf:node db)" 1 'so does the other one'
# One of before this release names none. It still counts, and is completed.
server_cli swapped hdel hf:node db >/dev/null
capture holdfast run -n -t 5s -u "$first" held -- echo ran
is "$code:$out" 0:ran 'a marker of an older release counts'
is "$(server_cli swapped hget hf:node db)" 0 'and gets its database'
server_stop swapped

# ---- A span after it was first seen, the host's own entry ends it -------------------

is_past() {
    [ $(($(now_ms) - began)) -ge "$1" ]
}
# The second of these namespaces may get the inode of the first one, which has
# ended, but its clock is another.
on_clock() { # OFFSET COMMAND...
    unshare -fT --boottime "$@"
}
if on_clock 100000 true 2>/dev/null; then
    hosts=1
    for offset in 100000 200000; do
        capture on_clock "$offset" holdfast run -n -t 5s -u "$watched" x -- echo ran
        is "$code:$out" 69: \
            "a host with another start of its clock watches for itself: $offset"
        is "$(server_cli watched hkeys hf:node | grep -c '^at:')" $((++hosts)) \
            "under a name of its own: $offset"
    done
else
    skip 'another time namespace' 'not permitted here'
fi
if ! is_past 5000; then
    capture holdfast run -n -t 5s -u "$watched" x -- echo ran
    is "$code:$out" 69: 'not before the span is over'
fi
ok 'ten seconds later' wait_until 15 is_past 10100
capture holdfast run -n -t 5s -u "$watched" x -- echo ran
is "$code:$out" 0:ran 'commands that ran for a moment have watched it'
is "$(server_cli watched hget hf:node whole)" 1 'and it is whole for all'
is "$(server_cli watched hkeys hf:node | grep -c '^at:')" 0 'no host is kept'
if on_clock 100000 true 2>/dev/null; then
    capture on_clock 100000 holdfast run -n -t 5s -u "$watched" x -- echo ran
    is "$code:$out" 0:ran 'for the other hosts, too'
fi

# ---- All clients of a store say the same --------------------------------------------

capture holdfast run -n -t 5s -u "$watched&fence_keep=2h" x -- echo ran
is "$code:$out" 78: 'another fence_keep is refused'
like "$err" 'fence_keep=1h, this client says 2h' 'with both values'
capture holdfast run -n -t 5s -u "${SERVER_URL[watched]}?max_ttl=1s&fence_keep=2s" \
    x -- echo ran
like "$code:$err" '^64:.*"2s" is not from 10s' 'fence_keep of two seconds: no'
finish
