#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The schema of a lock node, from psql on a real server: installation, and what
# concurrent sessions see. differential.t.sh has the rules themselves.
# Leases that last do so for 50 minutes: on a loaded machine this takes many.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
postgres_start || skip_all "no PostgreSQL"
schema=$W/schema.sql
holdfast doctor --print-schema -u postgres: >"$schema"

verb() { # COLUMNS CALL: of one verb
    pg -c "SELECT $1 FROM holdfast.$2"
}

holder() { # NAME
    verb "convert_from(owner, 'UTF8')" "inspect('$1')"
}

refused() { # WHAT REGEX SQL
    capture pg -v VERBOSITY=verbose -c "$3"
    isnt "$code" 0 "$1: refused"
    like "$err" "$2" "$1: says it"
}

# ---- Installation
capture pg -f "$schema"
is "$code:$out$err" 0: 'it installs, silently'
is "$(pg -c 'SELECT holdfast.schema_version()')" 2 'its version'
is "$(verb verdict "acquire('a', 'one', 3000000)")" -1 \
    'without a marker it grants nothing'
pg -c "SELECT holdfast.marker('', 'm1', true, '', 0,
    VARIADIC '{max_ttl,60000}')" >/dev/null
counter=$(verb counter "acquire('a', 'one', 3000000)")
capture pg -f "$schema"
is "$code:$out$err" 0: 'and again'
is "$(verb 'verdict, counter' "inspect('a')")" "1|$counter" 'it keeps the locks'
pg -c 'UPDATE holdfast.version SET version = 3'
capture pg -v VERBOSITY=verbose -f "$schema"
like "$err" 'HF003: holdfast: schema holdfast has version 3, newer than 2' \
    'it does not replace a newer version'
pg -c 'UPDATE holdfast.version SET version = 2'
holdfast guard postgres >"$W/guard.sql"
capture pg -f "$W/guard.sql" -f "$schema"
is "$code:$out$err" 0: 'beside the guard'
session_open A
session_open B
session_do A "BEGIN; SELECT 1 FROM pg_advisory_xact_lock(1751543397, 0)"
timeout 60 "$PG_BIN/psql" -XAtq -U postgres -v ON_ERROR_STOP=1 -f "$schema" \
    >"$W/second" 2>&1 &
second=$!
ok 'a second installation waits for the first' wait_until 15 pg_is \
    "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
session_do A COMMIT
wait "$second"
is "$?:$(cat "$W/second")" 0: 'and then succeeds'

# ---- What a call must be
for level in 'REPEATABLE READ' SERIALIZABLE; do
    refused "$level" "25001: .*the transaction is $level, must be READ COMM" \
        "BEGIN ISOLATION LEVEL $level; SELECT holdfast.acquire('a', 'x', 1)"
done
refused 'no owner' '22023: .*the owner has 0 bytes, must be 1 to 512' \
    "SELECT holdfast.acquire('a', '', 1)"
refused 'a negative lease' '22023: .*a span of -1 ms, must be 0 to' \
    "SELECT holdfast.acquire('a', 'x', -1, keep_ms => -1, place_ms => -1)"
verb verdict "acquire('free', 'x', 3000000)" >/dev/null
verb verdict "release('free', 'x')" >/dev/null
for call in "acquire('new', 'x', -1)" "acquire('new', 'x', NULL)" \
    "acquire('free', 'x', -1)" "acquire('free', 'x', 1, keep_ms => 9999)" \
    "acquire('free', 'x', 1, keep_ms => -1)" "acquire('new', 'x', 1, keep_ms => NULL)" \
    "acquire('free', 'x', 1, place_ms => -1)" "acquire('new', 'x', 1, place_ms => NULL)" \
    "confirm('a', 'one', -1, $counter)" "confirm('a', 'one', 1, $counter, keep_ms => 0)" \
    "release('a', 'one', reserve_ms => -1)" "release('a', 'one', keep_ms => -1)" \
    "release('a', 'one', reserve_ms => NULL)" \
    "break_lock('a', 'x', true, 'm1', 9999, 1)" "break_lock('a', 'x', true, 'm1', 10000, -1)" \
    "break_lock('a', 'x', true, 'm1', 10000, NULL)" "ahead('m1', 10000, -1)" "ahead('m1', 0, 1)"; do
    refused "$call" '22023: holdfast: (a span of|fence_keep is) (-1|no|0|9999)( ms)?, must be' \
        "SELECT holdfast.$call"
