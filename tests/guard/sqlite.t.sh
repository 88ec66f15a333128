#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard sqlite, with SQLite's own shell: accepted and
# refused writes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/sqlite_page.sh"
# timeout: 240
command -v sqlite3 >/dev/null || skip_all "no sqlite3"
DB=$W/db

sql() { # [SQL]     commands as an argument, or on stdin
    timeout 60 sqlite3 -bail "$DB" "$@"
}

install() {
    holdfast guard sqlite | sql
}

runs() { # TITLE SQL
    capture sql "$2"
    is "$code:$err" 0: "$1"
}

refused() { # TITLE REGEX SQL
    capture sql "$3"
    is "$code" 19 "$1: refused, as a constraint"
    like "$err" "$2" "$1: says it"
}

memory() { # NAME
    sql "SELECT fence FROM holdfast_fence WHERE name = '$1'"
}

present() { # NAME FENCE, as SQL writes them
    echo "INSERT INTO holdfast_fence (name, fence) VALUES ($1, $2);"
}

STALE='holdfast: stale fence: .* SELECT \* FROM holdfast_fence'

# ---- Installation
capture install
is "$code:$out$err" 0: 'it installs, silently'
sql "$(present "'kept'" 3)"
capture install
is "$code:$out$err:$(memory kept)" 0::3 'and again, and keeps the rows'

# ---- The view
runs 'a first fence' "$(present "'a'" 41)"
runs 'an equal fence' "$(present "'a'" 41)"
runs 'a larger one' "$(present "'a'" 42)"
refused 'a lower one' "$STALE" "$(present "'a'" 41)"
is "$(memory a)" 42 'the memory is the largest, where the message says'
for fence in 0 -43 NULL "''" "'42 '" "'042'" "'42x'" "'x'" 43.5 43.0 "x'3433'" \
    9223372036854775808 "'9223372036854775808'"; do
    refused "fence $fence" 'a fence must be 1 to 9223372036854775807 \(0: the' \
        "$(present "'a'" "$fence")"
done
for name in NULL "''" "printf('%01029d', 1)"; do
    refused "name $name" 'name of a lock has 1 to 1028 bytes' \
        "$(present "$name" 1)"
done
runs 'a name of 1028 bytes' "$(present "printf('%01028d', 1)" 1)"
runs 'a fence beyond 2^53, as text' "$(present "'big'" "'9007199254740993'")"
refused 'its neighbour below' "$STALE" "$(present "'big'" 9007199254740992)"
runs 'the largest fence' "$(present "'big'" 9223372036854775807)"
runs 'a name of digits' "$(present 7 5)"
refused 'the same as text' "$STALE" "$(present "'7'" 4)"
for name in 'two words' "it''s" '"quoted"' 'back\slash' '%' 'gpu#3' 'ü' ' a' \
    'a ' A $'a\nb'; do
    runs "name <$name>" "$(present "'$name'" 7)"
    refused "name <$name>, lower" "$STALE" "$(present "'$name'" 6)"
done
is "$(memory a)" 42 'none of these touched a'
for policy in IGNORE REPLACE FAIL ABORT ROLLBACK; do
    refused "INSERT OR $policy" "$STALE" \
        "INSERT OR $policy INTO holdfast_fence VALUES ('a', 41)"
    runs "INSERT OR $policy, equal" \
        "INSERT OR $policy INTO holdfast_fence VALUES ('a', 42)"
done

# ---- One transaction
sql 'CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t VALUES
    (1, 0)'
refused 'a stale write' "$STALE" "BEGIN IMMEDIATE; $(present "'a'" 41)
    UPDATE t SET v = 9; COMMIT"
is "$(sql 'SELECT v FROM t')" 0 'nothing was written'
refused 'a write before the stale fence' "$STALE" "BEGIN IMMEDIATE;
    UPDATE t SET v = 9; SAVEPOINT s; $(present "'a'" 41) RELEASE s; COMMIT"
is "$(sql 'SELECT v FROM t')" 0 'it was rolled back'
# A client that does not look at errors: its transaction is gone.
printf '%s;\n' 'BEGIN IMMEDIATE' 'UPDATE t SET v = 9' "$(present "'a'" 41)" \
    COMMIT >"$W/careless"
