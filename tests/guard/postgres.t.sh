#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard postgres, on a real server: accepted and refused writes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
# timeout: 240
postgres_start || skip_all "no PostgreSQL"

install() { # as ROLE
    holdfast guard postgres | pg_as "$1"
}

runs() { # TITLE SQL
    capture pg -c "$2"
    is "$code:$err" 0: "$1"
}

refused() { # TITLE REGEX SQL
    capture pg -v VERBOSITY=verbose -c "$3"
    isnt "$code" 0 "$1: refused"
    like "$err" "$2" "$1: says it"
}

memory() { # NAME
    pg -c "SELECT fence FROM holdfast.guard WHERE name = '$1'"
}

# ---- Installation
capture install postgres
is "$code:$out$err" 0: 'it installs, silently'
capture install postgres
is "$code:$out$err" 0: 'and again'

# ---- The function
runs 'a first fence' "SELECT holdfast.fence('a', 41)"
is "$(pg -c "SELECT holdfast.fence('a', 41)")" t 'an equal fence passes'
runs 'a larger one' "SELECT holdfast.fence('a', 42)"
refused 'a lower one' \
    "HF001: holdfast: fence 41 of 'a' is stale: 42 was presented" \
    "SELECT holdfast.fence('a', 41)"
is "$(memory a)" 42 'the memory is the largest'
refused 'fence 0, of a command without its lock' 'holdfast: 0 is no fence' \
    "SELECT holdfast.fence('a', 0)"
refused 'a negative fence' 'holdfast: -43 is no fence' \
    "SELECT holdfast.fence('a', -43)"
refused 'no fence' 'holdfast: NULL is no fence' \
    "SELECT holdfast.fence('a', NULL)"
refused 'no name' "name has no bytes, must be 1 to 1028" \
    'SELECT holdfast.fence(NULL, 1)'
refused 'an empty name' 'name has 0 bytes' "SELECT holdfast.fence('', 1)"
refused 'a name of 1029 bytes' 'name has 1029 bytes' \
    "SELECT holdfast.fence(repeat('x', 1029), 1)"
runs 'a name of 1028 bytes' "SELECT holdfast.fence(repeat('x', 1028), 1)"
runs 'a fence beyond 2^53, as text' \
    "SELECT holdfast.fence('big', '9007199254740993')"
refused 'its neighbour below' '9007199254740992 of .* 9007199254740993' \
    "SELECT holdfast.fence('big', '9007199254740992')"
runs 'the largest fence' "SELECT holdfast.fence('big', 9223372036854775807)"
refused 'a larger one' 'does not exist|out of range' \
    "SELECT holdfast.fence('big', 9223372036854775808)"
for name in 'two words' "it''s" '"quoted"' 'back\slash' '%' 'gpu#3' 'ü' ' a' \
    'a '; do
    runs "name <$name>" "SELECT holdfast.fence('$name', 7)"
    refused "name <$name>, lower" 'fence 6 .* stale: 7' \
        "SELECT holdfast.fence('$name', 6)"
done
runs 'a name with a newline' "SELECT holdfast.fence(E'a\\nb', 7)"
refused 'a name with NUL' 'u0000|0x00' "SELECT holdfast.fence(E'a\\u0000b', 7)"
refused 'a name that is not UTF-8' 'invalid byte sequence' \
    "SELECT holdfast.fence(E'a\\xff', 7)"
is "$(memory a)" 42 'none of these touched a'
refused 'a parameter of type text' 'fence\(text, text\) does not exist' \
    "PREPARE p (text, text) AS SELECT holdfast.fence(\$1, \$2); EXECUTE p('typed', '6')"
runs 'a parameter of type text, as docs/fencing.md says' \
    "PREPARE p (text, text) AS SELECT holdfast.fence(\$1, \$2::bigint); EXECUTE p('typed', '6')"

# ---- One transaction
pg -c "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)"
refused 'a stale write' "fence 41 of 'a' is stale" \
    "BEGIN; SELECT holdfast.fence('a', 41); UPDATE t SET v = 9; COMMIT"
is "$(pg -c 'SELECT v FROM t')" 0 'nothing was written'
refused 'in one statement, under autocommit' "fence 41 of 'a' is stale" \
    "UPDATE t SET v = 9 WHERE id = 1 AND holdfast.fence('a', 41)"
runs 'the same with the current fence' \
    "UPDATE t SET v = 8 WHERE id = 1 AND holdfast.fence('a', 42)"
is "$(pg -c 'SELECT v FROM t')" 8 'it was written'
runs 'a rollback' "BEGIN; SELECT holdfast.fence('a', 50); ROLLBACK"
is "$(memory a)" 42 'a rollback forgets'
runs 'a savepoint' "BEGIN; SELECT holdfast.fence('a', 43); SAVEPOINT s;
    SELECT holdfast.fence('a', 60); ROLLBACK TO s; COMMIT"
is "$(memory a)" 43 'a rollback to a savepoint forgets later fences'
refused 'two names, one of them stale' "fence 1 of 'a' is stale: 43" \
    "BEGIN; SELECT holdfast.fence('two', 9), holdfast.fence('a', 1); COMMIT"
is "$(memory two)" '' 'neither is remembered'
runs 'two names' \
    "BEGIN; SELECT holdfast.fence('two', 9), holdfast.fence('a', 43); COMMIT"
runs 'a prepared statement' "PREPARE p AS SELECT holdfast.fence(\$1, \$2);
    EXECUTE p('p', 5); EXECUTE p('p', 5); EXECUTE p('p', 6)"
