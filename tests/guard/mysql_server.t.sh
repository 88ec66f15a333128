#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard mysql, on a real MariaDB: which tables, which users, which
# servers; writes that its triggers do not see; docs/fencing.md.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
# timeout: 400
mariadb_needed
holdfast guard mysql | sql || fail 'install'

trigger() { # ARG...
    holdfast guard mysql "$@" | sql
}

runs() { # TITLE SQL
    capture sql -e "$2"
    is "$code:$err" 0: "$1"
}

refused() { # TITLE REGEX SQL
    capture sql -e "$3"
    isnt "$code" 0 "$1: refused"
    like "$err" "$2" "$1: says it"
}

# ---- Tables
sql <<'SQL'
CREATE TABLE parent (id INT PRIMARY KEY);
CREATE TABLE child (id INT, fence BIGINT, FOREIGN KEY (id) REFERENCES parent (id)
    ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, k INT UNIQUE,
    v INT, fence BIGINT NOT NULL);
CREATE TABLE words (n VARCHAR(20) CHARACTER SET latin1, fence BIGINT);
CREATE TABLE bytes (n VARBINARY(20), fence BIGINT);
CREATE TABLE `it's ``\x"` (`a b` CHAR(9), slot INT, `f '``\"` BIGINT);
CREATE TABLE isam (id INT, fence BIGINT) ENGINE = MyISAM;
CREATE TABLE aria (id INT, fence BIGINT) ENGINE = Aria;
CREATE TABLE bare (id INT);
CREATE TABLE other (id INT, fence BIGINT UNSIGNED);
CREATE TABLE times (at TIMESTAMP NULL, d DATETIME, f FLOAT, g DOUBLE,
    k INT AS (YEAR(d)) PERSISTENT, fence BIGINT);
CREATE TABLE history (id INT, fence BIGINT) WITH SYSTEM VERSIONING;
SQL
cannot() { # TITLE REGEX ARG...
    local title=$1 regex=$2
    shift 2
    capture trigger "$@"
    isnt "$code" 0 "$title: not installed"
    like "$err" "$regex" "$title: says it"
}
cannot MyISAM 'isam must be a table of InnoDB' --table isam --lock t
cannot Aria 'aria must be a table of InnoDB' --table aria --lock t
cannot 'no table' 'no table none in app for this user' --table none --lock t
cannot 'no fence column' 'bare needs a column fence of type BIGINT' \
    --table bare --lock t
cannot 'an unsigned one' 'other needs a column fence of type BIGINT' \
    --table other --lock t
for column in at AT f g k; do
    cannot "a name of the column $column" "no lock name of ${column,,}: TIMESTAMP follows" \
        --table times --lock "t-{d}-{$column}"
done
cannot 'a system-versioned table' 'history is system-versioned' --table history --lock t
cannot 'no column of the name' "Unknown column 'T.x'" --table child --lock '{x}'
is "$(sql -e 'SELECT COUNT(*) FROM information_schema.triggers')" 0 \
    'nothing is left of these'
for table in child counted words bytes; do
    capture trigger --table app.$table --lock "$table-{$(
        sql -e "SELECT column_name FROM information_schema.columns
            WHERE table_name = '$table' AND ordinal_position = 1"
    )}"
    is "$code:$err" 0: "the trigger of $table"
done
capture trigger --table "it's \`\\x\"" --lock "it's\\ü{a b}#{slot}" \
    --column "f '\`\\\""
is "$code:$err" 0: 'quotes and blanks everywhere'
there="\`it's \`\`\\x\"\`"
runs 'INSERT there' "INSERT INTO $there VALUES ('x ', 3, 8)"
is "$(sql -e 'SELECT HEX(name) FROM holdfast.guard WHERE fence = 8')" \
    "$(printf "it's\\\\\\xc3\\xbcx#3" | od -An -tx1 | tr -d ' \n' | tr a-f A-F)" \
    'its name'