done
is "$(pg -c "SELECT count(*) FROM holdfast.renew('{a}', '{one}', '{-1}', '{$counter}')")" 0 \
    'nor is any renewed for less than nothing'
is "$(pg -c "SELECT count(*) FROM holdfast.lock WHERE name = 'new' OR name = 'free'
    AND owner IS NOT NULL")" 0 'nothing was made, and nothing granted'
refused 'a mode' '22023: .*mode y, must be x, s0 or s and a number' \
    "SELECT holdfast.acquire('a', 'x', 1, mode => 'y')"
refused 'an empty name' 'lock_name_check' "SELECT holdfast.acquire('', 'x', 1)"
is "$(holder a)" one 'none of these changed a'

# ---- Version 1, whose value_get() returned no id
pg -c "DROP FUNCTION holdfast.value_get; UPDATE holdfast.version SET version = 1;
    CREATE FUNCTION holdfast.value_get(lock_name bytea, OUT verdict integer,
        OUT version bigint, OUT data bytea)
        LANGUAGE sql AS 'SELECT 1, 0::bigint, NULL::bytea'"
session_do B "PREPARE renew AS SELECT verdict FROM
    holdfast.confirm('a', 'one', 3000000, $counter); EXECUTE renew"
session_do A "BEGIN; SELECT verdict FROM holdfast.acquire('old', 'A', 3000000);
    SELECT verdict FROM holdfast.acquire('old', 'B', 3000000, place_ms => 2000000)"
capture pg -f "$schema"
is "$code:$out$err" 0: 'it is replaced, beside a transaction that holds a lock and waits'
is "$(pg -c 'SELECT holdfast.schema_version()')" 2 'by the present version'
is "$(verb id "value_get('none')")" '' 'which returns the id'
session_do A COMMIT
is "$(holder old)" A 'that transaction goes on'
session_do B 'EXECUTE renew'
is "$got" 1 'and so does a session with a prepared statement'

# ---- Roles
pg -c 'CREATE ROLE app LOGIN; CREATE ROLE stranger LOGIN;
    GRANT USAGE ON SCHEMA holdfast TO app'
is "$(pg_as app -c "SELECT verdict FROM holdfast.acquire('app', 'x', 1000)")" 1 \
    'USAGE of the schema is enough'
capture pg_as app -c 'DELETE FROM holdfast.lock'
like "$err" 'permission denied for table lock' 'the tables are not open'
capture pg_as stranger -c "SELECT holdfast.acquire('app', 'x', 1000)"
like "$err" 'permission denied for schema holdfast' 'without it nothing is'

# ---- What each function is
functions() { # CONDITION: their names
    pg -c "SELECT proname FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace
        AND proname NOT IN ('fence', 'guard_check', 'guard_row', 'guard_version')
        AND ($1) ORDER BY 1" | tr '\n' ' '
}
is "$(functions "prosecdef AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)")" \
    '' "what runs with the owner's rights has a search path of its own"
writers="prosrc ~ '(UPDATE|DELETE|INSERT|SHARE)' OR prosrc ~ 'holdfast\.(open|store)\('"
is "$(functions "provolatile <> 'v' AND ($writers)")" '' 'what locks rows sees all earlier commits'
is "$(functions "prosecdef AND ($writers)
    AND NOT coalesce('lock_timeout=500ms' = ANY (proconfig), false)")" '' \
    'what locks rows waits for half a second'
is "$(functions "prosrc ~* 'EXCEPTION\s+WHEN'")" '' 'no error is caught, which would take an xid each'

# ---- One name, two sessions
# On a loaded machine the sessions' steps take longer than half a second. confirm()
# keeps that limit, for its test.
for function in acquire release; do
    pg -c "ALTER FUNCTION holdfast.$function SET lock_timeout = '60s'"