refused 'a prepared statement with a stale fence' 'fence 5 .* stale: 6' \
    "PREPARE p AS SELECT holdfast.fence(\$1, \$2); EXECUTE p('p', '5')"

# ---- Two transactions
before=$(pg -c "SELECT ctid, xmin FROM holdfast.guard WHERE name = 'a'")
session_open A
session_open B
session_do A "BEGIN; SELECT holdfast.fence('a', 43)"
session_do B "BEGIN; SELECT holdfast.fence('a', 43)"
is "$got" t 'equal fences share the row'
session_do A 'COMMIT'
session_do B 'COMMIT'
is "$(pg -c "SELECT ctid, xmin FROM holdfast.guard WHERE name = 'a'")" \
    "$before" 'and write no new version of it'

# A is stopped between its check and its write.
session_do A "BEGIN; SELECT holdfast.fence('a', 43)"
session_send B "BEGIN; SELECT holdfast.fence('a', 44)"
ok 'a newer fence waits for a check' wait_until 15 session_is_blocked B
session_do A 'UPDATE t SET v = v + 1; COMMIT'
is "$got" '' 'the older write is whole before'
session_wait B
is "$got" t 'then the newer passes'
session_send A "BEGIN; SELECT holdfast.fence('a', 43)"
ok 'an equal-to-the-old one waits for it' wait_until 15 session_is_blocked A
session_do B 'COMMIT'
session_wait A
like "$got" "HF001.*fence 43 of 'a' is stale: 44" 'and is refused'
session_do A 'UPDATE t SET v = 99'
like "$got" 'current transaction is aborted' 'with all that follows'
session_do A 'ROLLBACK'
session_do B "BEGIN; SELECT holdfast.fence('a', 45)"
session_send A "BEGIN; SELECT holdfast.fence('a', 44)"
ok 'it waits again' wait_until 15 session_is_blocked A
session_do B 'ROLLBACK'
session_wait A
is "$got" t 'and passes if the newer was rolled back'
session_do A 'ROLLBACK'

# Old holders whose transactions overlap must not keep a newer fence waiting.
session_open C
pg -c "SELECT holdfast.fence('many', 5)"
session_do A "BEGIN; SELECT holdfast.fence('many', 5)"
session_send B "BEGIN; SELECT holdfast.fence('many', 6)"
ok 'a newer fence waits for an old transaction' wait_until 15 session_is_blocked B
session_send C "BEGIN; SELECT holdfast.fence('many', 5)"
ok 'an old one that begins then waits behind it' wait_until 15 session_is_blocked C
session_do A "SELECT holdfast.fence('many', 5), holdfast.fence('more', 5)"
is "$got" 't|t' 'the one that passed presents its fence again'
session_do A 'COMMIT'
session_wait B
is "$got" t 'then the newer one passes'
session_do B 'COMMIT'
session_wait C
like "$got" "fence 5 of 'many' is stale: 6" 'and the old one is refused'
session_do C ROLLBACK
often="BEGIN; SELECT count(holdfast.fence('many', 6)) FROM generate_series(1, 20);
    SELECT holdfast.fence('more', 5)"
session_do A "$often"
session_send B "BEGIN; SELECT holdfast.fence('more', 6)"
ok 'after one name 20 times: a newer fence of the next waits' \
    wait_until 15 session_is_blocked B
session_send C "$often"
ok 'and an old one that begins then waits behind it' wait_until 15 session_is_blocked C
session_do A COMMIT
session_wait B
is "$got" t 'the newer one passes'
session_do B COMMIT
session_wait C
like "$got" "fence 5 of 'more' is stale: 6" 'and the old one is refused'
session_do C ROLLBACK

