#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# PostgreSQL through PgBouncer, which alternates two sessions: every command, a
# queue, no trace in the sessions, and the ends of the pooler and the server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/killed.sh"
command -v pgbouncer >/dev/null || skip_all 'no pgbouncer'

gives_s=60
postgres_start -c fsync=on -c wal_writer_delay=10s
pg -c 'CREATE ROLE app LOGIN' -c 'GRANT CREATE ON DATABASE postgres TO app'
# Settings of a role, which a session of its own would replace.
pg -c "ALTER ROLE app SET synchronous_commit = off;
    ALTER ROLE app SET client_min_messages = error;
    ALTER ROLE app SET idle_session_timeout = '1h'"
pooler_start transaction
query="node_timeout=3s&connect_timeout=10s&max_ttl=20s"
export HOLDFAST_URL="postgres://app@/postgres?host=$POOLER&$query"
direct="postgres://app@/postgres?host=$PGHOST&$query"

pooled() { # SQL
    PGHOST=$POOLER pg_as app -c "$1"
}
has_turns() { # it opens a second session only for two transactions at a time
    pooled 'SELECT pg_sleep(0.2)' >/dev/null &
    pooled 'SELECT pg_sleep(0.2)' >/dev/null
    wait $!
    [ "$(for _ in 1 2 3; do pooled 'SELECT pg_backend_pid()'; done | sort -u | wc -l)" = 2 ]
}
ok 'the sessions of the pooler take turns' wait_until 20 has_turns

# ---- The schema, and doctor -------------------------------------------------------

first_use() {
    capture timeout 60 holdfast run -n job -- true
    [[ $code = 69 && $err = *'shows no trace of Holdfast'* ]]
}
ok 'the first use makes the schema, which does not count yet' wait_until 20 first_use
gives 0 'doctor --init' doctor --init
gives 0 'doctor' doctor
like "$out" 'through a pooler: .*no grant is pushed' 'says that there is a pooler, and its cost'
like "$out" 'commits are on disk' 'synchronous_commit=off of the role is raised'
capture holdfast doctor -u "$direct"
unlike "$out" 'pooler' 'nothing of that where there is none'

# ---- Each command ------------------------------------------------------------------

token=$(holdfast acquire --ttl 20 job | cut -d ' ' -f 1)
like "$token" '@[0-9]+/20000$' 'acquire'
gives 75 'another process is refused' run -n job -- true
gives 75 'so is one without the pooler' run -n -u "$direct" job -- true
gives 0 'extend' extend job --owner "$token"
gives 0 'ls' ls job
like "$out" 'job: held by' 'has the name'
gives 0 'release' release job --owner "$token"
gives 0 'run' run -n job -- echo ran
is "$out" ran 'has run'
holdfast acquire --ttl 20 job >"$W/token"
gives 0 'break --now' break --now job
token=$(holdfast acquire --ttl 20 --shared book | cut -d ' ' -f 1)
gives 0 'readers share' run -n --shared book -- true
gives 75 'a writer does not' run -n book -- true
gives 0 'the reader releases' release book --owner "$token"
begin first -p 2 slots
begin second -p 2 slots
ok 'two permits' wait_until 20 holds first
ok 'of two' wait_until 20 holds second
gives 75 'not three' run -n -p 2 slots -- true
end first
end second
gives 0 'once' run --once 1h nightly -- echo ran
is "$out" ran 'runs'
gives 0 'once, again' run --once 1h nightly -- echo ran
is "$out" '' 'does not run'
gives 0 'several names' run -n a b c -- true
gives 0 'put' put config --if-version 0 one
gives 75 'put of a version that is gone' put config --if-version 1 two
gives 0 'update' update config -- tr a-z A-Z
gives 0 'get' get config
is "$out" ONE 'has the value that update wrote'
gives 0 'put --delete' put config --delete
gives 1 'get of none' get config
pooled "SELECT count(holdfast.acquire(convert_to('lock:many' || i, 'UTF8'), 'psql', 60000))
    FROM generate_series(1, 2500) AS i" >/dev/null
gives 0 'ls of several pages' ls 'many*'
is "$(grep -c '^many' <<<"$out")" 2500 'has every name'

# ---- A queue ------------------------------------------------------------------------

: >"$W/held"
waits() { # N NAME
    pg_is "(SELECT count(*) FROM holdfast.waiter WHERE name = 'lock:$2') = $1"
}
begin holder line
wait_until 20 holds holder
for i in 1 2 3 4; do
    begin "waiter$i" line
    ok "waiter $i is in the queue" wait_until 20 waits $i line
done
ok 'no waiter relies on a push' pg_is \
    "NOT EXISTS (SELECT FROM holdfast.waiter WHERE channel <> '')"
for next in holder waiter{1..4}; do
    ok "$next holds the lock" wait_until 20 holds "$next"
    end "$next"
done
is "$(cut -d ' ' -f 1 "$W/held" | paste -sd ' ')" \
    'holder waiter1 waiter2 waiter3 waiter4' 'in order of arrival'
is "$(cut -d ' ' -f 2 "$W/held" | sort -n | paste -sd ' ')" \
    "$(cut -d ' ' -f 2 "$W/held" | paste -sd ' ')" 'with rising fences'

killed_begin true -t 20s
killed_end 13000 # their places end within 6 s, and it polls each 2.2 s at least

# ---- The sessions belong to the pooler's other clients ---------------------------------