done
session_do A "BEGIN; SELECT verdict FROM holdfast.acquire('n', 'A', 3000000)"
is "$got" 1 'a new name, in a transaction'
session_send B "SELECT verdict FROM holdfast.acquire('n', 'B', 3000000)"
ok 'a second one waits for its end' wait_until 15 session_is_blocked B
session_do A COMMIT
session_wait B
is "$got" 0 'and is refused when it commits'
session_do A "BEGIN; SELECT verdict FROM holdfast.acquire('m', 'A', 3000000)"
session_send B "SELECT verdict FROM holdfast.acquire('m', 'B', 3000000)"
ok 'again' wait_until 15 session_is_blocked B
session_do A ROLLBACK
session_wait B
is "$got" 1 'granted when it is rolled back'
is "$(holder m)" B 'nothing is held until COMMIT'

session_do A "BEGIN; SELECT verdict FROM holdfast.confirm('m', 'B', 3000000, 1)"
is "$(verb verdict "acquire('m', 'C', 3000000)")" 0 \
    'a refused try does not wait for the row'
refused 'a verb that waits for half a second' \
    '55P03: .*canceling statement due to lock timeout' \
    "SELECT holdfast.confirm('m', 'B', 3000000, 1)"
session_do A ROLLBACK

# ---- A waiter that queues while a release is under way
verb verdict "acquire('q', 'H', 3000000)" >/dev/null
session_do B "SELECT holdfast.listen('to-w')"
session_do A "BEGIN; SELECT verdict FROM holdfast.acquire('q', 'W', 3000000,
    place_ms => 2000000, channel => 'to-w', cookie => 7)"
is "$got" 2 'it queues'
session_open C
session_send C "SELECT verdict FROM holdfast.release('q', 'H')"
ok 'a release waits for it' wait_until 15 session_is_blocked C
session_do A COMMIT
session_wait C
is "$got" 1 'released'
is "$(holder q)" W 'the release has seen the waiter'
c=$(verb counter "inspect('q')")
session_do B 'SELECT 1'
like "$got" "Asynchronous notification \"to-w\" with payload \"7 $c\"" \
    'which is pushed to, with cookie and counter'
is "$(grep -c Asynchronous <<<"$got")" 1 'once'

# A try that was sent meanwhile does not overtake it.
verb verdict "acquire('t', 'H', 200)" >/dev/null
ok 'a lease ends' wait_until 15 pg_is \
    "(SELECT left_ms FROM holdfast.inspect('t')) = -2"
session_do A "BEGIN; SELECT verdict FROM holdfast.acquire('t', 'H', 3000000)"
session_send C "SELECT verdict FROM holdfast.acquire('t', 'V', 3000000,
    place_ms => 2000000)"
ok 'a waiter waits for the row' wait_until 15 session_is_blocked C
session_do A "SELECT verdict FROM holdfast.release('t', 'H'); COMMIT"
session_wait C
is "$got" 1 'and is granted what is free by then'

# ---- Pushes
verb verdict "acquire('p', 'H', 3000000)" >/dev/null
for who in 1 2 3; do
    verb verdict "acquire('p', 'w$who', 3000000, place_ms => 2000000,
        channel => '$([ $who = 1 ] && echo gone || echo to-w)',
        cookie => $who, ticket => $who)" >/dev/null
done
session_do A "BEGIN; SELECT verdict FROM holdfast.release('p', 'H'); ROLLBACK"
session_do B 'SELECT 1'
unlike "$got" Asynchronous 'what is rolled back pushes nothing'
verb verdict "release('p', 'H')" >/dev/null
is "$(holder p)" w2 'a waiter without a listener is passed over'
session_do B "SELECT verdict FROM holdfast.release('p', 'w2')"
is "$(holder p)" w3 'a session grants to a waiter of its own'
verb verdict "release('p', 'w3')" >/dev/null
session_do B 'SELECT 1'
is "$(grep -c Asynchronous <<<"$got")" 0 'without a waiter nothing is pushed'
verb verdict "acquire('p', 'H', 3000000)" >/dev/null
verb verdict "acquire('p', 'poll', 3000000, place_ms => 2000000)" >/dev/null
verb verdict "release('p', 'H')" >/dev/null
is "$(verb 'verdict, left_ms, waiters' "inspect('p')")" '1|-2|1' \
    'a waiter that polls keeps its place'
is "$(verb verdict "acquire('p', 'try', 3000000)")" 0 'a try does not overtake it'
is "$(verb verdict "acquire('p', 'poll', 3000000, place_ms => 2000000)")" 1 \
    'it finds the free name'