# The first of two transactions goes on while the second, with a newer fence,
# waits for it: before and after the second has looked for a deadlock.
looked() { # COUNT: at least so many times
    [ "$(grep -c 'still waiting for' "$W/B.out")" -ge "$1" ]
}
goes_on() { # TITLE NAME FIRST SECOND AGAIN: statements of A, B and A
    local title="$1, $when" count
    session_do A "BEGIN; $3"
    unlike "$got" ERROR "$title: the first passes"
    count=$(grep -c 'still waiting for' "$W/B.out")
    session_send B "BEGIN; $4"
    ok "$title: the second waits" wait_until 15 session_is_blocked B
    [ "$when" = before ] || ok "$title: it looks for a deadlock" \
        wait_until 15 looked $((count + 1))
    session_do A "$5; COMMIT"
    unlike "$got" ERROR "$title: the first goes on"
    session_wait B
    unlike "$got" ERROR "$title: then the second passes"
    session_do B COMMIT
    is "$(memory "$2")" 7 "$title: and is remembered"
}
pg -c 'CREATE TABLE pair (id int PRIMARY KEY, v int, fence bigint)'
holdfast guard postgres --table pair --lock 'pair' | pg
session_do B 'SET client_min_messages = log; SET log_lock_waits = on'
# The one that looks first is rolled back.
for when in before after; do
    if [ "$when" = before ]; then
        session_do A "SET deadlock_timeout = '1min'"
        session_do B "SET deadlock_timeout = '2s'"
    else
        session_do A "SET deadlock_timeout = '100ms'"
        session_do B "SET deadlock_timeout = '10ms'"
    fi
    pg -c "TRUNCATE pair; DELETE FROM holdfast.guard WHERE name = 'pair'" \
        -c 'BEGIN' -c "SELECT holdfast.fence('pair', 1)" \
        -c 'INSERT INTO pair VALUES (1, 0, 4), (2, 0, 4)' -c COMMIT
    column='UPDATE pair SET v = v + 1, fence ='
    goes_on 'two by the column' pair "$column 5 WHERE id = 1" \
        "$column 7 WHERE id = 2" "$column 5 WHERE id = 1"
    goes_on 'the column, then the function' pair "DELETE FROM holdfast.guard
        WHERE name = 'pair'; $column 4 WHERE id = 1; COMMIT; BEGIN;
        $column 5 WHERE id = 1" "SELECT holdfast.fence('pair', 7)" \
        "$column 5 WHERE id = 1"
    fence() { # FENCE
        echo "SELECT holdfast.fence('$when', $1)"
    }
    # FIRST and AGAIN: of a guard that has 4, and of one that has no row
    for fences in '5 5' '4 4' '4 5' '5 6'; do
        for known in 4 ''; do
            # 16 names before: no advisory lock is left for this one
            for many in '' "SELECT count(holdfast.fence('n' || i, 1))
                FROM generate_series(1, 16) i; "; do
                pg -c "DELETE FROM holdfast.guard WHERE name = '$when'"
                [ -z "$known" ] || pg -c "$(fence "$known")" >"$W/log"
                goes_on "fence ${fences/ /, then }, known ${known:-none}${many:+, many names}" \
                    "$when" "$many$(fence "${fences% *}")" "$(fence 7)" "$(fence "${fences#* }")"
            done
        done
    done
done
session_do A 'RESET ALL'
session_do B 'RESET ALL'

runs 'more names in one transaction than the server has locks' "BEGIN;
    SELECT count(holdfast.guard_check('many-' || i, 1)) FROM generate_series(1, 20000) i;
    COMMIT; BEGIN;
    SELECT count(holdfast.guard_check('many-' || i, 1)) FROM generate_series(1, 20000) i;
    SELECT count(holdfast.guard_check('many-' || i, 2)) FROM generate_series(1, 20000) i;
    COMMIT"
session_do A "BEGIN; SELECT holdfast.fence('a', 50)"
session_send B "BEGIN; SELECT holdfast.fence('a', 49)"
ok 'two that are both newer: the second waits' wait_until 15 session_is_blocked B
session_do A 'COMMIT'
session_wait B
like "$got" "fence 49 of 'a' is stale: 50" 'and is refused, being lower'
session_do B 'ROLLBACK'
is "$(memory a)" 50 'the memory never falls'
session_do A "BEGIN; SELECT holdfast.fence('fresh', 5)"
session_send B "BEGIN; SELECT holdfast.fence('fresh', 4)"
ok 'a name without a row: the second waits' wait_until 15 session_is_blocked B
session_do A 'COMMIT'
session_wait B
like "$got" "fence 4 of 'fresh' is stale: 5" 'and is refused'
session_do B 'ROLLBACK'
for level in 'REPEATABLE READ' SERIALIZABLE; do
    session_do A "BEGIN ISOLATION LEVEL $level; SELECT v FROM t"
    runs 'a newer fence meanwhile' "SELECT holdfast.fence('fresh', 6)"
    session_do A "SELECT holdfast.fence('fresh', 5)"
    like "$got" '40001' "$level: an old snapshot is refused"
    session_do A ROLLBACK
    pg -c "UPDATE holdfast.guard SET fence = 5 WHERE name = 'fresh'"
    # The hole that docs/fencing.md names: the snapshot is older than the wait.
    pg -c 'UPDATE t SET v = 0'
    session_do A "BEGIN; SELECT holdfast.fence('fresh', 5); UPDATE t SET v = 1"
    session_send B "BEGIN ISOLATION LEVEL $level; SELECT holdfast.fence('fresh', 9)"
    ok "$level: a newer fence waits" wait_until 15 session_is_blocked B
    session_do A COMMIT
    session_wait B
    session_do B 'SELECT v FROM t'
    is "$got" 0 "$level: it reads the state before the write that it waited for"
    session_do B 'UPDATE t SET v = v + 10'
    like "$got" '40001' "$level: it cannot update that row"
    session_do B ROLLBACK
done

# The hole of "one statement" that docs/fencing.md names.
pg -c "INSERT INTO t VALUES (2, 0)" -c "SELECT holdfast.fence('two-1', 5)"
session_do A "BEGIN; SELECT holdfast.fence('two-1', 5); DELETE FROM t WHERE id = 2;
    INSERT INTO t VALUES (2, 1)"
session_send B "UPDATE t SET v = 7 WHERE id = 2 AND holdfast.fence('two-1', 6) RETURNING v"
ok 'one statement waits for an older holder' wait_until 15 session_is_blocked B
session_do A COMMIT
session_wait B
is "$got:$(pg -c 'SELECT v FROM t WHERE id = 2')" :1 \
    'which wrote the row anew: it writes no row, and is no error'
session_do A "BEGIN; SELECT holdfast.fence('two-1', 6); DELETE FROM t WHERE id = 2;
    INSERT INTO t VALUES (2, 1)"
session_send B "BEGIN; SELECT holdfast.fence('two-1', 7); UPDATE t SET v = 7 WHERE id = 2;
    COMMIT"
ok 'two statements wait' wait_until 15 session_is_blocked B
session_do A COMMIT
session_wait B
is "$got:$(pg -c 'SELECT v FROM t WHERE id = 2')" t:7 'and write it'

# After an error, stop: clients with a savepoint around each statement go on.
pg -c "SELECT holdfast.fence('stop', 6)"
capture "$PG_BIN/psql" -XAtq -U postgres -v ON_ERROR_ROLLBACK=on -c 'SELECT 1' -f - <<'SQL'
BEGIN;
SELECT holdfast.fence('stop', 5);
UPDATE t SET v = 55 WHERE id = 2;
COMMIT;
SQL
like "$err" "fence 5 of 'stop' is stale" 'a savepoint around each statement: the error'
is "$(pg -c 'SELECT v FROM t WHERE id = 2')" 55 \
    'a client that goes on writes, as docs/fencing.md says'
refused 'one statement writes nothing then' "fence 5 of 'stop' is stale" \
    "BEGIN; SAVEPOINT s; UPDATE t SET v = 56 WHERE id = 2 AND holdfast.fence('stop', 5)"
pg -c 'DELETE FROM t WHERE id = 2'

# A holder that is paused inside its transaction, which docs/fencing.md bounds.
session_open paused
session_do paused "SET idle_in_transaction_session_timeout = '1s'; BEGIN;
    SELECT holdfast.fence('a', 60); UPDATE t SET v = 77"
kill -STOP "${SESSION_PID[paused]}"
session_do B "SELECT holdfast.fence('a', 61)"
is "$got" t 'a newer fence passes when the server has ended a paused transaction'
isnt "$(pg -c 'SELECT v FROM t')" 77 'which wrote nothing'
kill -CONT "${SESSION_PID[paused]}"
echo 'COMMIT;' >&"${SESSION_FD[paused]}"
ok 'its COMMIT fails' wait_until 15 grep -q 'idle-in-transaction timeout' "$W/paused.out"
session_do A "BEGIN; SELECT holdfast.fence('a', 61)"
session_do B "SET lock_timeout = '100ms'; SELECT holdfast.fence('a', 62)"
like "$got" 55P03 'lock_timeout bounds the wait itself'
session_do A COMMIT
session_do B 'RESET lock_timeout'

# ---- The trigger
pg <<'SQL'
CREATE TABLE accounts (id int PRIMARY KEY, balance int, fence bigint NOT NULL);
SQL
holdfast guard postgres --table accounts --lock 'account-{id}' | pg
is "$?" 0 'the trigger installs'
holdfast guard postgres --table public.accounts --lock 'account-{id}' | pg
is "$?" 0 'and again'
row() { # ID
    pg -c "SELECT balance, abs(fence) FROM accounts WHERE id = $1"
}
runs INSERT 'INSERT INTO accounts VALUES (7, 100, 42)'
is "$(row 7)" '100|42' 'the row has its fence'
is "$(memory account-7)" 42 'and the guard remembers it'
refused 'INSERT with a lower fence' "fence 41 of 'account-7' is stale: 42" \
    'DELETE FROM accounts WHERE false; INSERT INTO accounts VALUES (7, 1, 41)'
refused 'INSERT without one' "HF002: holdfast: INSERT of public.accounts presents no \
fence of 'account-8'" 'INSERT INTO accounts VALUES (8, 1)'
refused 'INSERT with fence 0' '0 is no fence' \
    'INSERT INTO accounts VALUES (8, 1, 0)'
refused 'UPDATE with a lower fence' "fence 41 of 'account-7' is stale: 42" \
    'UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
refused 'UPDATE without the column' \
    "HF002: holdfast: UPDATE of public.accounts presents no fence of 'account-7'" \
    'UPDATE accounts SET balance = 1 WHERE id = 7'
refused 'UPDATE with the fence that the row has' 'presents no fence' \
    'UPDATE accounts SET balance = 1, fence = fence WHERE id = 7'
refused 'DELETE' "HF002: holdfast: DELETE of public.accounts presents no fence" \
    'DELETE FROM accounts WHERE id = 7'
is "$(row 7)" '100|42' 'the row is as it was'
runs 'UPDATE with an equal fence' \
    'UPDATE accounts SET balance = 99, fence = 42 WHERE id = 7'
runs 'UPDATE with a larger one' \
    'UPDATE accounts SET balance = 98, fence = 43 WHERE id = 7'
is "$(row 7):$(memory account-7)" '98|43:43' 'both are kept'
runs 'DELETE with the function' "BEGIN; SELECT holdfast.fence('account-7', 43);
    DELETE FROM accounts WHERE id = 7; COMMIT"
refused 'INSERT of an old holder after the DELETE' \
    "fence 42 of 'account-7' is stale: 43" \
    'INSERT INTO accounts VALUES (7, 1, 42)'
runs 'UPDATE and INSERT with the function' \
    "BEGIN; SELECT holdfast.fence('account-7', 44);
    INSERT INTO accounts VALUES (7, 5, NULL);
    UPDATE accounts SET balance = 6 WHERE id = 7; COMMIT"
is "$(row 7)" '6|44' 'they set the column too'
refused 'the function in an earlier transaction' 'presents no fence' \
    "BEGIN; SELECT holdfast.fence('account-7', 44); COMMIT;
    DELETE FROM accounts WHERE id = 7"
refused 'the function after a savepoint that was rolled back' \
    'presents no fence' "BEGIN; SAVEPOINT s;
    SELECT holdfast.fence('account-7', 44); ROLLBACK TO s;
    DELETE FROM accounts WHERE id = 7; COMMIT"
refused 'the function with another name' "presents no fence of 'account-7'" \
    "BEGIN; SELECT holdfast.fence('account-77', 44);
    DELETE FROM accounts WHERE id = 7; COMMIT"
refused 'a setting with a stale fence instead of the function' \
    "fence 43 of 'account-7' is stale: 44" \
    "SET holdfast.presented = ' 6163636f756e742d37=43';
    DELETE FROM accounts WHERE id = 7"
refused 'a row that moves to another lock' \
    "UPDATE of public.accounts presents no fence of 'account-7'" \
    'UPDATE accounts SET id = 9, fence = 90 WHERE id = 7'
runs 'a row that moves, with both' \
    "BEGIN; SELECT holdfast.fence('account-7', 44);
    UPDATE accounts SET id = 9, fence = 90 WHERE id = 7; COMMIT"
is "$(row 9)" '6|90' 'it moved'
runs 'an upsert that inserts' "INSERT INTO accounts VALUES (10, 1, 5)
    ON CONFLICT (id) DO UPDATE SET balance = 2, fence = EXCLUDED.fence"
runs 'an upsert that updates' "INSERT INTO accounts VALUES (10, 1, 6)
    ON CONFLICT (id) DO UPDATE SET balance = 2, fence = EXCLUDED.fence"
is "$(row 10)" '2|6' 'it updated'
refused 'an upsert with a lower fence' "fence 5 of 'account-10' is stale: 6" \
    "INSERT INTO accounts VALUES (10, 1, 5)
    ON CONFLICT (id) DO UPDATE SET balance = 3"
pg -c 'CREATE TABLE other (id int, v int); INSERT INTO other VALUES (10, 4)'
if [ "$(pg -c 'SHOW server_version_num')" -lt 150000 ]; then
    skip MERGE 'before PostgreSQL 15'
else
    refused 'MERGE without the column' 'UPDATE of public.accounts presents no fence' \
        'MERGE INTO accounts a USING other o ON a.id = o.id
        WHEN MATCHED AND a.balance > 1000 THEN UPDATE SET fence = 6
        WHEN MATCHED THEN UPDATE SET balance = o.v'
    refused 'MERGE that deletes' 'DELETE of public.accounts presents no fence' \
        'MERGE INTO accounts a USING other o ON a.id = o.id
        WHEN MATCHED THEN DELETE'
    runs 'MERGE with it' 'MERGE INTO accounts a USING other o ON a.id = o.id
        WHEN MATCHED THEN UPDATE SET balance = o.v, fence = 7'
    is "$(row 10)" '4|7' 'it merged'
fi
runs COPY "COPY accounts FROM PROGRAM 'printf ''11\\t1\\t3\\n12\\t1\\t3\\n'''"
refused 'COPY with a lower fence' "fence 2 of 'account-11' is stale: 3" \
    "COPY accounts FROM PROGRAM 'printf ''13\\t1\\t3\\n11\\t1\\t2\\n'''"
is "$(row 13)" '' 'none of its rows stays'
refused 'many rows, one of them without' "no fence of 'account-9'" \
    "BEGIN; SELECT holdfast.fence('account-11', 3);
    UPDATE accounts SET balance = 0; COMMIT"

# The deadlocks that docs/fencing.md names.
deadlock() { # TITLE: A and B were sent the statements that meet
    session_wait A
    both=$got
    session_wait B
    like "$both$got" '40P01.*deadlock detected' "$1: one is rolled back"
    session_do A ROLLBACK
    session_do B ROLLBACK
}
pg -c "DELETE FROM holdfast.guard WHERE name = 'pair'" \
    -c "$column 4 WHERE id = 1"
session_do A "BEGIN; $column 5 WHERE id = 1"
session_send B "BEGIN; $column 6 WHERE id = 2"
ok 'a newer fence in another row of the lock waits' wait_until 15 session_is_blocked B
session_send A "$column 5 WHERE id = 2"
deadlock 'two rows of one lock, by the column'
session_do A "BEGIN; SELECT holdfast.fence('pair', 5); $column 5 WHERE id = 1"
session_send B "BEGIN; SELECT holdfast.fence('pair', 6); $column 6 WHERE id = 2"
ok 'both by the function first: it waits, too' wait_until 15 session_is_blocked B
session_do A "$column 5 WHERE id = 2; COMMIT"
session_wait B
is "$got" t 'both pass'
session_do B ROLLBACK
session_do A "BEGIN; SELECT holdfast.fence('pair', 5)"
session_do B "BEGIN; SELECT holdfast.fence('pair', 5)"
session_send A "SELECT holdfast.fence('pair', 6)"
ok 'one of two that share presents a newer one' wait_until 15 session_is_blocked A
session_send B "SELECT holdfast.fence('pair', 6)"
deadlock 'two fences of one name in both transactions'

# One form locks the row first, the other the name, as docs/fencing.md says.
session_do B "BEGIN; SELECT holdfast.fence('account-12', 5)"
session_send A 'UPDATE accounts SET balance = 2, fence = 4 WHERE id = 12'
ok 'the column waits for the function' wait_until 15 session_is_blocked A
session_do B 'UPDATE accounts SET balance = 3 WHERE id = 12; COMMIT'
both=$got
session_wait A
like "$both$got" '40P01.*deadlock detected' 'the two forms in a deadlock: one is rolled back'

# Names, columns and tables that need quotes; a key of several columns.
pg -c 'CREATE SCHEMA "S 1"; CREATE TABLE "S 1"."T""x" ("a b" text, slot int,
    "f '"'"'" bigint)'
holdfast guard postgres --table 'S 1.T"x' --lock "it's\\{a b}#{slot}" \
    --column "f '" | pg
is "$?" 0 'quotes and blanks everywhere'
runs 'INSERT there' "INSERT INTO \"S 1\".\"T\"\"x\" VALUES ('it''s', 3, 8)"
is "$(pg -c "SELECT name, fence FROM holdfast.guard WHERE fence = 8")" \
    "it's\\it's#3|8" 'its name'
refused 'UPDATE there' "'it''s..it''s#3'" \
    "UPDATE \"S 1\".\"T\"\"x\" SET \"f '\" = 7"
refused 'a row without a name' "name has no bytes" \
    "INSERT INTO \"S 1\".\"T\"\"x\" VALUES (NULL, 3, 8)"

# Partitions, cascades.
pg <<'SQL'
CREATE TABLE p (id int, part int, v int, fence bigint) PARTITION BY LIST (part);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int REFERENCES parent ON DELETE CASCADE, fence bigint);
SQL
holdfast guard postgres --table p --lock 'p-{id}' | pg
holdfast guard postgres --table child --lock 'child' | pg
runs 'INSERT into a partition' 'INSERT INTO p VALUES (1, 1, 0, 5)'
refused 'UPDATE of a partition by its own name' 'fence 4 .* stale: 5' \
    'UPDATE p1 SET v = 1, fence = 4'