capture sqlite3 "$DB" <"$W/careless"
like "$err" 'no transaction is active' 'nothing is left to commit'
is "$(sql 'SELECT v FROM t')" 0 'also if the error is passed over'
runs 'the same with the current fence' "BEGIN IMMEDIATE; $(present "'a'" 42)
    UPDATE t SET v = 8; COMMIT"
is "$(sql 'SELECT v FROM t')" 8 'it was written'
runs 'a rollback' "BEGIN; $(present "'a'" 50) ROLLBACK"
is "$(memory a)" 42 'a rollback forgets'
runs 'a savepoint' "BEGIN; $(present "'a'" 43) SAVEPOINT s;
    $(present "'a'" 60) ROLLBACK TO s; COMMIT"
is "$(memory a)" 43 'a rollback to a savepoint forgets later fences'
refused 'two names, one of them stale' "$STALE" \
    "INSERT INTO holdfast_fence VALUES ('two', 9), ('a', 1)"
is "$(memory two)" '' 'neither is remembered'
runs 'two names' "INSERT INTO holdfast_fence VALUES ('two', 9), ('a', 43)"
before=$(cksum <"$DB")
runs 'an equal fence again' "$(present "'a'" 43)"
is "$(cksum <"$DB")" "$before" 'it writes nothing to the file'

# ---- Two transactions
# A session that stays open: session_do A SQL sets $got.
declare -A FD=() PID=() N=()
session_open() { # NAME
    local fd
    mkfifo "$W/$1.in"
    sqlite3 "$DB" <"$W/$1.in" >"$W/$1.out" 2>&1 &
    PID[$1]=$!
    exec {fd}>"$W/$1.in"
    FD[$1]=$fd N[$1]=0
    at_exit session_close "$1"
}
session_close() { # NAME
    kill -KILL "${PID[$1]}" 2>/dev/null
    wait "${PID[$1]}" 2>/dev/null
}
session_send() { # NAME SQL
    N[$1]=$((${N[$1]} + 1))
    printf '.print begin %d\n%s;\n.print end %d\n' "${N[$1]}" "$2" "${N[$1]}" \
        >&"${FD[$1]}"
}
session_wait() { # NAME
    local n=${N[$1]}
    wait_until 15 grep -qx "end $n" "$W/$1.out" || diag "$1 does not answer"
    got=$(sed -n "/^begin $n\$/,/^end $n\$/{/^begin $n\$/d;/^end $n\$/d;p}" \
        "$W/$1.out")
}
session_do() { # NAME SQL
    session_send "$1" "$2"
    session_wait "$1"
}
locked() { # TITLE SQL
    capture sql "$2"
    is "$code" 5 "$1: the database is locked"
}

session_open A
for mode in delete wal; do
    sql "PRAGMA journal_mode = $mode" >"$W/mode"
    is "$(cat "$W/mode")" $mode "journal mode $mode"
    base=$(memory a)
    # A is stopped between its check and its write.
    session_do A "BEGIN IMMEDIATE; $(present "'a'" "$base")"
    is "$got" '' 'A has presented its fence'
    kill -STOP "${PID[A]}"
    locked 'a newer fence meanwhile' "$(present "'a'" $((base + 1)))"
    capture timeout 60 sqlite3 -bail -cmd '.timeout 300' "$DB" \
        "$(present "'a'" $((base + 1)))"
    is "$code" 5 'also after the time that it is willing to wait'
    kill -CONT "${PID[A]}"
    session_do A 'UPDATE t SET v = v + 1; COMMIT'
    is "$got" '' 'the older write is whole before'
    runs 'then the newer passes' "$(present "'a'" $((base + 1)))"
    session_do A "BEGIN IMMEDIATE; $(present "'a'" "$base")"
    like "$got" "$STALE" 'and the older is refused'
    session_do A 'ROLLBACK'
    # A deferred transaction locks when it presents its fence; if it read
    # before, a newer fence may have come between.
    session_do A 'BEGIN; SELECT v FROM t'
    if [ $mode = wal ]; then
        runs 'a newer fence after the read of A' "$(present "'a'" $((base + 2)))"
        session_do A "$(present "'a'" $((base + 1)))"
        like "$got" 'database is locked' 'an old snapshot is refused'
        session_do A 'ROLLBACK'
    else
        session_do A "$(present "'a'" $((base + 1)))"
        is "$got" '' 'it locks now'
        locked 'a newer fence' "$(present "'a'" $((base + 2)))"
        session_do A 'COMMIT'
        runs 'and afterwards' "$(present "'a'" $((base + 2)))"
    fi
