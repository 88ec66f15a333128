#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard mysql, on a real MariaDB: accepted and refused writes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
# timeout: 600
# MySQL has no mode ORACLE, and reads no file of the client unless it is told to.
other_mode=ORACLE options=()
if is_mysql; then
    other_mode=ANSI options=(--local-infile=ON)
fi
mariadb_start "${options[@]}" || skip_all "$(lacks_server)"

runs() { # TITLE SQL
    capture sql -e "$2"
    is "$code:$err" 0: "$1"
}

refused() { # TITLE REGEX SQL
    capture sql -e "$3"
    isnt "$code" 0 "$1: refused"
    like "$err" "$2" "$1: says it"
}

memory() { # NAME
    sql -e "SELECT fence FROM holdfast.guard WHERE name = '$1'"
}

in_one() { # SQL: a transaction
    echo "START TRANSACTION; $1; COMMIT"
}

# ---- Installation
install() {
    holdfast guard mysql | sql
}
capture install
is "$code:$out$err" 0: 'it installs, silently'
capture install
is "$code:$out$err" 0: 'and again'

# ---- The procedure and the function
passes() { # TITLE NAME FENCE: both are SQL
    runs "$1" "$(in_one "CALL holdfast.fence($2, $3)");
        SET @ok = holdfast.fence($2, $3)"
}
stale() { # TITLE REGEX NAME FENCE
    refused "$1, procedure" "$2" "$(in_one "CALL holdfast.fence($3, $4)")"
    refused "$1, function" "$2" "SET @ok = holdfast.fence($3, $4)"
}
passes 'a first fence' "'a'" 41
passes 'an equal one' "'a'" 41
passes 'a larger one' "'a'" 42
stale 'a lower one' \
    "1644 \(45000\) .*: holdfast: fence 41 of 'a' is stale: 42 was presented" \
    "'a'" 41
is "$(memory a)" 42 'the memory is the largest'
for mode in STRICT_ALL_TABLES ''; do
    for fence in 0 -43 NULL "''" "'43x'" "'043'" "' 43'" 43.5 \
        18446744073709551616 1e30 "'9e18'" "REPEAT('9', 60)" '1=0'; do
        refused "fence $fence, mode <$mode>" 'is no fence: 1 to 18446744' \
            "SET sql_mode = '$mode'; $(in_one "CALL holdfast.fence('a', $fence)")"
    done
done
for fence in 0 -43 NULL "'43x'" 1e30; do
    refused "fence $fence, function" 'is no fence: 1 to 18446744' \
        "SET sql_mode = ''; SET @ok = holdfast.fence('a', $fence)"
done
stale 'no name' 'a lock has 1 to 1028 bytes, this one has 0' NULL 1
stale 'an empty name' 'a lock has 1 to 1028 bytes, this one has 0' "''" 1
stale 'a name of 1029 bytes' 'this one has 1029' "REPEAT('x', 1029)" 1
passes 'a name of 1028 bytes' "REPEAT('x', 1028)" 1
stale 'and a lower fence' "fence 1 of 'xxx.*' is stale: 18446744073709551614" \
    "IF(holdfast.fence(REPEAT('x', 1028), 18446744073709551614),
        REPEAT('x', 1028), 'y')" 1
passes 'a fence beyond 2^53, as text' "'big'" "'9007199254740993'"
stale 'its neighbour below' '9007199254740992 of .* 9007199254740993' \
    "'big'" 9007199254740992
passes 'the largest signed fence' "'big'" 9223372036854775807
passes 'a larger one' "'big'" 9223372036854775808
passes 'the largest fence' "'big'" 18446744073709551615
stale 'one below' '18446744073709551614 of .* 18446744073709551615' \
    "'big'" 18446744073709551614