# ---- A channel that is taken
refused 'the channel of another session' \
    '55006: .*another session has the lock of channel to-w' \
    "SET lock_timeout = '10s'; SELECT holdfast.listen('to-w')"
session_do B "SELECT holdfast.listen('to-w')"
unlike "$got" ERROR 'its own may be named again'

# ---- A session that ends
session_do A "BEGIN; SELECT verdict FROM holdfast.acquire('k', 'A', 3000000)"
session_send B "SELECT verdict FROM holdfast.acquire('k', 'B', 3000000)"
ok 'one waits' wait_until 15 session_is_blocked B
pg -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'session_A'" >/dev/null
session_wait B
is "$got" 1 'a backend that is terminated has changed nothing'

# ---- The marker
pg -c "UPDATE holdfast.node SET timeline = '0000000F' WHERE field = 'v'"
for call in "acquire('z', 'x', 1)" "confirm('z', 'x', 1, 1)" \
    "break_lock('k', 'x', true, 'm1', 10000, 1)" "mark('z', 'm1', 1, 1, 'x')"; do
    is "$(verb verdict "$call")" -1 "another time-line: ${call%%(*}"
done
is "$(verb verdict "release('k', 'B')")" 1 'a release still frees'
is "$(verb verdict "release('k', 'B', marker => 'm1')")" -1 '... and denies none'
is "$(verb verdict "release('k', 'B', marker => '')")" 0 \
    '... but to one who does not count that'
pg -c "SELECT holdfast.marker('m1', 'm2', false, 'at:h', 5, VARIADIC '{}')" \
    >/dev/null
is "$(verb verdict "acquire('z', 'x', 1)")" -1 \
    'in quarantine: not for a call without a marker'
is "$(verb verdict "acquire('z', 'x', 1, marker => 'm2')")" 1 \
    'a client whose marker it is decides that itself'
pg -c "INSERT INTO holdfast.node (field, content) VALUES ('whole', '1')"
is "$(verb verdict "acquire('z', 'x', 1)")" 1 'until the marker says that it is whole'
pg -c "DELETE FROM holdfast.node WHERE field = 'whole'"
is "$(verb verdict "acquire('z', 'x', 1, marker => 'm1')")" -1 \
    'a client with the marker of before is refused'
pg -c 'VACUUM (FULL, FREEZE) holdfast.node'
is "$(verb verdict "acquire('z', 'x', 1, marker => 'm2')")" 1 'a VACUUM leaves it valid'
pg -c "CREATE TEMP TABLE dump AS SELECT * FROM holdfast.node; TRUNCATE holdfast.node;
    INSERT INTO holdfast.node SELECT * FROM dump"
is "$(verb verdict "acquire('z', 'x', 1, marker => 'm2')")" -1 \
    'a marker whose rows are restored does not count'
pg -c "UPDATE holdfast.node SET timeline = left(timeline, 8)"
capture pg -f "$schema"
is "$code:$(verb verdict "acquire('z', 'x', 1, marker => 'm2')")" 0:1 \
    'one of an older installation is brought up to date, and counts'
is "$(pg -c "SELECT holdfast.marker('m1', 'm3', false, '', 0, VARIADIC '{}')")" \
    0 'and does not write it'
is "$(pg -c "SELECT field, content FROM holdfast.facts()
    WHERE field NOT LIKE 'server:%' ORDER BY field")" $'at:h|5\nv|m2' \
    'a new value begins without "whole" and hosts'
pg -c "SELECT holdfast.marker('m2', 'm2', false, 'at:' || i, i,
    VARIADIC '{}') FROM generate_series(1, 80) i" >/dev/null
is "$(pg -c "SELECT count(*) FROM holdfast.facts() WHERE field LIKE 'at:%'")" \
    64 'no more than 64 hosts'
pg -c "SELECT holdfast.marker('m2', 'm2', true, 'at:h', 5, VARIADIC '{}')" \
    >/dev/null
is "$(pg -c "SELECT field FROM holdfast.facts() WHERE field IN ('v', 'whole')
    OR field LIKE 'at:%' ORDER BY 1")" $'v\nwhole' 'whole: hosts are gone'

