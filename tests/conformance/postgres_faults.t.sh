#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# Faults of a real PostgreSQL server: sessions that are ended, commits with
# a lost reply, a crash, a server that stands still, another time-line.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"

postgres_start -c fsync=on
export HOLDFAST_URL="postgres://postgres@/postgres?host=$PGHOST&connect_timeout=5s&max_ttl=20s"
capture timeout 60 holdfast doctor --init
is "$code" 0 'the server counts'
pg -c 'ALTER ROLE postgres SET synchronous_commit = off'
capture timeout 60 holdfast doctor
unlike "$out$err" 'commits may be lost' \
    "synchronous_commit=off of a role is raised in the client's sessions"
pg -c 'ALTER ROLE postgres RESET synchronous_commit'

# ---- Steps ----------------------------------------------------------------------

runs=()
end_runs() {
    kill "${runs[@]}" 2>/dev/null
    wait "${runs[@]}" 2>/dev/null
}
at_exit end_runs

# A holder: its command ends when $W/NAME.end exists. Its code is in $W/NAME.code.
# shellcheck disable=SC2016 # the command's own variables
hold() { # NAME [ARG...]
    local name=$1
    shift
    rm -f "$W/$name."*
    {
        holdfast run "$@" "$name" -- bash -c 'echo "$HOLDFAST_FENCE" >"$0.tmp"
            mv "$0.tmp" "$0.fence"
            until [ -e "$0.end" ]; do sleep 0.02; done' "$W/$name" \
            2>"$W/$name.err"
        echo $? >"$W/$name.code"
    } &
    runs+=($!)
}
is_held() { [ -e "$W/$1.fence" ]; }
has_ended() { [ -s "$W/$1.code" ]; }
fence_of() { cat "$W/$1.fence"; }
let_end() { # NAME
    touch "$W/$1.end"
    wait_until 20 has_ended "$1"
    cat "$W/$1.code"
}
refused() { # NAME
    capture timeout 60 holdfast run -n "$1" -- echo ran
    [ "$code" = 75 ]
}
waits() { # NAME
    pg_is "EXISTS (SELECT FROM holdfast.waiter WHERE name = 'lock:$1'
        AND channel <> '')"
}
# The sessions of the command, by its application_name.
sessions="FROM pg_stat_activity WHERE application_name = 'holdfast'"

# ---- Sessions that are ended -------------------------------------------------------

hold ended --ttl 5
ok 'held' wait_until 20 is_held ended
first=$(fence_of ended)
pg -c "SELECT pg_terminate_backend(pid) $sessions" >/dev/null
ok 'the holder has a session again' wait_until 20 pg_is "EXISTS (SELECT $sessions)"
ok 'a session that is ended does not end the lock' refused ended
is "$(let_end ended)" 0 'the holder runs to its end'
capture holdfast run -n ended -- sh -c 'echo "$HOLDFAST_FENCE"'
ok 'and has released it' test "$out" -gt "$first"

hold busy --ttl 5
ok 'held' wait_until 20 is_held busy
holdfast run busy -- echo after >"$W/after" &
waiter=$!
ok 'a waiter listens' wait_until 20 waits busy
pg -c "SELECT pg_terminate_backend(pid) $sessions" >/dev/null
ok 'the waiter is in the queue again, and listens' wait_until 20 waits busy
let_end busy >/dev/null
ok 'the waiter runs' wait $waiter
is "$(cat "$W/after")" after 'after its session had been ended'

# ---- Commits with a lost reply -------------------------------------------------------

# A commit waits for a standby that does not exist. It is done at this server,
# but its reply is missing: the client must not count it, and must not count it
# as a refusal either.
in_commit="$sessions AND wait_event = 'SyncRep'"
lost_reply() { # TITLE FUNCTION
    pg_sync_is absent
    {
        timeout 60 holdfast run -vv --ttl 10 -w 20 "lost-$2" -- sh -c 'echo ran' >"$W/lost.out" 2>"$W/lost.err"
        echo $? >"$W/lost.code"
    } &
    runs+=($!)
    ok "$1: the commit waits" wait_until 20 pg_is "EXISTS (SELECT $in_commit)"
    is "$(cat "$W/lost.out")" '' "$1: an answer does not count before its commit"
    pg -c "SELECT $2(pid) $in_commit" >/dev/null
    pg_sync_is ''
    wait $!
    is "$(cat "$W/lost.code"):$(cat "$W/lost.out")" '0:ran' \
        "$1: asked again, and granted"
    like "$(cat "$W/lost.err")" 'acquire at [^:]*: no answer' \
        "$1: the first answer is unknown"
    unlike "$(cat "$W/lost.err")" 'acquire at [^:]*: refused' \
        "$1: and no refusal"
}
lost_reply 'a connection that is cut during the commit' pg_terminate_backend
lost_reply 'a wait for a standby that is cancelled' pg_cancel_backend