# Names are bytes: each of these is another one than 'a' and its neighbours.
fence=100
for name in "'A'" "'a '" "' a'" "'a\\0'" "X'61E9'" "X'61FF'" "'é'" "'e'" "'É'" \
    "X'E9'" "'two words'" "'it''s'" "'\"quoted\"'" "'back\\\\slash'" "'%'" \
    "'gpu#3'" "'gpu#4'" "'a\\nb'" "'ß'" "'ss'" "X'00'" "X'0000'" "'\`'" "'🔒'"; do
    fence=$((fence - 1))
    passes "name $name" "$name" "$fence"
    refused "name $name, lower" "fence [0-9]+ of .* stale: $fence" \
        "$(in_one "CALL holdfast.fence($name, $((fence - 1)))")"
done
is "$(memory a)" 42 'none of these touched a'
is "$(sql -e 'SELECT COUNT(*) FROM holdfast.guard')" 27 'each has its own row'
for setting in "SET sql_mode = 'NO_BACKSLASH_ESCAPES'" \
    "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'" "SET sql_mode = ''" \
    "SET sql_mode = 'HIGH_NOT_PRECEDENCE,PAD_CHAR_TO_FULL_LENGTH'" \
    "SET sql_mode = '$other_mode'" 'SET NAMES latin1' \
    'SET NAMES utf8mb4 COLLATE utf8mb4_bin' "SET NAMES sjis" \
    "SET NAMES gbk"; do
    refused "$setting" "fence 41 of 'a' is stale: 42" \
        "$setting; $(in_one "CALL holdfast.fence('a', 42)");
        $(in_one "CALL holdfast.fence('a', 41)")"
done

# ---- One transaction
sql -e "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 0)"
refused 'a stale write' "fence 41 of 'a' is stale" \
    "$(in_one "CALL holdfast.fence('a', 41); UPDATE t SET v = 9")"
is "$(sql -e 'SELECT v FROM t')" 0 'nothing was written'
refused 'a procedure call outside of a transaction' \
    'holdfast: no transaction: START TRANSACTION before' \
    "CALL holdfast.fence('a', 43)"
is "$(memory a)" 42 'it has presented nothing'
runs 'a transaction by autocommit = 0' \
    "SET autocommit = 0; CALL holdfast.fence('a', 42); UPDATE t SET v = 3; COMMIT"
is "$(sql -e 'SELECT v FROM t')" 3 'it wrote'
refused 'after its COMMIT' 'no transaction' \
    "$(in_one "CALL holdfast.fence('a', 42)"); CALL holdfast.fence('a', 42)"
refused 'in one statement, under autocommit' "fence 41 of 'a' is stale" \
    "UPDATE t SET v = 9 WHERE id = 1 AND holdfast.fence('a', 41)"
runs 'the same with the current fence' \
    "UPDATE t SET v = 8 WHERE id = 1 AND holdfast.fence('a', 42)"
is "$(sql -e 'SELECT v FROM t')" 8 'it was written'
runs 'a rollback' "START TRANSACTION; CALL holdfast.fence('a', 50); ROLLBACK"
is "$(memory a)" 42 'a rollback forgets'
runs 'a savepoint' "START TRANSACTION; CALL holdfast.fence('a', 43); SAVEPOINT s;
    CALL holdfast.fence('a', 60); ROLLBACK TO s; COMMIT"
is "$(memory a)" 43 'a rollback to a savepoint forgets later fences'
refused 'two names, one of them stale' "fence 1 of 'a' is stale: 43" \
    "$(in_one "CALL holdfast.fence('two', 9); CALL holdfast.fence('a', 1)")"
is "$(memory two)" '' 'neither is remembered'
runs 'a prepared statement' "START TRANSACTION;
    PREPARE p FROM 'CALL holdfast.fence(?, ?)'; SET @n = 'p', @f = 5;
    EXECUTE p USING @n, @f; EXECUTE p USING @n, @f; COMMIT"
is "$(memory p)" 5 'it presented'

