#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# postgres://…?lock=advisory: keys that others lock too, and the end of sessions.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/session_locks.sh"

postgres_start
plain="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
export HOLDFAST_URL="$plain&lock=advisory"

# The documented mapping, as anyone computes it.
key_of() { # NAME
    pg -c "SELECT ('x' || left(encode(sha256('lock:$1'), 'hex'), 16))::bit(64)::bigint"
}
# Of a transaction, as the server ends a session later than its client ends.
free_for_psql() { # KEY: bigint, or two ints
    pg_is "pg_try_advisory_xact_lock($1)"
}
taken_for_psql() {
    ! free_for_psql "$1"
}

# ---- The URL ---------------------------------------------------------------------

refuses() { # PATTERN TITLE PARAMETERS
    says 64 "$1" "$2" holdfast run -n -u "$plain$3" job -- true
}
refuses 'lock": "row" is not "advisory"' 'another kind' '&lock=row'
refuses 'add lock=advisory' 'a key alone' '&key=1'
for key in '' x 1x 1,2,3 '1,' ,1 - 9223372036854775808 2147483648,0 0,-2147483649 '%201'; do
    refuses 'is no key: write a bigint' "key=$key" "&lock=advisory&key=$key"
done
capture timeout 60 holdfast run -n job -- true
is "$code" 0 'no schema is needed'
ok 'and none is made' pg_is "to_regnamespace('holdfast') IS NULL"

# ---- Both exclude each other --------------------------------------------------------

session_open other
key=$(key_of job)
held job
ok 'we hold: psql does not get the key' taken_for_psql "$key"
session_do other "SELECT pg_try_advisory_lock_shared($key)"
is "$got" f 'nor shared'
is "$(let_end job)" 0 'we release'
ok 'psql gets it' free_for_psql "$key"
session_do other "SELECT pg_advisory_lock($key)"
says 75 'job: held by .*session_other:[0-9]+' 'psql holds: we are refused' \
    holdfast run -n job -- echo ran
unlike "$out" ran 'and the command does not run'
says 0 'held by .*session_other' 'ls NAME shows it' holdfast ls job
hold job --wait 60s
session_do other "SELECT pg_advisory_unlock($key)"
ok 'psql releases: the waiter gets it' wait_until 10 is_held job
is "$(let_end job)" 0 'and runs to its end'

held job --shared
session_do other "SELECT pg_try_advisory_lock_shared($key), pg_try_advisory_lock($key)"
is "$got" 't|f' 'a read lock is shared with psql, and excludes a writer'
says 75 'held' 'a writer is refused' holdfast run -n job -- true
says 0 'ran' 'a reader is not' holdfast run -n --shared job -- echo ran
is "$(let_end job)" 0 'the reader ends'
session_do other 'SELECT pg_advisory_unlock_all()'

# The transaction form has the same keys.
session_do other "BEGIN; SELECT pg_advisory_xact_lock($key)"
says 75 'held' 'a lock of a transaction excludes us' holdfast run -n job -- true
session_do other 'COMMIT'
says 0 'ran' 'until its end' holdfast run -n job -- echo ran

# ---- Keys -----------------------------------------------------------------------------

excludes() { # TITLE KEY PARAMETERS NAME
    session_do other "SELECT pg_advisory_lock($2)"
    says 75 'session_other' "$1" holdfast run -n -u "$HOLDFAST_URL$3" "$4" -- true
    session_do other 'SELECT pg_advisory_unlock_all()'
    says 0 'ran' "$1, released" holdfast run -n -u "$HOLDFAST_URL$3" "$4" -- echo ran
}
excludes 'key=12345' 12345 '&key=12345' job
excludes 'a negative key' -9223372036854775808 '&key=-9223372036854775808' job
excludes 'two ints' '-5, 7' '&key=-5,7' job
excludes 'another prefix' "$(pg -c "SELECT ('x' || left(encode(sha256('app:job'), 'hex'), 16))::bit(64)::bigint")" \
    '&prefix=app:' job