# ---- Commits
late() { # CALL: synchronous_commit of a transaction after it
    pg -c BEGIN -c "SELECT FROM holdfast.$1" -c 'SHOW synchronous_commit' \
        -c COMMIT | tail -n 1
}
is "$(late "acquire('l', 'x', 3000000, alone => true)")" on 'a grant is synced'
is "$(late "acquire('l', 'y', 3000000, place_ms => 9, alone => true)")" off \
    'a place in a queue is not'
is "$(late "release('l', 'x')")" on 'a release is, with writes of others'
verb verdict "acquire('l', 'x', 3000000)" >/dev/null
is "$(late "release('l', 'x', alone => true)")" off 'and is not, alone'
is "$(PGOPTIONS='-c synchronous_commit=off' late \
    "value_put('l', 0, 'a', NULL, 'x')")" local \
    'a value is, even in a session that does not wait for the disk'

# ---- Rows
pg -c "SELECT count(*) FROM holdfast.acquire('hot', 'x', 3000000)" >/dev/null
for _ in 1 2 3 4; do
    for _ in {1..25}; do
        echo "SELECT FROM holdfast.confirm('hot', 'x', 3000000, 1);
            SELECT FROM holdfast.release('hot', 'x');
            SELECT FROM holdfast.acquire('hot', 'x', 3000000);"
    done
done | pg
ok 'updates are HOT' wait_until 15 pg_is "(SELECT n_tup_upd >= 300 AND
    n_tup_hot_upd >= 0.95 * n_tup_upd FROM pg_stat_user_tables
    WHERE schemaname = 'holdfast' AND relname = 'lock')"

# ---- Values
for level in 'REPEATABLE READ' SERIALIZABLE; do
    refused "a value in $level" "25001: .*the transaction is $level" \
        "BEGIN ISOLATION LEVEL $level;
        SELECT holdfast.value_put('v', 0, 'a', NULL, 'x')"
done
refused 'a value too large' '22023: .*at most 262144 bytes; this one has 262145' \
    "SELECT holdfast.value_put('v', 0, 'a', NULL,
        convert_to(repeat('x', 262145), 'UTF8'))"
refused 'a write without an id' '22023: .*id of the write has 0 bytes' \
    "SELECT holdfast.value_put('v', 0, '', NULL, 'x')"
refused 'no value' '22023: .*no value to write' \
    "SELECT holdfast.value_put('v', 0, 'a', NULL, NULL)"
refused 'a deletion with a value' '22023: .*not both' \
    "SELECT holdfast.value_put('v', 0, 'a', 6000000, 'x')"
is "$(verb 'version, data, id' "value_get('v')")" '0||' 'none of these wrote'
v=$(verb version "value_put('v', 0, 'a', NULL, 'x')")
session_open V
session_do V "BEGIN; SELECT version FROM holdfast.value_put('v', $v, 'b', NULL, 'y')"
is "$(verb 'version, id' "value_get('v')")" "$v|a" \
    'a write that is not committed is not read'
is "$(verb 'verdict, version' "value_put('v', 5, 'c', NULL, 'z')")" "0|$v" \
    'a refusal does not wait for it'
refused 'a write that waits for half a second' \
    '55P03: .*canceling statement due to lock timeout' \
    "SELECT holdfast.value_put('v', $v, 'c', NULL, 'z')"
pg -c "ALTER FUNCTION holdfast.value_put SET lock_timeout = '60s'"
session_send B "SELECT verdict, version > $v
    FROM holdfast.value_put('v', $v, 'c', NULL, 'z')"
session_send C "SELECT verdict, version > $v
    FROM holdfast.value_put('v', $v, 'b', NULL, 'y')"
for who in B C; do
    ok "$who waits for its row" wait_until 15 session_is_blocked $who
done
session_do V COMMIT
session_wait B
is "$got" '0|t' 'of two writers that expect one version the second is refused'
session_wait C
is "$got" '1|t' 'a copy of the first is known by its id'
is "$(verb 'data, id' "value_get('v')")" '\x79|b' 'and was executed once'
v=$(verb version "value_get('v')")
deleted=$(verb version "value_put('v', $v, 'd', 6000000, NULL)")
is "$(verb 'version, data, id' "value_get('v')")" '0||d' \
    'a deleted value keeps the id'
ok 'and its version' test "$deleted" -gt "$v"
is "$(verb "version > $deleted" "value_put('v', 0, 'e', NULL, 'x')")" t \
    'which the next write exceeds'