# ---- Two transactions
session_open A
session_open B
for form in 'CALL holdfast.fence' 'SET @ok = holdfast.fence'; do
    for level in 'READ COMMITTED' 'REPEATABLE READ'; do
        title="$form, $level"
        for session in A B; do
            session_do $session "SET SESSION TRANSACTION ISOLATION LEVEL $level"
        done
        sql -e "DELETE FROM holdfast.guard; UPDATE t SET v = 0"
        for session in A B; do
            session_do $session "START TRANSACTION; $form('a', 43); COMMIT"
        done
        session_do A "START TRANSACTION; $form('a', 43)"
        session_do B "SET innodb_lock_wait_timeout = 1"
        session_do B "START TRANSACTION; $form('a', 43)"
        is "$got" '' "$title: equal fences share the row"
        session_do A 'COMMIT'
        session_do B 'COMMIT; SET innodb_lock_wait_timeout = 50'

        # A is stopped between its check and its write. B has an old snapshot.
        session_do B 'START TRANSACTION; SELECT v FROM t'
        session_do A "START TRANSACTION; $form('a', 43)"
        session_send B "$form('a', 44)"
        ok "$title: a newer fence waits for a check" \
            wait_until 15 session_is_blocked B
        session_do A 'UPDATE t SET v = v + 1; COMMIT'
        is "$got" '' "$title: the older write is whole before"
        session_wait B
        is "$got" '' "$title: then the newer passes"
        session_send A "START TRANSACTION; $form('a', 43)"
        ok "$title: an equal-to-the-old one waits for it" \
            wait_until 15 session_is_blocked A
        session_do B 'COMMIT'
        session_wait A
        like "$got" "fence 43 of 'a' is stale: 44" "$title: and is refused"
        session_do A 'ROLLBACK'

        # A read after the fence was presented sees all earlier writes.
        session_do A "START TRANSACTION; $form('a', 44); UPDATE t SET v = 70"
        session_send B "START TRANSACTION; $form('a', 45); SELECT v FROM t"
        ok "$title: a reader waits" wait_until 15 session_is_blocked B
        session_do A 'COMMIT'
        session_wait B
        is "$got" 70 "$title: and reads the writes before its fence"
        session_send A "START TRANSACTION; $form('a', 44)"
        ok "$title: it waits again" wait_until 15 session_is_blocked A
        session_do B 'ROLLBACK'
        session_wait A
        is "$got" '' "$title: and passes if the newer was rolled back"
        session_do A 'ROLLBACK'

        # A snapshot from before, in each of the ways of a session.
        session_do A 'START TRANSACTION; SELECT COUNT(*) FROM holdfast.guard'
        sql -e "SET @ok = holdfast.fence('a', 46)"
        session_do A "$form('a', 44)"
        like "$got" "fence 44 of 'a' is stale: 46" \
            "$title: a stale snapshot does not pass"
        session_do A "$form('a', 45)"
        like "$got" "fence 45 of 'a' is stale: 46" \
            "$title: nor with a fence that is new to the session"
        session_do A 'ROLLBACK'

        # A name without a row.
        session_do A "START TRANSACTION; $form('fresh', 5)"
        session_send B "START TRANSACTION; $form('fresh', 4)"
        ok "$title: a name without a row: the second waits" \
            wait_until 15 session_is_blocked B
        session_do A 'COMMIT'
        session_wait B
        like "$got" "fence 4 of 'fresh' is stale: 5" "$title: and is refused"
        session_do B 'ROLLBACK'
    done
done

# Newer fences that wait for a shared lock must not end in a deadlock.
session_open C
session_do C "START TRANSACTION; CALL holdfast.fence('a', 46); COMMIT;
    START TRANSACTION; CALL holdfast.fence('a', 46)"
session_send A "START TRANSACTION; CALL holdfast.fence('a', 50)"
ok 'a newer one waits' wait_until 15 session_is_blocked A
session_send B "START TRANSACTION; CALL holdfast.fence('a', 51)"
ok 'a still newer one waits' wait_until 15 session_is_blocked B
session_do C 'COMMIT'
session_wait A
is "$got" '' 'the first passes'
session_do A 'COMMIT'
session_wait B
is "$got" '' 'and then the second'
session_do B 'COMMIT'

# A holder that is paused inside its transaction, which docs/fencing.md bounds.
session_open paused
limit=idle_transaction_timeout
! is_mysql || limit=wait_timeout
session_do paused "SET $limit = 1; START TRANSACTION; CALL holdfast.fence('a', 51);
    UPDATE t SET v = 77"
