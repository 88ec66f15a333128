#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# The schema of PostgreSQL, run by hand: doctor --print-schema, the one right that
# other roles need, schemas of other versions, and installations that meet.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/holders.sh"
gives_s=60

# ---- Printing, without a server ------------------------------------------------------

for url in postgres: postgresql: 'postgres://u:secret@nowhere.invalid/db'; do
    gives 0 "--print-schema of $url" doctor --print-schema -u "$url"
    is "$(sed 's|[0-9]* /\* \([A-Z_]*\) \*/|\1|g' <<<"$out")" \
        "$(cat "$HF_SOURCE"/src/store/postgres/schema/*.sql)" \
        'prints the schema, with numbers before the words of the constants'
done
HOLDFAST_URL=postgres: gives 0 'of HOLDFAST_URL' doctor --print-schema
like "$out" 'CREATE SCHEMA IF NOT EXISTS holdfast' 'prints it, too'
for url in local: redis://127.0.0.1:1 postgresque:; do
    gives 64 "--print-schema of $url" doctor --print-schema -u "$url"
    is "$out:$err" ':holdfast: doctor: --print-schema: only PostgreSQL and MySQL have one: add -u postgres: or -u mysql:' \
        'is refused'
done
for option in --init --force --quarantine; do
    gives 64 "--print-schema $option" doctor --print-schema $option -u postgres:
    like "$err" '^holdfast: doctor: --print-schema takes no other' 'is refused'
done
gives 64 'a word' doctor --print-schema -u postgres: word
says() { holdfast doctor --print-schema -u postgres: >/dev/full; }
capture says
is "$code" 70 'a full disk'

# ---- As its owner, and as a role with the one right ----------------------------------

postgres_start
schema=$W/schema.sql
holdfast doctor --print-schema -u postgres: >"$schema"
by_hand() { # ROLE [ARG...]
    local role=$1
    shift
    pg_as "$role" -f "$schema" "$@"
}
pg -c 'CREATE ROLE dba LOGIN' -c 'CREATE ROLE worker LOGIN' -c 'CREATE DATABASE app'
export PGDATABASE=app
worker="postgres://worker@/app?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
export HOLDFAST_URL=$worker
capture by_hand dba
isnt "$code" 0 'a role that may not create a schema'
like "$err" 'permission denied for database app' 'reports it'
pg -c 'GRANT CREATE ON DATABASE app TO dba'
capture by_hand dba
is "$code:$err" 0: 'a role that may: no error, no warning'
gives 77 'a role without the right' run -w 30s job -- true
like "$err" 'GRANT USAGE ON SCHEMA holdfast TO "worker"' 'names the right'
grant=$(sed -n 's/^-- *\(GRANT .*;\)$/\1/p' "$schema")
is "$grant" 'GRANT USAGE ON SCHEMA holdfast TO worker;' 'the rights that the schema prints'
pg_as dba -c "$grant"

gives 69 'the schema does not count yet' run -n job -- true
gives 0 'doctor --init, as the role with the one right' doctor --init
gives 1 'doctor' doctor
like "$out" 'role worker' 'as that role'
token=$(holdfast acquire --ttl 60 job | cut -d ' ' -f 1)
gives 75 'a lock that is held' run -n job -- true
gives 0 'extend' extend job --owner "$token"
gives 0 'ls' ls
like "$out" 'job' 'has the name'
begin waiter job
ok 'a waiter listens' wait_until 20 pg_is \
    "EXISTS (SELECT FROM holdfast.waiter WHERE channel <> '')"
gives 0 'ls NAME' ls job
like "$out" '1 waiting' 'has the waiter'
gives 0 'release' release job --owner "$token"
ok 'the waiter holds' wait_until 20 holds waiter
gives 0 'break --now' break --now job
end waiter
begin reader --shared book
ok 'a reader' wait_until 20 holds reader
gives 0 'another' run -w 30s --shared book -- true
gives 75 'a writer' run -n book -- true
end reader
gives 0 'a permit' run -w 30s -p 2 slots -- true
gives 0 'several names' run -w 30s a b c -- true
gives 0 'once' run --once 1h nightly -- echo ran
gives 0 'once, again' run --once 1h nightly -- echo ran
is "$out" '' 'does not run'
gives 0 'doctor --quarantine' doctor --quarantine all
gives 69 'no lock then' run -n job -- true
gives 0 'doctor --init again' doctor --init --force
swept() {
    holdfast run -n "sweep$1" -- true
    [ "$(pg -c "SELECT count(*) FROM holdfast.lock WHERE name LIKE 'idle%'")" = 0 ]
}
pg -c "INSERT INTO holdfast.lock (name)
    SELECT convert_to('idle' || i, 'UTF8') FROM generate_series(1, 20) AS i"