refused 'UPDATE there' "UPDATE of it's .*presents no fence of 'it's.üx#4'" \
    "UPDATE $there SET slot = 4"
refused 'a row without a name' 'bytes, this one has 0' \
    "INSERT INTO $there VALUES (NULL, 3, 8)"

# A key that the server chooses.
runs 'AUTO_INCREMENT' 'INSERT INTO counted (k, fence) VALUES (1, 5), (2, 6)'
is "$(sql -e "SELECT name, fence FROM holdfast.guard WHERE name LIKE 'count%'")" \
    $'counted-1\t5\ncounted-2\t6' 'the names are of the keys'
refused 'an old holder of such a key' "fence 4 of 'counted-1' is stale: 5" \
    'UPDATE counted SET v = 1, fence = 4 WHERE id = 1'
refused 'an upsert that does not know it' "no fence of 'counted-1'" \
    'INSERT INTO counted (k, fence) VALUES (1, 9)
    ON DUPLICATE KEY UPDATE v = 1'
runs 'an upsert that sets the column' \
    'INSERT INTO counted (k, fence) VALUES (1, 9)
    ON DUPLICATE KEY UPDATE v = 1, fence = 9'
refused 'REPLACE of a row with another name' "DELETE from counted presents no \
fence of 'counted-1'" 'REPLACE INTO counted (k, fence) VALUES (1, 10)'
is "$(sql -e 'SELECT id, k, -fence FROM counted')" $'1\t1\t9\n2\t2\t6' \
    'it displaced nothing'

# Text is its UTF-8, whatever the column's or the session's character set is.
for set in utf8mb4 latin1; do
    for word in "X'E9'" "X'65'"; do
        runs "a name of latin1, $set" "SET NAMES $set;
            INSERT INTO words VALUES (CONVERT($word USING latin1), 7)"
    done
done
runs 'names of bytes' "INSERT INTO bytes VALUES (X'00', 7), (X'E9', 7), (X'6120', 7)"
is "$(sql -e "SELECT HEX(name) FROM holdfast.guard
    WHERE name LIKE 'words%' OR name LIKE 'bytes%' ORDER BY name" | xargs)" \
    '62797465732D00 62797465732D6120 62797465732DE9 776F7264732D65 776F7264732DC3A9' \
    'names of rows'

# ---- Triggers of the table's owner, which run after the guard's
sql <<'SQL'
CREATE TABLE moved (id INT PRIMARY KEY, v INT, fence BIGINT);
SQL
capture trigger --table moved --lock 'moved-{id}'
is "$code:$err" 0: 'the trigger of moved'
runs 'rows of it' 'INSERT INTO moved VALUES (1, 0, 50), (2, 0, 60)'
rows='1 0 -50 2 0 -60'
later() { # EVENT CHANGE: a trigger that is newer than the guard's
    sql -e "DROP TRIGGER IF EXISTS later;
        CREATE TRIGGER later BEFORE $1 ON moved FOR EACH ROW SET $2"
}
unmoved() { # TITLE REGEX SQL
    refused "$1" "$2" "$3"
    is "$(sql -e 'SELECT * FROM moved' | xargs):$(
        sql -e "SELECT fence FROM holdfast.guard WHERE name IN ('moved-1', 'moved-2')" |
            xargs)" "$rows:50 60" "$1: nothing was written"
}
later UPDATE 'NEW.id = NEW.id + 2'
unmoved 'a later trigger that moves a row' "UPDATE of moved presents no fence of \
'moved-1'" 'UPDATE moved SET v = 1, fence = 70 WHERE id = 1'
later UPDATE 'NEW.id = NEW.id - 2'
runs 'a name with a larger fence' "SELECT holdfast.fence('moved-0', 80)"
unmoved 'the same to a name with a larger fence, with the fence of its own' \
    "fence 70 of 'moved-0' is stale: 80" "UPDATE moved SET v = 1, fence = 70
    WHERE id = 2 AND holdfast.fence('moved-2', 70)"