done
sql 'PRAGMA journal_mode = delete' >"$W/mode"

# ---- The trigger
sql 'CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER,
    fence INTEGER); INSERT INTO accounts VALUES (1, 10, 5), (2, 20, NULL)'
trigger() { # ARG...
    holdfast guard sqlite "$@" | sql
}
capture trigger --table accounts --lock 'account-{id}'
is "$code:$out$err" 0: 'the trigger installs'
capture trigger --table accounts --lock 'account-{id}'
is "$code:$out$err" 0: 'and again'
row() { # ID
    sql "SELECT balance, abs(fence) FROM accounts WHERE id = $1"
}
is "$(row 1)" '10|5' 'the rows are there'
refused 'an old row, unchanged' 'presents no fence' \
    'UPDATE accounts SET balance = 1, fence = fence WHERE id = 1'
runs 'an old row, with a fence' 'UPDATE accounts SET fence = 4 WHERE id = 1'
runs 'INSERT' 'INSERT INTO accounts VALUES (7, 100, 42)'
is "$(row 7):$(memory account-7)" '100|42:42' 'row and guard have its fence'
refused 'INSERT OR REPLACE with a lower fence' "$STALE" \
    'INSERT OR REPLACE INTO accounts VALUES (7, 1, 41)'
refused 'INSERT without one' "INSERT into accounts presents no fence of \
account-\{id\}: set the column fence" \
    'INSERT INTO accounts (id, balance) VALUES (8, 1)'
refused 'INSERT with fence 0' 'presents no fence' \
    'INSERT INTO accounts VALUES (8, 1, 0)'
runs 'INSERT with a key that SQLite chooses' \
    'INSERT INTO accounts (balance, fence) VALUES (1, 9)'
is "$(row 8):$(memory account-8)" '1|9:9' 'is remembered by that key'
refused 'UPDATE with a lower fence' "$STALE" \
    'UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
refused 'UPDATE without the column' 'UPDATE of accounts presents no fence' \
    'UPDATE accounts SET balance = 1 WHERE id = 7'
refused 'UPDATE with the fence that the row has' 'presents no fence' \
    'UPDATE accounts SET balance = 1, fence = fence WHERE id = 7'
refused 'UPDATE after the fence was presented alone' 'presents no fence' \
    "BEGIN; $(present "'account-7'" 42)
    UPDATE accounts SET balance = 1 WHERE id = 7; COMMIT"
refused DELETE "DELETE from accounts presents no fence of account-\{id\}: UPDATE \
the view holdfast_delete_accounts SET fence instead" \
    'DELETE FROM accounts WHERE id = 7'
refused 'DELETE of all rows' 'presents no fence' 'DELETE FROM accounts'
is "$(row 7)" '100|42' 'the row is as it was'
runs 'UPDATE with an equal fence' \
    'UPDATE accounts SET balance = 99, fence = 42 WHERE id = 7'
runs 'UPDATE with a larger one, as text' \
    "UPDATE accounts SET balance = 98, fence = '43' WHERE id = 7"
is "$(row 7):$(memory account-7)" '98|43:43' 'both are kept'
refused 'a row that moves to another lock' 'moves a row to another account-' \
    'UPDATE accounts SET id = 9, fence = 90 WHERE id = 7'
refused 'many rows, one of them stale' "$STALE" \
    'UPDATE accounts SET balance = 0, fence = 42'
is "$(sql 'SELECT count(*) FROM accounts WHERE balance = 0')" 0 \
    'none was written'
is "$(sql 'UPDATE accounts SET balance = 98, fence = 43 WHERE id = 7
    RETURNING fence')" 43 'RETURNING has the fence that was presented'
for policy in IGNORE REPLACE FAIL ABORT ROLLBACK; do
    refused "UPDATE OR $policy" "$STALE" "UPDATE OR $policy accounts
        SET fence = 42 WHERE id = 7"
    refused "UPDATE OR $policy without" 'presents no fence' \
        "UPDATE OR $policy accounts SET balance = 0 WHERE id = 7"
    runs "UPDATE OR $policy with" \
        "UPDATE OR $policy accounts SET fence = 43 WHERE id = 7"