kill -STOP "${SESSION_PID[paused]}"
session_do B "START TRANSACTION; CALL holdfast.fence('a', 52); COMMIT"
is "$got:$(memory a)" :52 \
    'a newer fence passes when the server has ended a paused transaction'
isnt "$(sql -e 'SELECT v FROM t')" 77 'which wrote nothing'
kill -CONT "${SESSION_PID[paused]}"
echo 'COMMIT;' >&"${SESSION_FD[paused]}"
ok 'its COMMIT fails' wait_until 15 grep -q 'ERROR \(2006\|2013\|4031\)' "$W/paused.out"
session_do A "START TRANSACTION; CALL holdfast.fence('a', 52)"
session_do B "SET innodb_lock_wait_timeout = 1; START TRANSACTION;
    CALL holdfast.fence('a', 53)"
like "$got" 'ERROR 1205' 'innodb_lock_wait_timeout bounds the wait itself'
session_do A COMMIT
session_do B 'ROLLBACK; SET innodb_lock_wait_timeout = 50'

# ---- The trigger
trigger() { # ARG...
    holdfast guard mysql "$@" | sql
}
sql -e "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT,
    fence BIGINT); INSERT INTO accounts VALUES (1, 1, 30)"
capture trigger --table accounts --lock 'account-{id}'
is "$code:$out$err" 0: 'the trigger installs, silently'
capture trigger --table app.accounts --lock 'account-{id}'
is "$code:$out$err" 0: 'and again'
is "$(sql -e 'SELECT fence FROM accounts')" -30 'rows that were there'
refused 'an UPDATE of these' "UPDATE of accounts presents no fence of 'account-1'" \
    'UPDATE accounts SET balance = 2'
row() { # ID
    sql -e "SELECT balance, -fence FROM accounts WHERE id = $1"
}
bare() { # TITLE SQL: does it present no fence?
    refused "$1" "1644 \(45000\) .*: holdfast: .* presents no fence of" "$2"
}
lower() { # TITLE SQL
    refused "$1" "holdfast: fence 41 of 'account-7' is stale: 42 was presented" "$2"
    is "$(row 7):$(memory account-7)" $'100\t42:42' "$1: nothing was written"
}
runs INSERT 'INSERT INTO accounts VALUES (7, 100, 42)'
is "$(row 7):$(memory account-7)" $'100\t42:42' 'the row, and the memory'
set7='INSERT INTO accounts VALUES (7, 100, 41)'
lower 'REPLACE with a lower fence' 'REPLACE INTO accounts VALUES (7, 1, 41)'
lower 'UPDATE with a lower fence' \
    'UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
lower 'UPDATE IGNORE with a lower fence' \
    'UPDATE IGNORE accounts SET balance = 1, fence = 41 WHERE id = 7'
lower 'INSERT ... ON DUPLICATE KEY UPDATE with a lower fence' \
    "$set7 ON DUPLICATE KEY UPDATE balance = 1, fence = VALUES(fence)"
lower 'the same without the column' \
    "$set7 ON DUPLICATE KEY UPDATE balance = 1"
lower 'a multi-table UPDATE with a lower fence' \
    'UPDATE accounts a JOIN t ON t.id = 1 SET a.balance = 1, a.fence = 41, t.v = 1
    WHERE a.id = 7'
lower 'DELETE with a lower fence' \
    "DELETE FROM accounts WHERE id = 7 AND holdfast.fence('account-7', 41)"
lower 'DELETE IGNORE with a lower fence' \
    "DELETE IGNORE FROM accounts WHERE id = 7 AND holdfast.fence('account-7', 41)"
lower 'UPDATE with the function and a lower fence' \
    "UPDATE accounts SET balance = 1 WHERE id = 7
    AND holdfast.fence('account-7', 41)"
bare 'UPDATE without the column' 'UPDATE accounts SET balance = 1 WHERE id = 7'
bare 'UPDATE IGNORE without it' \
    'UPDATE IGNORE accounts SET balance = 1 WHERE id = 7'
bare 'UPDATE with the values of the row' \
    'UPDATE accounts SET balance = 1, fence = fence WHERE id = 7'