runs 'a row that changes its partition' 'UPDATE p SET part = 2, fence = 6'
refused 'one that does, with a lower fence' 'fence 5 .* stale: 6' \
    'UPDATE p SET part = 1, fence = 5'
runs 'a child' 'INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1, 5)'
refused 'a DELETE that cascades' 'DELETE of public.child presents no fence' \
    'DELETE FROM parent'
runs 'one with the fence' \
    "BEGIN; SELECT holdfast.fence('child', 5); DELETE FROM parent; COMMIT"
runs 'TRUNCATE fires no row trigger, as docs/fencing.md says' 'TRUNCATE child'

# Rows that were there before: their fences are stored, not presented.
pg <<'SQL'
CREATE TABLE old (id int PRIMARY KEY, b int, fence bigint);
INSERT INTO old VALUES (7, 100, 500), (8, 100, NULL), (9, 100, 0);
CREATE TABLE words (id int, b int, fence text);
INSERT INTO words VALUES (1, 0, '500');
CREATE TABLE parts (id int, part int, fence bigint) PARTITION BY LIST (part);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1);
INSERT INTO parts VALUES (1, 1, 500);
SQL
holdfast guard postgres --table old --lock 'old-{id}' | pg
holdfast guard postgres --table words --lock 'words' | pg
holdfast guard postgres --table parts --lock 'parts-{id}' | pg
refused 'an old row without a fence' "HF002.*presents no fence of 'old-7'" \
    'UPDATE old SET b = 0 WHERE id = 7'