done

# One statement is stopped between the check of row 7 and its end: the second
# row waits for a fifo to be opened.
mkfifo "$W/fifo"
sql "UPDATE accounts SET fence = 43, balance = balance + CASE id WHEN 7 THEN 1
    ELSE writefile('$W/fifo', 'x') END WHERE id IN (7, 8)" >"$W/half" 2>&1 &
half=$!
is_reserved() {
    sql 'BEGIN IMMEDIATE; ROLLBACK' 2>/dev/null
    [ $? = 5 ]
}
ok 'a statement is stopped after a check' wait_until 15 is_reserved
locked 'a newer fence meanwhile' \
    'UPDATE accounts SET balance = 1, fence = 44 WHERE id = 7'
cat "$W/fifo" >"$W/x"
wait $half
is "$?:$(row 7)" '0:99|43' 'it is whole before'
runs 'then the newer passes' 'UPDATE accounts SET fence = 44 WHERE id = 7'

# Deleting.
refused 'a deletion with a lower fence' "$STALE" \
    'UPDATE holdfast_delete_accounts SET fence = 43 WHERE id = 7'
refused 'a deletion without one' 'DELETE from accounts presents no fence' \
    'UPDATE holdfast_delete_accounts SET balance = 43 WHERE id = 7'
refused 'a deletion with the fence that the row has' 'presents no fence' \
    'UPDATE holdfast_delete_accounts SET fence = fence WHERE id = 7'
is "$(row 7)" '99|44' 'the row is there'
runs 'a deletion' 'UPDATE holdfast_delete_accounts SET fence = 45 WHERE id = 7'
is "$(row 7):$(memory account-7):$(row 8)" ':45:2|43' 'that row is gone'
refused 'INSERT of an old holder afterwards' "$STALE" \
    'INSERT INTO accounts VALUES (7, 1, 44)'
runs 'INSERT of a newer one' 'INSERT INTO accounts VALUES (7, 1, 45)'
refused 'DELETE right after a deletion' 'presents no fence' \
    "UPDATE holdfast_delete_accounts SET fence = 46 WHERE id = 7;
    INSERT INTO accounts VALUES (7, 1, 46); DELETE FROM accounts WHERE id = 7"
runs 'several rows' 'UPDATE holdfast_delete_accounts SET fence = 46
    WHERE id IN (1, 2)'
is "$(row 1)$(row 2)" '' 'they are gone'

# Upserts.
runs 'an upsert that inserts' "INSERT INTO accounts VALUES (10, 1, 5)
    ON CONFLICT (id) DO UPDATE SET balance = 2, fence = excluded.fence"
runs 'an upsert that updates' "INSERT INTO accounts VALUES (10, 1, 6)
    ON CONFLICT (id) DO UPDATE SET balance = 2, fence = excluded.fence"
is "$(row 10)" '2|6' 'it updated'
refused 'an upsert with a lower fence' "$STALE" \
    "INSERT INTO accounts VALUES (10, 1, 5)
    ON CONFLICT (id) DO UPDATE SET balance = 3, fence = excluded.fence"
refused 'an upsert that does not name the column' 'presents no fence' \
    "INSERT INTO accounts VALUES (10, 1, 7)
    ON CONFLICT (id) DO UPDATE SET balance = 3"

# PRAGMA recursive_triggers: the triggers' own writes pass, a REPLACE deletes.
for statement in 'INSERT INTO accounts VALUES (11, 1, 5)' \
    'UPDATE accounts SET balance = 2, fence = 6 WHERE id = 11' \
    'UPDATE holdfast_delete_accounts SET fence = 7 WHERE id = 11'; do
    runs "recursive: $statement" "PRAGMA recursive_triggers = ON; $statement"
done
is "$(row 11):$(memory account-11)" :7 'their writes are right'
refused 'recursive: REPLACE' 'DELETE from accounts presents no fence' \
    'PRAGMA recursive_triggers = ON; REPLACE INTO accounts VALUES (10, 1, 9)'
runs 'REPLACE' 'REPLACE INTO accounts VALUES (10, 2, 6)'