# ---- Names
pg -c "SELECT FROM generate_series(1, 5) i,
    holdfast.acquire(('list:' || i)::bytea, 'x', 3000000)" \
    -c "SELECT FROM holdfast.acquire('list:2', 'y', 3000000, place_ms => 2000000)" \
    -c "SELECT FROM holdfast.release('list:2', 'x')" \
    -c "SELECT FROM holdfast.release('list:3', 'x')" \
    -c "SELECT FROM holdfast.release('list:4', 'x', 0, 2000000)" \
    -c "SELECT FROM holdfast.acquire('lisu', 'x', 3000000)" \
    -c "SELECT FROM holdfast.acquire('LIST', 'x', 3000000)" \
    -c "SELECT FROM holdfast.mark('list:9', NULL, 5, 2000000, 'm')"
names() { # PREFIX AFTER MOST
    pg -c "SELECT convert_from(name, 'UTF8')
        FROM holdfast.scan('$1', '$2', $3)" | tr '\n' ' '
}
is "$(names list: '' 10)" 'list:1 list:2 list:4 list:5 list:9 ' \
    'held, waited for, reserved or marked'
is "$(names list: '' 2)" 'list:1 list:2 ' 'a page of them'
is "$(names list: list:2 2)" 'list:4 list:5 ' 'and the next'
pg -c "DELETE FROM holdfast.lock; DELETE FROM holdfast.waiter"
is "$(pg -c 'SELECT * FROM holdfast.look()')" '0|0|' 'nothing is held'
pg -c "SELECT FROM holdfast.acquire('one', 'x', 3000000)" \
    -c "SELECT FROM holdfast.acquire('two', 'x', 3000000, mode => 's0')" \
    -c "SELECT FROM holdfast.acquire('two', 'y', 3000000, place_ms => 2000000)" \
    -c "SELECT FROM holdfast.acquire('old', 'x', 3000000)" \
    -c "SELECT FROM holdfast.release('old', 'x', 0, 2000000)"
is "$(pg -c "SELECT held, waited, convert_from(name, 'UTF8')
    FROM holdfast.look(1)")" '2|1|one' 'two are held, one of them is waited for'

# ---- Sweeps
verb verdict "acquire('hot', 'x', 3000000)" >/dev/null
pg -c "SELECT count(*) FROM generate_series(1, 250) i,
    holdfast.acquire(('idle' || i)::bytea, 'x', 1)" \
    -c "UPDATE holdfast.lock SET kept_until = until WHERE name LIKE 'idle%'" >/dev/null
rows() {
    pg -c "SELECT count(*) FROM holdfast.lock WHERE name LIKE 'idle%'"
}
is "$(rows)" 250 'names of which some are idle soon'
ok 'all of them' wait_until 15 pg_is "(SELECT max(until) FROM holdfast.lock
    WHERE name LIKE 'idle%') < holdfast.clock() / 1000"
# Of a table this small, once it is analyzed, a scan may be as cheap.
like "$(pg -c 'ANALYZE holdfast.lock' -c 'SET enable_seqscan = off' \
    -c "EXPLAIN SELECT FROM holdfast.lock l
    WHERE l.ctid = ANY (holdfast.any_page('holdfast.lock'))")" 'Tid Scan' \
    'a new name looks at one page, and not at the whole table'
session_do C "BEGIN; SELECT FROM holdfast.lock WHERE name = 'idle7' FOR UPDATE"
after=''
for calls in 1 2 3 4 5 6 7 8 9; do
    after=$(pg -c "SELECT encode(holdfast.sweep(decode('$after', 'hex')),
        'hex')")
    [ -n "$after" ] || break
done
is "$calls:$(rows)" 3:1 'three batches pass over a name that is locked'
is "$(holder hot)" x 'and leave what is held'
session_do C COMMIT
session_do C "BEGIN; SELECT holdfast.sweep('')"
session_send B "SELECT verdict FROM holdfast.acquire('idle7', 'B', 1)"
ok 'who wants a name that is being deleted waits' \
    wait_until 15 session_is_blocked B