runs 'the same with both' "UPDATE moved SET v = 1, fence = 81
    WHERE id = 2 AND holdfast.fence('moved-2', 81)"
is "$(sql -e 'SELECT id, -fence FROM moved WHERE v = 1')" $'0\t81' 'it moved'
sql -e "DROP TRIGGER later; DELETE FROM moved
    WHERE id = 0 AND holdfast.fence('moved-0', 81);
    DELETE FROM holdfast.guard WHERE name IN ('moved-0', 'moved-2');
    INSERT INTO moved VALUES (2, 0, 60)"
for event in UPDATE INSERT; do
    write='UPDATE moved SET v = 1, fence = 70 WHERE id = 2'
    [ $event = UPDATE ] || write='INSERT INTO moved VALUES (3, 1, 70)'
    for value in NULL 0 70 1; do
        later $event "NEW.fence = $value"
        unmoved "a later trigger ON $event that sets the column to $value" \
            "$event .* moved: a later trigger has changed the column fence" "$write"
    done
done
later UPDATE 'NEW.fence = OLD.fence'
unmoved 'a later trigger that keeps the column as it was' \
    "fence 60 of 'moved-2' is stale: 70" \
    'UPDATE moved SET v = 1, fence = 70 WHERE id = 2'
later INSERT 'NEW.id = 2'
unmoved 'a later trigger that gives an INSERT another name' \
    "fence 59 of 'moved-2' is stale: 60|Duplicate entry '2'" \
    'INSERT INTO moved VALUES (3, 1, 59)'
unmoved 'the same, as an upsert' 'UPDATE of moved presents no fence|is stale' \
    'INSERT INTO moved VALUES (3, 1, 59) ON DUPLICATE KEY UPDATE v = 1'
later UPDATE 'NEW.fence = -71'
refused 'one that sets a larger fence: the lower one of the writer' \
    "fence 59 of 'moved-2' is stale: 60" \
    'UPDATE moved SET v = 1, fence = 59 WHERE id = 2'
runs 'it presents that, as docs/fencing.md says' \
    'UPDATE moved SET v = 1, fence = 70 WHERE id = 2'
is "$(sql -e "SELECT fence FROM holdfast.guard WHERE name = 'moved-2'")" 71 \
    'and it is remembered'

# ---- Writes that the triggers do not see, as in docs/fencing.md
runs 'a child' 'INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1, 5)'
runs 'an UPDATE that cascades' 'UPDATE parent SET id = 2'
is "$(sql -e 'SELECT id FROM child')" 2 'changes it'
runs 'a DELETE that cascades' 'DELETE FROM parent'
is "$(sql -e 'SELECT COUNT(*) FROM child')" 0 'deletes it'
runs 'REPLACE, of the parent' 'INSERT INTO parent VALUES (3);
    INSERT INTO child VALUES (3, 6); REPLACE INTO parent VALUES (3)'
is "$(sql -e 'SELECT COUNT(*) FROM child')" 0 'deletes it too'
runs 'TRUNCATE' 'TRUNCATE bytes'
is "$(sql -e 'SELECT COUNT(*) FROM bytes')" 0 'deletes all rows'
runs 'DO makes a warning of the error' \
    "SELECT holdfast.fence('do', 9); DO holdfast.fence('do', 8)"

# ---- Rights
sql <<'SQL'
CREATE USER app@localhost, outsider@localhost;
GRANT ALL ON app.* TO app@localhost, outsider@localhost;
GRANT EXECUTE ON PROCEDURE holdfast.fence TO app@localhost;
GRANT EXECUTE ON FUNCTION holdfast.fence TO app@localhost;
SQL
capture sql_as app -e "START TRANSACTION; CALL holdfast.fence('app', 2); COMMIT;
    SELECT holdfast.fence('app', 2);
    UPDATE counted SET v = 2, fence = 9 WHERE id = 1;
    DELETE FROM counted WHERE id = 2 AND holdfast.fence('counted-2', 6)"