# Triggers of the user's own, as docs/fencing.md says.
sql "CREATE TABLE notes (id INTEGER PRIMARY KEY, v, at, fence INTEGER);
    CREATE TRIGGER touch AFTER UPDATE OF v ON notes BEGIN
        UPDATE notes SET at = 'now', fence = NEW.fence WHERE id = NEW.id;
    END"
trigger --table notes --lock notes
runs "a table that its own trigger writes" \
    'INSERT INTO notes VALUES (1, 1, 0, 5); UPDATE notes SET v = 2, fence = 6'
is "$(sql 'SELECT v, at, -fence FROM notes'):$(memory notes)" '2|now|6:6' \
    'its trigger wrote'
refused 'with a lower fence' "$STALE" 'UPDATE notes SET v = 2, fence = 5'

# Other triggers of the table that keep the row: whenever they were made.
sql 'CREATE TABLE kept (id INTEGER PRIMARY KEY, v, w, fence INTEGER)'
trigger --table kept --lock kept
sql "INSERT INTO kept VALUES (1, 0, 0, 20);
    CREATE TRIGGER keep AFTER UPDATE OF v ON kept BEGIN
        SELECT RAISE(IGNORE); END;
    CREATE TRIGGER stop AFTER UPDATE OF w ON kept BEGIN
        SELECT RAISE(FAIL, 'no'); END;
    CREATE TRIGGER stay AFTER DELETE ON kept BEGIN
        SELECT RAISE(FAIL, 'not now'); END"
refused 'RAISE(IGNORE), a lower fence' "$STALE" \
    'UPDATE kept SET v = 1, fence = 15'
refused 'RAISE(IGNORE), no fence' 'UPDATE of kept presents no fence' \
    'UPDATE kept SET v = 1'
refused 'RAISE(FAIL), a lower fence' "$STALE" \
    'UPDATE kept SET w = 1, fence = 15'
is "$(sql 'SELECT v, w, -fence FROM kept'):$(memory kept)" '0|0|20:20' 'nothing is kept'
sql 'INSERT INTO kept VALUES (3, 0, 0, 20);
    CREATE TABLE kept2 (id INTEGER PRIMARY KEY, fence INTEGER)'
trigger --table kept2 --lock kept
sql 'INSERT INTO kept2 VALUES (1, 20)'
refused 'RAISE(FAIL) in a DELETE' 'not now' \
    'UPDATE holdfast_delete_kept SET fence = 30 WHERE id = 1'
refused 'then a DELETE of another row' 'DELETE from kept presents no fence' \
    'DELETE FROM kept WHERE id = 3'
refused 'and of that number in another table' 'DELETE from kept2 presents no fence' \
    'DELETE FROM kept2 WHERE id = 1'
sql 'DROP TRIGGER stay; INSERT INTO kept VALUES (2, 0, 0, 40)'
refused 'then a DELETE without a fence' 'DELETE from kept presents no fence' \
    'DELETE FROM kept'

# Foreign keys.
sql 'CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child
    (id INTEGER REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE,
    fence INTEGER)'
trigger --table child --lock child
fk='PRAGMA foreign_keys = ON'
runs 'a child' 'INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1, 5)'
refused 'a DELETE that cascades' 'DELETE from child presents no fence' \
    "$fk; DELETE FROM parent"
refused 'an UPDATE that cascades' 'UPDATE of child presents no fence' \
    "$fk; UPDATE parent SET id = 2"
runs 'the child first' "$fk; BEGIN IMMEDIATE;
    UPDATE holdfast_delete_child SET fence = 5; DELETE FROM parent; COMMIT"

# The cases that docs/fencing.md excludes.
sql 'CREATE TABLE u (id INTEGER PRIMARY KEY, k UNIQUE, fence INTEGER)'
trigger --table u --lock 'u-{id}'
runs 'two rows' 'INSERT INTO u VALUES (1, 1, 9), (2, 2, 9)'
runs 'REPLACE of a row with another name' 'REPLACE INTO u VALUES (3, 1, 1)'
refused 'unless recursive_triggers is on' 'DELETE from u presents no fence' \
    'PRAGMA recursive_triggers = ON; REPLACE INTO u VALUES (4, 2, 1)'