session_do other 'SELECT pg_advisory_lock(21474836481)'
says 0 'ran' 'a bigint is not the two ints of its halves' \
    holdfast run -n -u "$HOLDFAST_URL&key=5,1" job -- echo ran
session_do other 'SELECT pg_advisory_unlock_all()'
# Zlib.crc32 of Ruby; 3421780262 is its published check value of 123456789.
excludes 'key=rails' "$((3421780262 & 0x7fffffff)), 0" '&key=rails' 123456789
long=$(printf 'n%.0s' {1..1024})
excludes 'the longest name' "$(key_of "$long")" '' "$long"
excludes "a name of many kinds" "$(pg -c "SELECT ('x' || left(encode(sha256(
    convert_to('lock:it''s \"ä\" %', 'UTF8')), 'hex'), 16))::bit(64)::bigint")" '' "it's \"ä\" %"
for len in 50 51 58 59 60 115 123; do # around the blocks of the hash
    name=$(printf "%${len}s" '' | tr ' ' a)
    held "$name"
    ok "a name of $len bytes" taken_for_psql "$(key_of "$name")"
    let_end "$name" >/dev/null
done
says 78 'another name of this client holds the same key: with key= all names are one' \
    'two names with one key' timeout 60 holdfast run -u "$HOLDFAST_URL&key=1" a b -- true
says 0 'ran' 'several names' holdfast run -n a b c -- echo ran

# ---- Its limits -------------------------------------------------------------------------

says 78 'it has no permits' 'permits' holdfast run -n -p 2 job -- echo ran
says 78 'nothing of a run is kept' 'once' holdfast run -n --once 1h job -- echo ran
says 78 'nothing of a run is kept' 'min-hold' holdfast run -n --min-hold 1h job -- echo ran
unlike "$out" ran 'min-hold: refused before the command runs'
says 78 'use holdfast run, or --while-pid' 'acquire' holdfast acquire job
says 78 'only the process that acquired it' 'extend' holdfast extend job --owner x@1
says 78 'only the process that acquired it' 'release' holdfast release job --owner x@1
says 78 'pg_terminate_backend' 'break' holdfast break job
says 78 'its key tells no name' 'ls' holdfast ls
says 78 'keeps no values' 'get' holdfast get job
says 78 'nothing of advisory locks' 'doctor --init' holdfast doctor --init
says 0 'no fences.*fit for locks' 'doctor' holdfast doctor
says 0 '^0$' 'the fence is 0: none' holdfast run -n job -- printenv HOLDFAST_FENCE
sleep 300 &
runs+=($!)
says 0 '@0' 'acquire --while-pid' holdfast acquire --while-pid $! job
says 75 'held' 'which holds it' holdfast run -n job -- true
kill "${runs[-1]}"
ok 'and frees it when the process has ended' wait_until 10 free_for_psql "$key"

# ---- A pooler, which shares sessions out ---------------------------------------------------

for mode in transaction session; do
    ok "PgBouncer, $mode" pooler_start $mode
    says 78 'through a pooler: .*Name the server itself' "PgBouncer, $mode" \
        holdfast run -n -u "${HOLDFAST_URL/$PGHOST/$POOLER}" job -- echo ran
    unlike "$out" ran "PgBouncer, $mode: nothing runs"
    pooler_stop
done

# ---- The session ends -------------------------------------------------------------------

sessions="FROM pg_stat_activity WHERE application_name = 'holdfast'"
no_session() { pg_is "NOT EXISTS (SELECT $sessions)"; }
ok 'no session is left' wait_until 10 no_session
# The child of a holder that forked has its connection, until it closes the client.
forked=$HF_BUILD/tests/lib/forked
child=$("$forked" "$HOLDFAST_URL" forked)
other=$("$forked" -c "$HOLDFAST_URL" other)
ok 'a holder is killed that had forked, and the child had closed the client: free' \
    wait_until 10 free_for_psql "$(key_of other)"
ok 'while the child lives on' test -e "/proc/$other"
ok 'a child that has not keeps the key, also later' taken_for_psql "$(key_of forked)"
kill -KILL "$other" "$child"
ok 'until it ends' wait_until 10 free_for_psql "$(key_of forked)"