refused 'an old row of a partition' "presents no fence of 'parts-1'" \
    'UPDATE parts SET part = 1'
refused 'an old row with its fence as text' "presents no fence of 'words'" \
    'UPDATE words SET b = 1'
is "$(pg -c 'SELECT b, fence FROM old ORDER BY id' | xargs)" \
    '100|-500 100| 100|0' 'old fences are negated'
runs 'an old row with a lower fence than it had' \
    'UPDATE old SET b = 1, fence = 400 WHERE id = 7'
runs 'a row of the guard' 'INSERT INTO old VALUES (10, 1, 7)'
holdfast guard postgres --table old --lock 'old-{id}' | pg
is "$?:$(pg -c 'SELECT fence FROM old ORDER BY id' | xargs)" '0:-400 0 -7' \
    'installing again changes no value'
pg -c 'CREATE TABLE parts2 (LIKE parts); INSERT INTO parts2 VALUES (2, 2, 5);
    ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES IN (2)'
holdfast guard postgres --table parts --lock 'parts-{id}' | pg
refused 'an attached partition, installed again' "presents no fence of 'parts-2'" \
    'UPDATE parts SET part = 2 WHERE id = 2'

# The name of a row's lock is the same text in each session.
pg <<'SQL'
CREATE TABLE slots (at timestamptz, day date, f float8, i interval, h bytea, m money,
    r regclass, v int, fence bigint);