# Names, columns and tables that need quotes; a key of several columns.
sql 'CREATE TABLE "T""x '"'"'y" ("a b" TEXT, slot INTEGER, "f '"'"'" BIGINT)'
capture trigger --table "T\"x 'y" --lock "it's\\{a b}#{slot}" --column "f '"
is "$code:$err" 0: 'quotes and blanks everywhere'
runs 'INSERT there' "INSERT INTO \"T\"\"x 'y\" VALUES ('it''s', 3, 8)"
is "$(memory "it''s\\it''s#3")" 8 'its name'
refused 'UPDATE there' "of T\"x 'y presents no fence of it's" \
    "UPDATE \"T\"\"x 'y\" SET slot = 4"
runs 'deleting there' \
    "UPDATE \"holdfast_delete_T\"\"x 'y\" SET \"f '\" = 8"
refused 'a row without a name' "name of a lock has 1 to 1028 bytes" \
    "INSERT INTO \"T\"\"x 'y\" VALUES (NULL, 3, 8)"

# Where the trigger cannot work, it does not install.
sql 'CREATE TABLE w (id INTEGER PRIMARY KEY, fence INTEGER) WITHOUT ROWID;
    CREATE TABLE bare (id INTEGER PRIMARY KEY)'
cannot() { # TITLE REGEX ARG...
    local title=$1 regex=$2
    shift 2
    capture trigger "$@"
    isnt "$code" 0 "$title: not installed"
    like "$err" "$regex" "$title: says it"
}
cannot 'a table WITHOUT ROWID' 'no such column: T._rowid_' --table w --lock w
cannot 'no fence column' 'no such column: T.fence' --table bare --lock w
cannot 'no column of the name' 'no such column: T.x' --table u --lock '{x}'
for kind in REAL 'DOUBLE PRECISION' TEXT 'VARCHAR(20)'; do
    sql "DROP TABLE IF EXISTS typed; CREATE TABLE typed (id, fence $kind)"
    cannot "a column of type $kind" 'the column fence of typed must be of type INTEGER' \
        --table typed --lock typed
done
for kind in BIGINT 'UNSIGNED BIG INT' NUMERIC ''; do
    sql "DROP TABLE typed; CREATE TABLE typed (id, fence $kind)"
    trigger --table typed --lock "typed as $kind"
    runs "a column of type '$kind'" 'INSERT INTO typed VALUES (1, 1795394568716288)'
    refused "a stale fence in '$kind'" 'stale fence' \
        'INSERT INTO typed VALUES (2, 1795394568716287)'
done
cannot 'no table' 'no such table: none' --table none --lock w
DB=$W/other sql 'CREATE TABLE x (id INTEGER PRIMARY KEY, fence INTEGER)'
DB=$W/other cannot 'no guard' 'no such table: holdfast_guard' --table x --lock x
is "$(DB=$W/other sql "SELECT count(*) FROM sqlite_master WHERE name LIKE
    'holdfast%'")" 0 'nothing is left of it'
is "$(sql "SELECT count(*) FROM sqlite_master WHERE name LIKE
    'holdfast%bare'")" 0 'nor there'

# ---- Reset
sql "$(present "'x''y\\z'" 51)"
capture holdfast guard sqlite --reset "x'y\\z"
is "$code" 0 'a reset is printed'
like "$err" "^holdfast: guard: after this reset SQLite accepts any fence \
of .*, a former holder's too: stop all its writers before$" 'with its warning'
sql <<<"$out"
is "$?:$(sql 'SELECT count(*) FROM holdfast_fence WHERE fence = 51')" 0:0 \
    'it resets the name'
isnt "$(memory a)" '' 'and no other'
runs 'then a lower fence passes' "$(present "'x''y\\z'" 1)"
capture holdfast guard -q sqlite --reset a
is "$err" '' 'with -q no warning'

# ---- The content of a dump
sql .dump >"$W/dump"
sqlite3 -bail "$W/copy" <"$W/dump"
is "$?" 0 'a dump is restored'
is "$(DB=$W/copy row 10)" "$(row 10)" 'it has the rows'
DB=$W/copy refused 'in it a lower fence' "$STALE" \
    'UPDATE accounts SET fence = 1 WHERE id = 10'
DB=$W/copy refused 'in it DELETE' 'presents no fence' 'DELETE FROM accounts'

# ---- docs/fencing.md
page_is_true "$STALE"
finish