for fence in NULL 0 -42 -43; do
    bare "UPDATE with $fence" \
        "UPDATE accounts SET balance = 1, fence = $fence WHERE id = 7"
    bare "INSERT with $fence" "INSERT INTO accounts VALUES (8, 1, $fence)"
    bare "INSERT IGNORE with $fence" \
        "INSERT IGNORE INTO accounts VALUES (8, 1, $fence)"
done
bare 'INSERT without the column' 'INSERT INTO accounts (id) VALUES (8)'
bare DELETE 'DELETE FROM accounts WHERE id = 7'
bare 'DELETE IGNORE' 'DELETE IGNORE FROM accounts WHERE id = 7'
bare 'DELETE of all' 'DELETE FROM accounts'
bare 'a multi-table DELETE' \
    'DELETE a FROM accounts a JOIN t ON t.id = 1 WHERE a.id = 7'
bare 'a multi-table UPDATE' \
    'UPDATE accounts a JOIN t ON t.id = 1 SET a.balance = 1, t.v = 1'
bare 'DELETE after a CALL' "$(in_one "CALL holdfast.fence('account-7', 42);
    DELETE FROM accounts WHERE id = 7")"
bare 'DELETE after the function, in the same transaction' \
    "$(in_one "SET @ok = holdfast.fence('account-7', 42);
    DELETE FROM accounts WHERE id = 7")"
bare 'UPDATE after an UPDATE that presented it' \
    "$(in_one "UPDATE accounts SET balance = 1, fence = 42 WHERE id = 7;
    UPDATE accounts SET balance = 2 WHERE id = 7")"
bare 'DELETE with the fence of another name' \
    "DELETE FROM accounts WHERE id = 7 AND holdfast.fence('account-77', 42)"
bare 'UPDATE through a view' 'CREATE OR REPLACE VIEW w AS SELECT * FROM accounts;
    UPDATE w SET balance = 1'
is "$(row 7):$(sql -e 'SELECT id FROM accounts WHERE id = 8')" $'100\t42:' \
    'nothing was written by these'
is "$(sql -e 'SELECT v FROM t')" 70 'nor in the other table'

for mode in '' NO_BACKSLASH_ESCAPES ANSI_QUOTES $other_mode; do
    for fence in 99999999999999999999 9223372036854775807 "'99999999999999999999'"; do
        refused "a column that is full, mode <$mode>, $fence" \
            'is no fence: in a column 1 to|Out of range' \
            "SET sql_mode = '$mode';
            UPDATE accounts SET balance = 1, fence = $fence WHERE id = 7"
    done
    bare "no fence, mode <$mode>" \
        "SET sql_mode = '$mode'; UPDATE accounts SET balance = 1 WHERE id = 7"
    refused "a lower one, mode <$mode>" 'fence 41 .* stale: 42' \
        "SET sql_mode = '$mode'; UPDATE accounts SET fence = 41 WHERE id = 7"
done
runs 'UPDATE with an equal fence' \
    'UPDATE accounts SET balance = 99, fence = 42 WHERE id = 7'
runs 'UPDATE with a larger one' \
    'UPDATE accounts SET balance = 98, fence = 43 WHERE id = 7'
is "$(row 7):$(memory account-7)" $'98\t43:43' 'both are kept'
runs 'UPDATE with the function' \
    "UPDATE accounts SET balance = 97 WHERE id = 7
    AND holdfast.fence('account-7', 44)"
is "$(row 7):$(memory account-7)" $'97\t44:44' 'it sets the column too'
runs 'ON DUPLICATE KEY UPDATE, with VALUES()' \
    'INSERT INTO accounts VALUES (7, 1, 45)
    ON DUPLICATE KEY UPDATE balance = 96, fence = VALUES(fence)'
is "$(row 7)" $'96\t45' 'it updated'
runs 'without the column' 'INSERT INTO accounts VALUES (7, 1, 46)
    ON DUPLICATE KEY UPDATE balance = 95'
is "$(row 7)" $'95\t46' 'it updated by the fence of its INSERT'
runs REPLACE 'REPLACE INTO accounts VALUES (7, 94, 47)'
is "$(row 7):$(memory account-7)" $'94\t47:47' 'it replaced'
runs 'INSERT IGNORE of an existing row' \
    'INSERT IGNORE INTO accounts VALUES (7, 1, 5)'