# The sessions that docs/stores.md says how to see and to end.
pg_sync_is absent
holdfast doctor >"$W/doctor.out" 2>&1 &
doctor=$!
runs+=("$doctor")
ok 'the commit of a doctor waits' wait_until 20 pg_is "EXISTS (SELECT $in_commit)"
kill "$doctor"
wait "$doctor"
ok '... also when its client has gone' pg_is "EXISTS (SELECT $in_commit)"
cancel=$(sed -n '/^SELECT pg_cancel_backend/,/;$/p' "$HF_SOURCE/docs/stores.md")
is_cancelled() { pg -c "$cancel" >/dev/null && pg_is "NOT EXISTS (SELECT $sessions)"; }
ok '... until it is cancelled, as the manual says' wait_until 20 is_cancelled
pg_sync_is ''

# ---- A row that stays locked -----------------------------------------------------------

holdfast run -n locked -- true
session_open other
session_do other "BEGIN; SELECT FROM holdfast.lock WHERE name = 'lock:locked' FOR UPDATE"
capture timeout 60 holdfast run -n locked -- echo ran
is "$code:$out" 69: 'a locked row: not acquired, and no refusal'
like "$err" '55P03|does not answer|no answer|not.* in time' 'a locked row: the reason'
session_do other 'COMMIT'
capture timeout 60 holdfast run -n locked -- echo ran
is "$code:$out" 0:ran 'acquired when it is unlocked'
session_do other "BEGIN; SELECT FROM holdfast.lock WHERE name = 'lock:locked' FOR UPDATE"
holdfast run -vv -w 60 locked -- echo ran >"$W/locked.out" 2>"$W/locked.err" &
ok 'a waiter meets the locked row' wait_until 20 grep -q 55P03 "$W/locked.err"
session_do other 'COMMIT'
wait $!
is "$?:$(cat "$W/locked.out")" 0:ran 'and acquires it when it is unlocked'
unlike "$(cat "$W/locked.err")" 42P05 'no statement is prepared twice'

# ---- A crash, with every commit on disk ---------------------------------------------------

hold crash --ttl 20
ok 'held' wait_until 20 is_held crash
first=$(fence_of crash)
holdfast run crash -- sh -c 'echo "$HOLDFAST_FENCE"' >"$W/after" &
waiter=$!
ok 'a waiter listens' wait_until 20 waits crash
postgres_crash
ok 'the server starts again' postgres_restart -c fsync=on
ok 'the waiter has its place again' wait_until 20 waits crash
ok 'the lock is still held' refused crash
is "$(let_end crash)" 0 'the holder has kept it, and runs to its end'
ok 'the waiter runs' wait $waiter
ok 'with a greater fence' test "$(cat "$W/after")" -gt "$first"

# ---- A crash that empties a table ----------------------------------------------------------

# One killed backend is enough: the server stays, and empties the table.
ok 'held' holdfast acquire --ttl 20 unlogged
pg -c 'ALTER TABLE holdfast.lock SET UNLOGGED'
session_open victim
session_do victim 'SELECT pg_backend_pid()'
kill -KILL "$got"
is_emptied() { pg_is 'NOT EXISTS (SELECT FROM holdfast.lock)'; } 2>/dev/null
ok 'a backend is killed, and the table is empty' wait_until 60 is_emptied
capture timeout 60 holdfast run -n unlogged -- echo ran
is "$code:$out" 78: 'a table is UNLOGGED: the server is refused'
remedy='ALTER TABLE holdfast.lock SET LOGGED' declare='holdfast doctor --quarantine all'
like "$err" "keeps holdfast.lock UNLOGGED.*: $remedy, then $declare\$" \
    'and the message has the remedy'
capture timeout 60 holdfast doctor
is "$code" 2 'doctor refuses it, too'
like "$out" "$remedy, then $declare" 'with the remedy'
pg -c "$remedy"
capture timeout 60 $declare
is "$code" 0 'the remedy'
capture timeout 60 holdfast run -n unlogged -- echo ran
is "$code:$out" 69: '... after which it does not count'
like "$err" 'locks from before may still be held' 'and says why'
capture timeout 60 holdfast doctor --init
is "$code" 0 'until it is declared'

# ---- A server that stands still ------------------------------------------------------------

hold still --ttl 2
ok 'held' wait_until 20 is_held still
first=$(fence_of still)
postgres_freeze
ok 'past the lease, the holder is ended' wait_until 20 has_ended still
is "$(cat "$W/still.code")" 76 'as lost'
postgres_thaw
capture timeout 60 holdfast run -w 30 still -- sh -c 'echo "$HOLDFAST_FENCE"'
ok 'then another holder has it, with a greater fence' test "$out" -gt "$first"

# ---- The schema is gone ----------------------------------------------------------------------