SQL
holdfast guard postgres --table slots --lock '{at},{day},{f},{i},{h},{r},{m}' | pg
runs 'a row whose name has many types' "SET timezone = 'UTC';
    INSERT INTO slots VALUES ('2026-01-02 12:00+00', '2026-01-02', 0.1::float8 + 0.2,
        '1 day 2:00', 'abc', 5, 'pg_class', 0, 900)"
stale='2026-01-02 12:00:00\+00,2026-01-02,0.30000000000000004,1 day 02:00:00,'
stale="fence 5 of .*'$stale.*x616263,pg_class,.*5.00' is stale: 900"
for setting in "timezone = 'Europe/Berlin'" "datestyle = 'German'" \
    'extra_float_digits = -3' "intervalstyle = 'iso_8601'" \
    "bytea_output = 'escape'" 'quote_all_identifiers = on'; do
    refused "$setting" "$stale" "SET $setting; UPDATE slots SET v = 1, fence = 5"
done

# Tables that inherit: a write of the parent runs the triggers of each row's own
# table.
pg <<'SQL'
CREATE TABLE top (id int, b int, fence bigint);
CREATE TABLE heir () INHERITS (top);
INSERT INTO heir VALUES (7, 100, NULL);
SQL
capture bash -c "holdfast guard postgres --table top --lock 'top-{id}' |
    psql -XAtq -U postgres -v ON_ERROR_STOP=1"
isnt "$code" 0 'a table with a child that has no guard: not installed'
like "$err" 'holdfast: the table heir inherits from top and has no guard' \
    'and says it'
holdfast guard postgres --table heir --lock 'top-{id}' | pg
is "$?" 0 'the child alone'
refused 'its row by a write of the parent' "heir presents no fence of 'top-7'" \
    'UPDATE top SET b = 0'
refused 'its row by a DELETE of the parent' "heir presents no fence of 'top-7'" \
    'DELETE FROM top'