is "$(row 7):$(memory account-7)" $'94\t47:47' 'it wrote nothing'
runs 'DELETE with the function' \
    "DELETE FROM accounts WHERE id = 7 AND holdfast.fence('account-7', 47)"
is "$(row 7)" '' 'it is deleted'
refused 'INSERT of an old holder after the DELETE' \
    "fence 46 of 'account-7' is stale: 47" \
    'INSERT INTO accounts VALUES (7, 1, 46)'
refused 'INSERT IGNORE of it' "fence 46 of 'account-7' is stale: 47" \
    'INSERT IGNORE INTO accounts VALUES (7, 1, 46)'
is "$(row 7)" '' 'no row'
runs 'rows' 'INSERT INTO accounts VALUES (7, 5, 48), (9, 5, 48), (10, 5, 49)'
bare 'a row that moves to another lock' \
    'UPDATE accounts SET id = 11, fence = 90 WHERE id = 7'
runs 'a row that moves, with both' "UPDATE accounts SET id = 11, fence = 90
    WHERE id = 7 AND holdfast.fence('account-7', 48)"
is "$(row 11):$(memory account-11)" $'5\t90:90' 'it moved'
refused 'many rows, one of them newer' "fence 48 of 'account-10' is stale: 49" \
    'UPDATE accounts SET balance = 0, fence = 48 WHERE id IN (9, 10)'
refused 'the same with IGNORE' "fence 48 of 'account-10' is stale: 49" \
    'UPDATE IGNORE accounts SET balance = 0, fence = 48 WHERE id IN (9, 10)'
is "$(row 9)" $'5\t48' 'none of them is written'
runs 'a stopped clock: the fence of another statement, as docs/fencing.md says' \
    "SET timestamp = 1000; SET @ok = holdfast.fence('account-9', 48);
    UPDATE accounts SET balance = 6 WHERE id = 9; UPDATE accounts SET balance = 5 WHERE id = 9"
bare 'a fixed clock is another statement still' \
    "SET timestamp = 1000; SET @ok = holdfast.fence('account-9', 48);
    SET timestamp = 1001; DELETE FROM accounts WHERE id = 9"
refused 'the session as an old holder, in one transaction' \
    "fence 48 of 'account-9' is stale: 49" \
    "$(in_one "UPDATE accounts SET balance = 1, fence = 49 WHERE id = 9;
    UPDATE accounts SET balance = 2, fence = 48 WHERE id = 9")"

printf '12\t1\t3\n13\t1\t3\n' >"$W/rows"
printf '14\t1\t3\n12\t1\t2\n' >"$W/lower"
printf '14\t1\t\\N\n' >"$W/none"
load() { # WORDS FILE
    echo "LOAD DATA LOCAL INFILE '$W/$2' $1 INTO TABLE accounts"
}
runs 'LOAD DATA' "$(load '' rows)"
refused 'LOAD DATA REPLACE with a lower fence' "fence 2 of 'account-12' is stale: 3" \
    "$(load REPLACE lower)"
bare 'LOAD DATA without a fence' "$(load '' none)"
bare 'LOAD DATA IGNORE without a fence' "$(load IGNORE none)"
is "$(row 14)" '' 'none of its rows stays'
is "$(memory account-12)" 3 'the memory'

runs 'INSERT ... SELECT, LOCK TABLES, a multi-table DELETE' \
    "INSERT INTO accounts SELECT 15, 1, 70; LOCK TABLES accounts WRITE;
    UPDATE accounts SET balance = 2, fence = 71 WHERE id = 15; UNLOCK TABLES;
    DELETE a, u FROM accounts a JOIN t u ON u.id = 1
    WHERE a.id = 15 AND holdfast.fence('account-15', 71)"
is "$(row 15):$(memory account-15):$(sql -e 'SELECT COUNT(*) FROM t')" :71:0 \
    'all of these wrote'