holdfast run -n dropped -- true
hold dropped --ttl 2
ok 'held' wait_until 20 is_held dropped
pg -c 'SET client_min_messages = error; DROP SCHEMA holdfast CASCADE'
capture timeout 60 holdfast run -n dropped -- echo ran
is "$code:$out" 69: 'the new schema does not count: nothing is granted twice'
like "$err" 'locks from before may still be held' 'and says why'
touch "$W/dropped.end"
ok 'the holder ends' wait_until 20 has_ended dropped
capture timeout 60 holdfast doctor --init
is "$code" 0 'until it is declared'

# ---- A crash, with commits that may be lost ---------------------------------------------------

postgres_crash
ok 'the server starts again, without fsync' postgres_restart -c fsync=off
capture timeout 60 holdfast run -n crash -- echo ran
is "$code:$out" 69: 'it does not count'
like "$err" 'locks from before may still be held' 'and says why'
capture timeout 60 holdfast doctor --init
is "$code" 0 'until it is declared'

# ---- A dump that is restored ----------------------------------------------------------------

pg -c 'CREATE DATABASE dumped'
dumped_url=${HOLDFAST_URL/@\/postgres/@\/dumped}
capture timeout 60 holdfast doctor --init -u "$dumped_url"
is "$code" 0 'another database counts'
capture timeout 60 holdfast run -n -u "$dumped_url" job -- echo ran
is "$code:$out" 0:ran 'and grants'
"$PG_BIN/pg_dump" -U postgres dumped >"$W/dump.sql"
pg -c 'DROP DATABASE dumped WITH (FORCE)'
pg -c 'CREATE DATABASE dumped'
psql -XAtq -U postgres -d dumped -f "$W/dump.sql" >>"$W/pg.log" 2>&1
capture timeout 60 holdfast run -n -u "$dumped_url" job -- echo ran
is "$code:$out" 69: 'its dump, restored, does not count'
like "$err" 'locks from before may still be held' 'and says why'

capture timeout 60 holdfast doctor --init -u "$dumped_url"
is "$code" 0 'until it is declared'

# The tables stay, and have the marker of the dump again.
"$PG_BIN/pg_dump" -U postgres -a dumped >"$W/data.sql"
ok 'held after a dump' holdfast acquire --ttl 20 -u "$dumped_url" later
capture psql -XAtq -U postgres -d dumped -v ON_ERROR_STOP=1 -c 'TRUNCATE holdfast.lock,
    holdfast.sharer, holdfast.waiter, holdfast.once, holdfast.node, holdfast.value,
    holdfast.version' -f "$W/data.sql"
is "$code:$err" 0: 'its rows alone are restored'
capture timeout 60 holdfast run -n -u "$dumped_url" later -- echo ran
is "$code:$out" 69: 'they do not count'
like "$err" 'locks from before may still be held' 'and says why'

# A server that lost its data under a job denies the release, which proves nothing.
holdfast doctor --init --force -q -u "$dumped_url" >/dev/null
capture timeout 60 holdfast run -t 20 -u "$dumped_url" emptied -- \
    psql -XAtq -U postgres -d dumped -c 'TRUNCATE holdfast.lock, holdfast.node'
is "$code:$err" 0: 'emptied under a job: it is not reported as overlapped'

# ---- Another time-line -------------------------------------------------------------------------

hold promoted --ttl 10
ok 'held' wait_until 20 is_held promoted
first=$(fence_of promoted)
(cd "$PGHOST" && as_database_user postgres "$PG_BIN/pg_basebackup" -D "$PGHOST/standby" \
    -U postgres -R -c fast) >>"$W/pg.log" 2>&1
mkdir -m 711 "$PGHOST/of-standby"
[ "$(id -u)" != 0 ] || chown postgres:postgres "$PGHOST/of-standby"
(cd "$PGHOST" && as_database_user postgres "$PG_BIN/postgres" -D "$PGHOST/standby" \
    -c listen_addresses= -c unix_socket_directories="$PGHOST/of-standby" \
    -c fsync=off -c shared_buffers=16MB) >>"$W/pg.log" 2>&1 </dev/null &
standby=$!
stop_standby() {
    kill -QUIT $standby 2>/dev/null
    wait $standby 2>/dev/null
}
at_exit stop_standby
ok 'a standby' wait_until 20 "$PG_BIN/pg_isready" -q -h "$PGHOST/of-standby"
standby_url=${HOLDFAST_URL/host=$PGHOST/host=$PGHOST/of-standby}
capture timeout 60 holdfast run -n -u "$standby_url" promoted -- echo ran
is "$code" 78 'a standby is refused'
like "$err" 'is a standby' 'and named as one'
psql -XAtq -h "$PGHOST/of-standby" -U postgres -c 'SELECT pg_promote()' >/dev/null
capture timeout 60 holdfast run -n -u "$standby_url" promoted -- echo ran
is "$code:$out" 69: 'a promoted standby does not count'
like "$err" 'restarted, restored or promoted|locks from before' 'and says why'
capture timeout 100 holdfast run -w 80 -u "$standby_url" promoted -- \
    sh -c 'echo "$HOLDFAST_FENCE"'
ok 'after the longest lease it counts, with a greater fence' test "$out" -gt "$first"
finish