holdfast guard postgres --table top --lock 'top-{id}' | pg
is "$?" 0 'then the parent'
pg -c 'ALTER TABLE heir DISABLE TRIGGER holdfast_guard'
capture bash -c "holdfast guard postgres --table top --lock 'top-{id}' |
    psql -XAtq -U postgres -v ON_ERROR_STOP=1"
like "$err" 'the table heir inherits from top and has no guard' 'a disabled one is none'
pg <<'SQL'
CREATE TABLE first (id int, b int, fence bigint);
CREATE TABLE second () INHERITS (first);
INSERT INTO second VALUES (7, 100, NULL);
SQL
holdfast guard postgres --table second --lock 'first-{id}' | pg
pg -c 'CREATE TABLE third () INHERITS (second)' \
    -c 'CREATE TABLE fourth () INHERITS (third)' \
    -c "CREATE TRIGGER holdfast_guard BEFORE INSERT OR UPDATE OR DELETE ON third
        FOR EACH ROW EXECUTE FUNCTION holdfast.guard_row('fence', 'first-', 'id')"
capture bash -c "holdfast guard postgres --table first --lock 'first-{id}' |
    psql -XAtq -U postgres -v ON_ERROR_STOP=1"
isnt "$code" 0 'a grandchild that has no guard: not installed'
like "$err" 'the table fourth inherits from first and has no guard' 'and says it'
holdfast guard postgres --table fourth --lock 'first-{id}' | pg
holdfast guard postgres --table first --lock 'first-{id}' | pg
is "$?" 0 'it is, when all have one'
runs 'DETACH PARTITION leaves a table without a guard, as docs/fencing.md says' \
    'ALTER TABLE parts DETACH PARTITION parts1; UPDATE parts1 SET part = 3'

pg -c 'CREATE TABLE taken (id int, b int, fence bigint)'
holdfast guard postgres --table taken --lock 'taken-{id}' | pg
pg -c 'ALTER TABLE taken RENAME TO taken_old' -c 'CREATE TABLE taken (LIKE taken_old)'
refused 'a table that was renamed keeps its guard' "taken_old presents no fence of 'taken-1'" \
    'INSERT INTO taken_old VALUES (1, 0)'
runs 'a new table that takes its name has none, as docs/fencing.md says' \
    'INSERT INTO taken VALUES (1, 0)'

# A name cannot be made of what is computed after the trigger.
pg -c 'CREATE TABLE made (id int, k int GENERATED ALWAYS AS (id + 1) STORED,
    fence bigint)'
capture bash -c "holdfast guard postgres --table made --lock '{k}' |
    psql -XAtq -U postgres -v ON_ERROR_STOP=1"
isnt "$code" 0 'a generated column in the name: not installed'
like "$err" 'holdfast: the column k of made is generated' 'and says it'
capture bash -c "holdfast guard postgres --table made --lock '{none}' |
    psql -XAtq -U postgres -v ON_ERROR_STOP=1"
isnt "$code" 0 'no column of the name: not installed'
like "$err" 'holdfast: made has no column none' 'and says it'

# `real` rounds the fences of two minutes to one: the older would pass.
pg -c "CREATE DOMAIN fence_type AS bigint CHECK (VALUE <> 0);
    CREATE DOMAIN rounded AS double precision"
for kind in real 'double precision' rounded smallint integer oid 'char(20)'; do
    pg -c "DROP TABLE IF EXISTS typed; CREATE TABLE typed (id int, fence $kind)"
    capture bash -c "holdfast guard postgres --table typed --lock 'typed-{id}' |
        psql -XAtq -U postgres -v ON_ERROR_STOP=1"
    isnt "$code" 0 "a column of type $kind: not installed"
    like "$err" 'the column fence of typed is of type .*: it must be of type bigint' \
        'and says it'
done
for kind in fence_type numeric 'varchar(20)'; do
    pg -c "DROP TABLE typed; CREATE TABLE typed (id int, fence $kind)"
    holdfast guard postgres --table typed --lock "$kind-{id}" | pg
    pg -c "INSERT INTO typed VALUES (1, 1795394568716288)"
    refused "a stale fence in $kind" "HF001.*1795394568716287 of '.*-1' is stale" \
        "UPDATE typed SET fence = 1795394568716287"
done

# BEFORE triggers run in the order of their names.
pg <<'SQL'
CREATE TABLE moved (id int PRIMARY KEY, fence bigint);
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN NEW.id := NEW.id + 1; RETURN NEW; END';
CREATE TRIGGER a_move BEFORE INSERT ON moved FOR EACH ROW EXECUTE FUNCTION move();
SQL
holdfast guard postgres --table moved --lock 'moved-{id}' | pg
runs 'a trigger of the owner that runs before' 'INSERT INTO moved VALUES (1, 5)'
is "$(memory moved-2)" 5 'the guard sees the row that is stored'
pg -c 'ALTER TRIGGER a_move ON moved RENAME TO i_move'
runs 'one that runs after it' 'INSERT INTO moved VALUES (3, 5)'
is "$(memory moved-3):$(memory moved-4)" 5: \
    'the guard has looked before, as docs/fencing.md says'