refused 'INSERT ... SELECT with a lower fence' 'fence 70 .* stale: 71' \
    'INSERT INTO accounts SELECT 15, 1, 70'
refused 'LOCK TABLES, with a lower fence' 'fence 89 .* stale: 90' \
    'LOCK TABLES accounts WRITE; UPDATE accounts SET fence = 89 WHERE id = 11'
sql <<'SQL'
DELIMITER //
CREATE PROCEDURE pay(f BIGINT)
BEGIN
    CALL holdfast.fence('account-11', f);
    UPDATE accounts SET balance = 77, fence = f WHERE id = 11;
END//
SQL
refused 'in a procedure, under autocommit' 'no transaction' 'CALL pay(91)'
runs 'in a procedure' "$(in_one 'CALL pay(91)')"
refused 'in a procedure, with a lower fence' 'fence 90 .* stale: 91' \
    "$(in_one 'CALL pay(90)')"
is "$(row 11)" $'77\t91' 'it is written once'
runs 'SERIALIZABLE' "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
    $(in_one 'CALL pay(92)')"
session_do A "START TRANSACTION; CALL holdfast.fence('account-11', 1)"
session_do A 'INSERT INTO t VALUES (1, 5); COMMIT'
is "$(sql -e 'SELECT v FROM t')" 5 \
    'a client that goes on after the error writes, as docs/fencing.md says'

# ---- Two writers of a table, stopped between check and write
session_do A 'START TRANSACTION; UPDATE accounts SET balance = 7, fence = 60
    WHERE id = 9'
session_send B 'UPDATE accounts SET balance = 8, fence = 59 WHERE id = 9'
ok 'a lower fence waits for the newer row' wait_until 15 session_is_blocked B
session_do A COMMIT
session_wait B
like "$got" "fence 59 of 'account-9' is stale: 60" 'and is refused'
is "$(row 9)" $'7\t60' 'the newer is there'
session_do A "START TRANSACTION; INSERT INTO accounts VALUES (20, 1, 60)"
session_send B 'INSERT INTO accounts VALUES (20, 1, 61)
    ON DUPLICATE KEY UPDATE balance = 2'
ok 'an upsert waits for an INSERT' wait_until 15 session_is_blocked B
session_do A 'ROLLBACK'
session_wait B
is "$got:$(row 20)" $':1\t61' 'and inserts after its rollback'

# MariaDB runs a function of constants while it plans.
sql -e "EXPLAIN UPDATE t SET v = 9 WHERE id = 1 AND holdfast.fence('plan', 5)" >/dev/null
if is_mysql; then
    is "$(memory plan)" '' 'EXPLAIN presents nothing in MySQL'
else
    is "$(memory plan)" 5 'EXPLAIN presents the fence in MariaDB, as docs/fencing.md says'
fi

# ---- XA, as docs/fencing.md says
newer() { # FENCE: in a session that does not wait for long
    capture sql -e "SET innodb_lock_wait_timeout = 1; $(in_one "CALL holdfast.fence('xa', $1)")"
}
prepared() { # FENCE
    session_do A "XA START 'x'; CALL holdfast.fence('xa', $1); UPDATE t SET v = v + 1;
        XA END 'x'; XA PREPARE 'x'"
    is "$got" '' "fence $1 is in a prepared transaction"
}
sql -e 'DELETE FROM t; INSERT INTO t VALUES (1, 0)'
session_do A "$(in_one "CALL holdfast.fence('xa', 5)")"
prepared 6
newer 7
like "$err" 'ERROR 1205' 'a fence that it raised keeps its row locked'
session_do A "XA COMMIT 'x'"
prepared 6
newer 7
if is_mysql; then
    like "$err" 'ERROR 1205' 'a fence that the guard had: MySQL keeps the row locked'
else
    is "$code:$err" 0: 'a fence that the guard had: a newer one passes'
fi
mariadb_restart "${options[@]}" || fail 'it restarts'
newer 7
is "$code:$err" 0: 'after a restart a newer one passes'
sql -e "XA COMMIT 'x'"
is "$(sql -e 'SELECT v FROM t'):$(memory xa)" 2:7 'and the older transaction writes after it'

finish