session_do C COMMIT
session_wait B
is "$got" 1 'and creates it anew'
pg -c "SELECT FROM holdfast.mark('brief', NULL, 5, 1, 'm')" \
    -c "SELECT FROM holdfast.mark('long', NULL, 5, 6000000, 'm')" \
    -c "SELECT FROM holdfast.value_put('there', 0, 'a', NULL, 'data')" \
    -c "SELECT FROM holdfast.value_put('gone', 0, 'b', NULL, 'data')" \
    -c "SELECT FROM holdfast.value_put('gone', NULL, 'c', 1, NULL)"
ok 'a mark and a deleted value expire' wait_until 15 pg_is "(SELECT
    max(until) FROM (SELECT until FROM holdfast.once WHERE name = 'brief' UNION
    SELECT until FROM holdfast.value WHERE name = 'gone') u)
    < holdfast.clock() / 1000"
pg -c "SELECT holdfast.sweep('', 1000)" >/dev/null
is "$(pg -c "SELECT name FROM holdfast.value WHERE name IN ('there', 'gone')
    UNION ALL SELECT name FROM
    holdfast.once WHERE name IN ('brief', 'long')")" $'\\x7468657265\n\\x6c6f6e67' \
    'and are swept, others are not'

# ---- The same, bit by bit
pg -c "SELECT FROM generate_series(1, 300) i,
    holdfast.acquire(('idle' || i)::bytea, 'x', 1)" \
    -c "UPDATE holdfast.lock SET kept_until = until WHERE name LIKE 'idle%'" \
    -c "SELECT FROM generate_series(1, 300) i, holdfast.mark(
        ('idle' || i)::bytea, NULL, 1, 1, 'm')" \
    -c "SELECT FROM generate_series(1, 300) i, holdfast.value_put(
        ('idle' || i)::bytea, NULL, 'a', 1, NULL)"
ok 'these are idle soon' wait_until 15 pg_is "(SELECT max(until) FROM
    (SELECT until FROM holdfast.lock WHERE name LIKE 'idle%' UNION SELECT until
    FROM holdfast.once WHERE name LIKE 'idle%' UNION SELECT until FROM
    holdfast.value WHERE name LIKE 'idle%') u) < holdfast.clock() / 1000"
for i in {1..400}; do
    echo "SELECT FROM holdfast.acquire('new$i', 'x', 6000000, alone => true);
        SELECT FROM holdfast.mark('new$i', NULL, 1, 6000000, 'm');
        SELECT FROM holdfast.value_put('new$i', 0, 'a', NULL, 'data');"
done | pg
for table in lock once value; do
    left=$(pg -c "SELECT count(*) FROM holdfast.$table
        WHERE name LIKE 'idle%' AND name <> 'idle7'")
    ok "400 new names of $table leave few idle ones ($left)" test "$left" -lt 30
    is "$(pg -c "SELECT count(*) FROM holdfast.$table WHERE name LIKE 'new%'")" \
        400 'and each other'
done

# ---- A standby, and its promotion
standby=$W/standby
mkdir -m 700 "$standby"
[ "$(id -u)" != 0 ] || chown postgres:postgres "$standby"
(as_database_user postgres "$PG_BIN/pg_basebackup" -h "$PGHOST" -U postgres \
    -D "$standby/data" -c fast -R) >"$W/backup" 2>&1 || diag "$(cat "$W/backup")"
(cd "$standby" && as_database_user postgres "$PG_BIN/postgres" \
    -D "$standby/data" -c listen_addresses= -c fsync=off \
    -c unix_socket_directories="$standby" -c shared_buffers=16MB) \
    >"$W/standby.log" 2>&1 </dev/null &
STANDBY_PID=$!
standby_stop() {
    kill -QUIT "$STANDBY_PID" 2>/dev/null
    wait "$STANDBY_PID" 2>/dev/null
}
at_exit standby_stop
export PGHOST=$standby
ok 'a standby' wait_until 30 "$PG_BIN/pg_isready" -q
refused 'a grant there' '25006|55000' "SELECT holdfast.acquire('new', 'x', 1)"
is "$(pg -c "SELECT content FROM holdfast.facts()
    WHERE field = 'server:recovery'")" 1 'which says what it is'
session_open S
session_do S 'SELECT 1'
pg -c 'SELECT pg_promote()' >/dev/null
session_do S "SELECT verdict FROM holdfast.acquire('new', 'x', 3000000,
    marker => 'm2')"
is "$got" -1 'promoted, it grants nothing by the marker of before'
finish