held job -t 60
pg -c "SELECT pg_terminate_backend(pid) $sessions" >/dev/null
start=$(now_ms)
ok 'a session that is ended: the command is stopped' wait_until 10 has_ended job
took=$(($(now_ms) - start))
ok "at once, and not at the end of the lease: $took ms" test $took -lt 10000
is "$(cat "$W/job.code")" 76 'as of any lock that was lost'

# Each process of a command, of which the first is a shell of ours.
tree_of() { # PID
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        echo "$child"
        tree_of "$child"
    done
}
kill_last() {
    # shellcheck disable=SC2046 # a list
    kill -KILL $(tree_of "${runs[-1]}")
}
limit=$((1000 * busy)) # a second

held dies -t 60
key=$(key_of dies)
start=$(now_ms)
kill_last
ok 'a holder is killed, idle: psql gets the key' wait_until 10 free_for_psql "$key"
took=$(($(now_ms) - start))
ok "within a second: $took ms" test $took -lt $limit

session_do other "SELECT pg_advisory_lock($key)"
hold dies -t 60
waits() { pg_is "EXISTS (SELECT $sessions)"; }
ok 'a waiter has a session' wait_until 10 waits
start=$(now_ms)
kill_last
ok 'it is killed: its session ends' wait_until 10 no_session
took=$(($(now_ms) - start))
ok "within a second: $took ms" test $took -lt $limit
session_do other "SELECT pg_advisory_unlock($key)"
ok 'and nothing of it is left' free_for_psql "$key"

# Busy: the statement that asks for the lock waits for one of the catalog.
session_do other "BEGIN; LOCK TABLE pg_catalog.pg_locks IN ACCESS EXCLUSIVE MODE"
hold dies -t 60
is_blocked() { pg_is "EXISTS (SELECT $sessions AND wait_event_type = 'Lock')"; }
ok 'a client is busy, in a statement that waits' wait_until 10 is_blocked
start=$(now_ms)
kill_last
ok 'it is killed: its session ends though its statement still waits' \
    wait_until 10 no_session
took=$(($(now_ms) - start))
ok "within a second: $took ms" test $took -lt $limit
session_do other 'ROLLBACK'

# ---- The server ends, or stands still -----------------------------------------------------

held job -t 60
postgres_crash
ok 'the server is killed: the command is stopped' wait_until 10 has_ended job
is "$(cat "$W/job.code")" 76 'as of any lock that was lost'
ok 'the server starts again' postgres_restart
says 0 'ran' 'its locks are free' holdfast run -n job -- echo ran

session() { pg -c "SELECT pid $sessions"; }
serving() { session; }
sent() {
    ss -xH src "$PGHOST/.s.PGSQL.5432" | awk '$3 > 0 { found = 1 } END { exit !found }'
}
is_taken() { taken_for_psql "$(key_of "$1")"; }
outlasts_stop 'the backend of a holder' ok 'psql does not get the key' is_taken steady

# For longer than the lease: the holder ends first.
held late -u "${HOLDFAST_URL/node_timeout=3s/node_timeout=100ms}" -t 8
pid=$(session)
session_open next
session_send next "SELECT 'got', pg_advisory_lock($(key_of late))"
ok 'psql waits for the key' wait_until 10 session_is_blocked next
kill -STOP "$pid"
ok 'the backend stands still: the command ends with the lease' wait_until 20 has_ended late
is "$(cat "$W/late.code")" 76 'as of any lock that was lost'
ok 'while psql still waits' session_is_blocked next
kill -CONT "$pid"
session_wait next
is "$got" 'got|' 'the backend goes on: psql gets the key'
session_do next 'SELECT pg_advisory_unlock_all()'

held job -t 3
postgres_freeze
ok 'the server stands still: the command ends with the lease' wait_until 20 has_ended job
is "$(cat "$W/job.code")" 76 'as of any lock that was lost'
postgres_thaw
ok 'the server goes on: the key is free' wait_until 10 free_for_psql "$(key_of job)"
says 0 'ran' 'and locks again' holdfast run -n job -- echo ran
finish