is "$code:$err" 0: 'a user with EXECUTE presents fences and writes'
holdfast guard mysql | sql
capture sql_as app -e "START TRANSACTION; CALL holdfast.fence('app', 2); COMMIT;
    SELECT holdfast.fence('app', 2)"
is "$code:$err" 0: 'installing again keeps its rights'
denied() { # TITLE USER SQL
    capture sql_as "$2" -e "$3"
    like "$err" 'ERROR (1142|1370|1044|1227) .*denied' "$1: denied"
}
denied 'a change of the memory' app 'UPDATE holdfast.guard SET fence = 1'
denied 'a deletion from it' app 'DELETE FROM holdfast.guard'
denied 'reading it' app 'SELECT * FROM holdfast.guard'
denied 'the check alone' app "CALL holdfast.guard_check('app', 1)"
denied 'TRUNCATE of it' app 'TRUNCATE holdfast.guard'
denied 'a fence without the right' outsider "START TRANSACTION;
    CALL holdfast.fence('app', 3)"
denied 'the function without it' outsider "SELECT holdfast.fence('app', 3)"
capture sql_as outsider -e 'UPDATE counted SET v = 3, fence = 8 WHERE id = 1'
like "$err" "fence 8 of 'counted-1' is stale: 9" \
    'a table demands its fence of each user'
capture sql_as app -e "SET @holdfast_passed = '617070=1';
    SET @holdfast_presented = CONCAT(UTC_TIMESTAMP(6), ' 617070=9 ');
    START TRANSACTION; CALL holdfast.fence('app', 1)"
like "$err" "fence 1 of 'app' is stale: 2" 'variables of a session do not help'

# ---- Reset
sql -e "INSERT INTO holdfast.guard VALUES (X'78277A5CFF', 51), ('x', 52)"
capture holdfast guard mysql --reset $'x\'z\\\xff'
is "$code" 0 'a reset is printed'
like "$err" '^holdfast: guard: after this reset MySQL accepts any fence of ' \
    'with its warning'
sql <<<"$out"
is "$?:$(sql -e 'SELECT fence FROM holdfast.guard WHERE fence IN (51, 52)')" \
    0:52 'it resets the name, and no other'
holdfast guard -q mysql --reset app 2>"$W/err" | sql
is "$(cat "$W/err")" '' 'with -q no warning'
runs 'then a lower fence passes' "SELECT holdfast.fence('app', 1)"

# ---- docs/fencing.md
mkdir "$W/page" "$W/bin"
cat >"$W/bin/mariadb" <<SH
#!/bin/sh
exec $(command -v mariadb) --no-defaults -uroot -S $W/maria/s "\$@"
SH
chmod +x "$W/bin/mariadb"
sed -n '/^## MariaDB/,/^## /{/^```sh$/,/^```$/{/^```/d;p}}' \
    "$HF_SOURCE/docs/fencing.md" >"$W/page.sh"
capture env -C "$W/page" PATH="$W/bin:$PATH" \
    HOLDFAST_URL="local://$W/store" sh "$W/page.sh"
like "$err" "fence [0-9]+ of 'account-7' is stale: [0-9]+ was presented" \
    'the page: A is refused'
unlike "$err" 'syntax|not found|no such|Unknown' 'the page: nothing else fails'
like "$out" $'(^|\n)150(\n|$)' 'the page: the deposit of B is there'
like "$out" $'(^|\n)130(\n|$)' 'the page: without the guard it was lost'
like "$err" 'UPDATE of accounts presents no fence' 'the page: its trigger'
is "$(sql -e 'SELECT id FROM try.accounts')" '' 'the page: the row is deleted'