# ---- Rights
pg <<'SQL'
CREATE ROLE app LOGIN;
CREATE ROLE outsider LOGIN;
GRANT USAGE ON SCHEMA holdfast TO app;
GRANT ALL ON accounts TO app, outsider;
GRANT CREATE ON SCHEMA public TO outsider;
GRANT CREATE ON DATABASE postgres TO outsider;
SQL
capture pg_as app -c "SELECT holdfast.fence('app', 1)"
is "$code:$out" 0:t 'a role with USAGE alone may present fences'
capture pg_as app -c 'UPDATE accounts SET balance = 1, fence = 8 WHERE id = 10'
is "$code:$err" 0: 'and write guarded tables'
capture pg_as app -c "UPDATE holdfast.guard SET fence = 1"
like "$err" 'permission denied for table guard' 'it cannot change the memory'
capture pg_as app -c "SELECT * FROM holdfast.guard"
like "$err" 'permission denied for table guard' 'nor read it'
capture pg_as outsider -c "SELECT holdfast.fence('app', 2)"
like "$err" 'permission denied for schema holdfast' 'without it: refused'
capture pg_as outsider -c 'UPDATE accounts SET balance = 1, fence = 8'
like "$err" 'permission denied for schema holdfast' 'and so are its writes'

session_do A "SET SESSION AUTHORIZATION outsider; BEGIN;
    SELECT pg_advisory_xact_lock(hashtextextended('app' COLLATE \"C\", 1751543399))"
session_send B "SELECT holdfast.fence('app', 1)"
ok 'it can keep fences waiting, as docs/fencing.md says' wait_until 15 session_is_blocked B
session_do A 'ROLLBACK; RESET SESSION AUTHORIZATION'
session_wait B
is "$got" t 'until it ends'

# Operators, functions and tables before the system's in the search path of a
# caller must not run with the guard's rights, nor change its decision.
capture pg_as outsider <<'SQL'
CREATE SCHEMA evil;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
CREATE TABLE evil.guard (name text, fence bigint);
CREATE FUNCTION evil.lower_is_fine(bigint, bigint) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO evil.ran SELECT session_user, current_user; RETURN true;
    END $$;
CREATE TABLE evil.ran (s text, c text);
GRANT ALL ON evil.ran TO PUBLIC;
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint,
    FUNCTION = evil.lower_is_fine);
CREATE OPERATOR evil.< (LEFTARG = bigint, RIGHTARG = bigint,
    FUNCTION = evil.lower_is_fine);
CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text
    LANGUAGE sql AS 'SELECT ''''';
SQL
is "$code:$err" 0: 'an attack is prepared'
capture pg_as app -c "SET search_path = evil, pg_catalog;
    SELECT 2::bigint = 3::bigint"
is "$out" t 'which works elsewhere'
pg -c 'DELETE FROM evil.ran'
capture pg_as app -c "SET search_path = evil, pg_catalog;
    CREATE TEMP TABLE guard (name text, fence bigint);
    SELECT holdfast.fence('app', 3); SELECT holdfast.fence('app', 2)"
like "$err" "fence 2 of 'app' is stale: 3" 'it does not work on the guard'
capture pg_as app -c "SET search_path = evil, pg_catalog;
    UPDATE public.accounts SET balance = 0, fence = 7
    WHERE id OPERATOR(pg_catalog.=) 10"
like "$err" "fence 7 of 'account-10' is stale: 8" 'nor on the trigger'
is "$(pg -c 'SELECT count(*) FROM evil.ran')" 0 'and nothing of it ran'

pg -c 'CREATE DATABASE squatted OWNER outsider'
PGDATABASE=squatted pg_as outsider -c 'CREATE SCHEMA holdfast'
capture env PGDATABASE=squatted bash -c '
    holdfast guard postgres | psql -XAtq -U postgres -v ON_ERROR_STOP=1'
isnt "$code" 0 "another role's schema: not installed"
like "$err" 'schema holdfast belongs to outsider, not to postgres' 'and says it'
is "$(PGDATABASE=squatted pg -c "SELECT count(*) FROM pg_proc p JOIN
    pg_namespace n ON n.oid = pronamespace WHERE nspname = 'holdfast'")" 0 \
    'nothing is left of it'
pg -c 'GRANT CREATE ON SCHEMA holdfast TO outsider'
capture pg_as outsider -c \
    'CREATE FUNCTION holdfast.guard_check(text, int) RETURNS int
    LANGUAGE sql AS $$ SELECT 1 $$'
capture install postgres
like "$err" 'guard_check in schema holdfast belongs to another role' \
    "another role's function in the schema: not installed"

# ---- Reset
pg -c "INSERT INTO holdfast.guard VALUES ('x''y\\z', 51)"
capture holdfast guard postgres --reset "x'y\\z"
is "$code" 0 'a reset is printed'
like "$err" "^holdfast: guard: after this reset PostgreSQL accepts any fence \
of .*, a former holder's too: stop all its writers before$" 'with its warning'
pg <<<"$out"
is "$?:$(pg -c "SELECT count(*) FROM holdfast.guard WHERE fence = 51")" 0:0 \
    'it resets the name'
isnt "$(memory a)" '' 'and no other'
runs 'then a lower fence passes' "SELECT holdfast.fence(E'x''y\\\\z', 1)"
capture holdfast guard -q postgres --reset a
is "$err" '' 'with -q no warning'

# ---- The content of a dump
"$PG_BIN/pg_dump" -U postgres -n holdfast -n public >"$W/dump" 2>"$W/log"
is $? 0 'pg_dump'
pg -c 'CREATE DATABASE copy' && PGDATABASE=copy pg \
    -c 'DROP SCHEMA public' && PGDATABASE=copy pg <"$W/dump" >"$W/log" 2>&1
is "$(PGDATABASE=copy pg -c "SELECT balance, abs(fence) FROM accounts
    WHERE id = 10")" "$(row 10)" 'a restored dump has the rows'
capture env PGDATABASE=copy psql -XAtq -U postgres \
    -c "UPDATE accounts SET fence = 1 WHERE id = 10"
like "$err" 'fence 1 .* stale: 8' 'and refuses the same writes'
finish