ok 'idle names are deleted' wait_until 60 swept 1

denied() { # SQL
    capture pg_as worker -c "$1"
    isnt "$code" 0 "denied: $1"
    like "$err" 'permission denied|must be owner' 'for want of a right'
}
for table in lock sharer waiter once node value version; do
    denied "SELECT FROM holdfast.$table"
done
denied "UPDATE holdfast.lock SET owner = NULL"
denied "CREATE TABLE holdfast.mine ()"
denied "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS bigint LANGUAGE sql AS 'SELECT 1'"
denied "DROP SCHEMA holdfast CASCADE"

# ---- Again, while locks are in use ------------------------------------------------------

holdfast acquire --ttl 60 kept >"$W/token"
session_open reader
session_do reader 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM
    holdfast.lock, holdfast.waiter, holdfast.sharer, holdfast.node, holdfast.version'
session_open writer
session_do writer "BEGIN; SELECT verdict FROM holdfast.acquire('x', 'psql', 60000);
    DELETE FROM holdfast.waiter WHERE false; DELETE FROM holdfast.sharer WHERE false"
capture by_hand dba
is "$code:$err" 0: 'beside a reader and a writer with long transactions'
gives 0 'commands go on' run -w 30s job -- true
gives 75 'a lock that was held is held' run -n kept -- true
session_do writer 'ROLLBACK'
session_do reader 'ROLLBACK'

# A statement that must wait for a table lets others through.
session_do writer 'BEGIN; LOCK TABLE holdfast.version IN SHARE MODE'
start=$(now_ms)
capture by_hand dba
isnt "$code" 0 'beside a table that is locked'
like "$err" 'lock timeout' 'it gives up'
ok 'before the 10 s of an installation that waits for another' \
    test $(($(now_ms) - start)) -lt 10000
gives 0 'commands go on' run -w 30s job -- true
session_do writer 'ROLLBACK'
gives 75 'a lock that was held is held' run -n kept -- true
capture by_hand worker
isnt "$code" 0 'another role'
like "$err" 'schema holdfast belongs to dba, not to worker' 'is refused'

# ---- A later version ------------------------------------------------------------------------

pg -c 'UPDATE holdfast.version SET version = 3'
gives 78 'a later version' run -w 30s job -- true
is "$err" "holdfast: job: $PGHOST/.s.PGSQL.5432 has version 3 of schema \"holdfast\" in database app, and this client knows 2: use a newer holdfast" \
    'is refused with one line'
gives 2 'by doctor' doctor
like "$out$err" 'use a newer holdfast' 'too'
capture by_hand dba
isnt "$code" 0 'the printed schema'
like "$err" 'schema holdfast has version 3, newer than 2' 'does not replace it'
like "$err" 'Use a newer holdfast' 'and gives the remedy'
ok 'and changes nothing' pg_is '(SELECT version FROM holdfast.version) = 3'
pg -c 'ALTER FUNCTION holdfast.facts() RENAME TO facts_of_1' -c "CREATE FUNCTION holdfast.facts()
    RETURNS TABLE (field text, content text) LANGUAGE sql
    AS 'SELECT * FROM holdfast.facts_of_1() UNION ALL VALUES (''server:serves'', ''2'')'"
gives 0 'one that serves this version' run -w 30s job -- true

# ---- Installations that meet ---------------------------------------------------------------------

pg -c 'CREATE DATABASE met'
export PGDATABASE=met
both="postgres://postgres@/met?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
pg -c 'SELECT pg_advisory_lock(1751543397, 0)' -c "SELECT pg_sleep(1000)" >/dev/null 2>&1 &
pids+=($!)
ok 'one client installs' wait_until 20 pg_is \
    "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted)"
met=()
for i in 1 2 3; do
    timeout 60 holdfast run -n -u "$both" job -- true >"$W/met.$i" 2>&1 &
    met+=($!)
done
by_hand postgres >"$W/met.4" 2>&1 &
met+=($!)
all_wait() {
    pg_is "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) = 4"
}
ok 'the others wait for it' wait_until 20 all_wait
pg -c "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted" >/dev/null
codes=''
for pid in "${met[@]}"; do
    wait "$pid"
    codes+="$? "
done
is "$codes" '69 69 69 0 ' 'then each finds the schema'
unlike "$(cat "$W"/met.?)" 'cannot be made|ERROR|concurrently' 'without an error'
gives 0 'it is whole' doctor --init -u "$both"
gives 0 'and counts' run -w 30s -u "$both" job -- true
finish