# ---- A server with a binary log
sql -e "CREATE USER plain@localhost; GRANT ALL ON *.* TO plain@localhost;
    REVOKE SUPER ON *.* FROM plain@localhost; DROP DATABASE holdfast"
mariadb_restart --log-bin=log --binlog-format=STATEMENT || fail 'it restarts'
capture bash -c "holdfast guard mysql | mariadb --no-defaults -uplain \
    -S '$W/maria/s' -BN"
like "$err" 'ERROR 1419' 'without SUPER: error 1419'
like "$out" "error 1419 follows: install as a user with SUPER, or SET GLOBAL \
log_bin_trust_function_creators = 1" 'and the remedy'
sql -e 'SET GLOBAL log_bin_trust_function_creators = 1'
capture bash -c "holdfast guard mysql | mariadb --no-defaults -uplain \
    -S '$W/maria/s' -BN"
is "$code:$out$err" 0: 'with that it installs'
sql -e 'SET GLOBAL log_bin_trust_function_creators = 0'
capture bash -c 'holdfast guard mysql | mariadb --no-defaults -uroot \
    -S "$0/maria/s" -BN' "$W"
is "$code:$out$err" 0: 'root needs nothing'
sql -e 'DROP TABLE IF EXISTS accounts; DROP DATABASE holdfast; RESET MASTER;
    CREATE TABLE accounts (id INT PRIMARY KEY, v INT, fence BIGINT)'
holdfast guard mysql | sql
trigger --table accounts --lock 'account-{id}'
runs 'STATEMENT: writes' "INSERT INTO accounts VALUES (1, 0, 5), (2, 0, 5);
    UPDATE accounts SET v = 1, fence = 6 WHERE id = 1;
    UPDATE accounts SET v = 2 WHERE id = 1 AND holdfast.fence('account-1', 7);
    START TRANSACTION; CALL holdfast.fence(X'C3A9FF00', 8);
    UPDATE accounts SET v = 3, fence = 9 WHERE id = 1; COMMIT;
    DELETE FROM accounts WHERE id = 2 AND holdfast.fence('account-2', 5)"
refused 'STATEMENT: a stale one' "fence 8 of 'account-1' is stale: 9" \
    'UPDATE accounts SET v = 4, fence = 8 WHERE id = 1'
refused 'STATEMENT and READ COMMITTED' 'BINLOG_FORMAT = STATEMENT' \
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    UPDATE accounts SET v = 4, fence = 10 WHERE id = 1'
state() {
    sql -e 'SELECT id, v, fence FROM app.accounts; SELECT HEX(name), fence
        FROM holdfast.guard ORDER BY name'
}
before=$(state)
mariadb-binlog --no-defaults "$W"/maria/data/log.000001 >"$W/binlog"
sql -e 'SET sql_log_bin = 0; DROP DATABASE holdfast; DROP TABLE accounts'
sql <"$W/binlog"
is "$(state)" "$before" 'a replayed log has the same rows and memory'

# ---- A dump
mariadb-dump --no-defaults -uroot -S "$W/maria/s" --routines \
    --databases app holdfast >"$W/dump" 2>"$W/err"
is $? 0 'a dump'
sql -e 'SET sql_log_bin = 0; DROP DATABASE app; DROP DATABASE holdfast'
MARIADB_DB='' sql <"$W/dump"
is "$(state)" "$before" 'restored, it has the same'
refused 'and refuses the same writes' "fence 8 of 'account-1' is stale: 9" \
    'UPDATE accounts SET v = 4, fence = 8 WHERE id = 1'

# ---- Many names
sql -e 'SET SESSION binlog_format = ROW; INSERT INTO accounts
    SELECT seq, 0, 5 FROM seq_10_to_10009'
is $?:"$(sql -e 'SELECT COUNT(*) FROM holdfast.guard WHERE fence = 5')" \
    0:10001 '10,000 rows present their fences'
finish