leaves_no_trace() {
    local i
    for i in 1 2; do
        [ "$(pooled "SELECT current_setting('synchronous_commit'),
            current_setting('client_min_messages'),
            current_setting('idle_session_timeout'),
            current_setting('holdfast.channel', true),
            (SELECT count(*) FROM pg_prepared_statements),
            (SELECT count(*) FROM pg_listening_channels()),
            (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')")" \
            = 'off|error|1h||0|0|0' ] || return
    done
}
ok 'no setting, statement, channel or lock is left in them' leaves_no_trace

# ---- Commits ----------------------------------------------------------------------------

token=$(holdfast acquire --ttl 20 durable | cut -d ' ' -f 1)
begin held --ttl 20 kept
ok 'held' wait_until 20 holds held
begin next kept
ok 'a waiter' wait_until 20 waits 1 kept
postgres_crash
ok 'the server starts again' postgres_restart -c fsync=on -c wal_writer_delay=10s
extends() {
    gives_code=$(timeout 20 holdfast extend durable --owner "$token" >"$W/extend" 2>&1; echo $?)
    [ "$gives_code" != 69 ]
}
ok 'the pooler has sessions again' wait_until 20 extends
is "$gives_code" 0 'a lock was on the disk when it was granted'
gives 75 'the holder has kept its lock' run -n kept -- true
end held
ok 'the waiter is granted it' wait_until 20 holds next
end next

in_commit="FROM pg_stat_activity WHERE application_name = 'holdfast' AND wait_event = 'SyncRep'"
pg -c 'ALTER ROLE app SET synchronous_commit = on'
lost_reply() { # TITLE COMMAND...
    local title=$1 waiter
    shift
    # Sessions with the settings of now.
    pg -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'" >/dev/null
    ok "$title: two sessions" wait_until 20 has_turns
    pg_sync_is absent
    timeout 60 holdfast run -vv --ttl 10 -w 40 lost -- echo ran >"$W/lost.out" 2>"$W/lost.err" &
    waiter=$!
    ok "$title: the commit waits" wait_until 20 pg_is "EXISTS (SELECT $in_commit)"
    is "$(cat "$W/lost.out")" '' "$title: an answer does not count before its commit"
    "$@"
    pg_sync_is ''
    wait $waiter
    is "$?:$(cat "$W/lost.out")" 0:ran "$title: asked again, and granted"
    like "$(cat "$W/lost.err")" 'acquire at .*: no answer' "$title: the first answer is unknown"
    unlike "$(cat "$W/lost.err")" 'acquire at [^:]*: refused' "$title: and no refusal"
}
end_commit() {
    pg -c "SELECT $1(pid) $in_commit" >/dev/null
}
replace_pooler() {
    pooler_crash
    pooler_restart
}
lost_reply 'a wait for a standby that is cancelled' end_commit pg_cancel_backend
lost_reply 'a session that ends during the commit' end_commit pg_terminate_backend
lost_reply 'a pooler that ends during the commit' replace_pooler

# ---- The end of the pooler ------------------------------------------------------------------

begin over --ttl 20 over
wait_until 20 holds over
begin after over
wait_until 20 waits 1 over
pooler_crash
gives 69 'without the pooler' run -n other -- true
like "$err" 'refused' 'says why'
ok 'the pooler starts again' pooler_restart
gives 75 'the holder has kept its lock' run -n over -- true
end over
ok 'the waiter is granted it' wait_until 20 holds after
end after

# ---- Sessions that others keep ----------------------------------------------------------------

block() {
    PGHOST=$POOLER PGAPPNAME=blocker pg_as app -c 'SELECT pg_sleep(1000)' >/dev/null 2>&1 &
    pids+=($!)
}
block
block
ok 'others have all sessions' wait_until 20 pg_is \
    "(SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000)%'
        AND pid <> pg_backend_pid()) = 2"
gives 69 'no session is free' run -n -u "${HOLDFAST_URL/connect_timeout=10s/connect_timeout=1s}" job -- true
like "$err" 'did not answer within|did not answer' 'says that no answer came'
pg -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE query LIKE '%pg_sleep(1000)%' AND pid <> pg_backend_pid()" >/dev/null
gives 0 'one is free' run -w 40 job -- true

# ---- Not supported ---------------------------------------------------------------------------

gives 78 'options for the session' run -n -u "$HOLDFAST_URL&options=-c%20geqo=off" job -- true
like "$err" 'unsupported startup parameter: options \(.*leave it out of the URL' 'are refused with the remedy'
gives 78 'a database that the pooler does not know' run -n -u "${HOLDFAST_URL/\/postgres?/\/none?}" job -- true
pg -c "ALTER ROLE app SET default_transaction_isolation = serializable"
pg -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'" >/dev/null
gives 78 'a role with serializable transactions' run -n job -- true
like "$err" "transactions are serializable: ALTER ROLE \"app\" SET default_transaction_isolation = 'read committed'" 'is refused with the remedy'
pg -c "ALTER ROLE app RESET default_transaction_isolation"
pg -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'" >/dev/null

# ---- Other modes ----------------------------------------------------------------------------------

for mode in session statement; do
    pooler_crash
    pooler_start $mode 'default_pool_size = 8'
    export HOLDFAST_URL="postgres://app@/postgres?host=$POOLER&$query"
    gives 0 "$mode: doctor" doctor
    like "$out" 'through a pooler' "$mode: says that there is a pooler"
    begin "one$mode" "$mode"
    ok "$mode: held" wait_until 20 holds "one$mode"
    gives 75 "$mode: refused" run -n "$mode" -- true
    begin "two$mode" "$mode"
    ok "$mode: a waiter" wait_until 20 waits 1 "$mode"
    end "one$mode"
    ok "$mode: is granted the lock" wait_until 20 holds "two$mode"
    end "two$mode"
    gives 0 "$mode: several names" run -n a b c -- true
done
finish
