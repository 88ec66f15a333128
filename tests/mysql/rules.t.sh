#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The schema of a lock node, from the client on a real server: installation, and
# what concurrent sessions see. differential.t.sh has the rules themselves.
# Leases that last do so for 50 minutes: on a loaded machine this takes many.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
mariadb_needed
schema=$W/schema.sql
cat "$HF_SOURCE"/src/store/mysql/schema/*.sql >"$schema"

verb() { # COLUMN... CALL: of the first row
    local call=${*: -1}
    sql --column-names -e "CALL holdfast.$call" |
        awk -F '\t' -v columns="${*:1:$#-1}" 'NR == 1 {
                for (i = 1; i <= NF; i++) at[$i] = i
            }
            NR == 2 {
                n = split(columns, names, " ")
                for (i = 1; i <= n; i++)
                    printf "%s%s", $at[names[i]], i < n ? " " : "\n"
            }'
}

acquire() { # NAME OWNER TTL [PLACE [TICKET [MODE]]]
    echo "acquire('$1', '$2', $3, 0, NULL, 3600000, '${6:-x}', 0, ${4:-0}, ${5:-0}, 0)"
}

release() { # NAME OWNER [RESERVE]
    echo "release('$1', '$2', 0, ${3:-0}, 3600000, NULL)"
}

confirm() { # NAME OWNER FENCE
    echo "confirm('$1', '$2', 3000000, $3, NULL, 3600000, 0, 'x')"
}

holder() { # NAME
    verb owner "inspect('$1')"
}

refused() { # WHAT REGEX SQL
    capture sql -e "$3"
    isnt "$code" 0 "$1: refused"
    like "$err" "$2" "$1: says it"
}

answer() { # of session_do: the first number of the last row
    awk '$1 ~ /^-?[0-9]+$/ { v = $1 } END { print v }' <<<"$got"
}

# ---- Installation
capture sql <"$schema"
is "$code:$out$err" 0: 'it installs, silently'
is "$(verb version 'schema_version()')" 1 'its version'
is "$(verb verdict "$(acquire a one 3000000)")" -1 \
    'without a marker it grants nothing'
sql -e "CALL holdfast.marker('', 'm1', 1, '', 0, '[\"max_ttl\", \"60000\"]')" \
    >/dev/null
counter=$(verb counter "$(acquire a one 3000000)")
capture sql <"$schema"
is "$code:$out$err" 0: 'and again'
is "$(verb verdict counter "inspect('a')")" "1 $counter" 'it keeps the locks'
sql -e 'UPDATE holdfast.version SET version = 2'
capture sql <"$schema"
like "$err" 'HF003.*schema holdfast has version 2, newer than 1' \
    'it does not replace a newer version'
sql -e 'UPDATE holdfast.version SET version = 1'
holdfast guard mysql >"$W/guard.sql"
capture sql <"$W/guard.sql"
capture sql <"$schema"
is "$code:$out$err" 0: 'beside the guard'

# ---- What a call must be
refused 'in a transaction' '1568 .25001.' \
    "BEGIN; SELECT 1 FROM holdfast.lock; CALL holdfast.$(acquire a x 1)"
refused 'in a transaction that wrote' '1568 .25001.' \
    "SET autocommit = 0; DELETE FROM holdfast.once; CALL holdfast.$(acquire a x 1)"
refused 'no owner' '22023.*the owner has 0 bytes, must be 1 to 512' \
    "CALL holdfast.$(acquire a '' 1)"
for call in "acquire('new', 'x', -1, 0, NULL, 10000, 'x', 0, 0, 0, 0)" \
    "acquire('new', 'x', NULL, 0, NULL, 10000, 'x', 0, 0, 0, 0)" \
    "acquire('new', 'x', 1, 0, NULL, 9999, 'x', 0, 0, 0, 0)" \
    "acquire('new', 'x', 1, 0, NULL, -1, 'x', 0, 0, 0, 0)" \
    "acquire('new', 'x', 1, 0, NULL, NULL, 'x', 0, 0, 0, 0)" \
    "acquire('new', 'x', 1, 0, NULL, 10000, 'x', 0, -1, 0, 0)" \
    "acquire('new', 'x', 1, 0, NULL, 10000, 'x', 0, NULL, 0, 0)" \
    "confirm('a', 'one', -1, $counter, NULL, 10000, 0, 'x')" \
    "confirm('a', 'one', 1, $counter, NULL, 0, 0, 'x')" \
    "release('a', 'one', 0, -1, 10000, NULL)" "release('a', 'one', 0, 0, -1, NULL)" \
    "break_lock('a', 'x', 1, 'm1', 9999, 1, '')" \
    "break_lock('a', 'x', 1, 'm1', 10000, -1, '')" \
    "ahead('m1', 10000, -1)" "ahead('m1', 0, 1)"; do
    refused "$call" '22023.*(a span of|fence_keep is) (-1|no|0|9999)( ms)?, must be' \
        "CALL holdfast.$call"
done
is "$(sql -e "SELECT COUNT(*) FROM holdfast.lock WHERE name = 'new'")" 0 \
    'nothing was granted'
refused 'an empty name' '22023.*the name has 0 bytes' \
    "CALL holdfast.$(acquire '' x 1)"
refused 'a mode' '22023.*mode y, must be x, s0 or s and a number' \
    "CALL holdfast.$(acquire a x 1 0 0 y)"
is "$(holder a)" one 'none of these changed a'
is "$(sql -e "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
    SET SESSION innodb_lock_wait_timeout = 40, time_zone = '+05:00';
    CALL holdfast.$(acquire iso x 3000000); SELECT @@$(isolation_variable),
    @@innodb_lock_wait_timeout, @@time_zone" | tail -n 1)" \
    $'SERIALIZABLE\t40\t+05:00' 'a session keeps its settings'
sql -e "SET time_zone = '+05:00'; SET TIMESTAMP = 5;
    CALL holdfast.$(acquire utc x 3000000)" >/dev/null
ok 'the clock is UTC, and SET TIMESTAMP does not move it' test \
    "$(verb left_ms "inspect('utc')")" -gt 0
sql -e "CALL holdfast.$(acquire case x 3000000)" >/dev/null
for name in CASE 'case ' $'c\xc3\xa4se'; do
    is "$(verb verdict "$(acquire "$name" y 3000000)")" 1 "names are bytes: $name"
done

# ---- Users
sql -e "CREATE USER app, stranger; GRANT EXECUTE ON holdfast.* TO app"
MARIADB_DB=''
is "$(sql_as app -e "CALL holdfast.$(acquire app x 1000)" | cut -f 1)" 1 \
    'EXECUTE is enough'
capture sql_as app -e 'DELETE FROM holdfast.lock'
like "$err" 'DELETE command denied' 'the tables are not open'
capture sql_as app -e "CALL holdfast.store_name('a', 'me', 1, -1, 1, '', 1)"
like "$err" 'UPDATE command denied' 'nor are the inner procedures'
capture sql_as stranger -e "CALL holdfast.$(acquire app x 1000)"
like "$err" 'execute command denied' 'without it nothing is'
MARIADB_DB=app

# ---- One name, two sessions
session_open A
session_open B
lock_row() { # SESSION NAME
    session_do "$1" "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN;
        SELECT 'locked' FROM holdfast.lock WHERE name = '$2' FOR UPDATE"
}
# A verb waits for a second, which may be over before a busy machine looks.
blocks_b() { # SQL
    local i
    for i in {1..20}; do
        session_send B "$1"
        wait_until 1 session_is_blocked B && return
        session_wait B
    done
    return 1
}
session_do A "BEGIN; INSERT INTO holdfast.lock (name) VALUES ('n')"
ok 'a second one waits for a row that is being made' \
    blocks_b "CALL holdfast.$(acquire n B 3000000 2000000)"
session_do A ROLLBACK
session_wait B
like "$(answer)$got" '^1|1205' 'and is granted, or unknown, after a ROLLBACK'
sql -e "CALL holdfast.$(acquire m H 3000000)" >/dev/null
for owner in R S; do
    sql -e "CALL holdfast.$(acquire shared $owner 3000000 0 0 s0)" >/dev/null
done
session_do A "BEGIN; SELECT 'locked' FROM holdfast.sharer FOR UPDATE"
is "$(verb verdict "$(acquire shared C 3000000)")" 0 \
    'a refused try does not wait for sharers'
session_do A ROLLBACK
lock_row A m
is "$(verb verdict "$(acquire m C 3000000)")" 0 'nor for the row of the name'
capture sql -e "CALL holdfast.$(confirm m H 1); SELECT 1"
like "$err" '1205.*Lock wait timeout' 'a verb waits for a second'
session_do B "CALL holdfast.$(confirm m H 1)"
# Of InnoDB, since MySQL has no in_transaction. It shows what was there 0.1 s ago.
has_none() {
    session_do B 'SELECT COUNT(*) FROM information_schema.innodb_trx
        WHERE trx_mysql_thread_id = CONNECTION_ID()'
    [ "$got" = 0 ]
}
ok 'which leaves no transaction' wait_until 20 has_none
session_do A ROLLBACK
is "$(verb verdict "$(confirm m H 1)")" 1 'after that it is granted'

# ---- A waiter that queues while another verb waits for the row
sql -e "CALL holdfast.$(acquire q H 200)" >/dev/null
q_is_free() {
    [ "$(verb left_ms "inspect('q')")" = -2 ]
}
ok 'a lease ends' wait_until 15 q_is_free
lock_row A q
session_do B 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ'
ok 'a try waits for the row' blocks_b "CALL holdfast.$(acquire q B 3000000 0)"
session_do A "INSERT INTO holdfast.waiter VALUES ('q', 'W', 1,
    holdfast.clock() DIV 1000 + 2000000, 'x'); COMMIT"
session_wait B
like "$(answer)$got" '^0|1205' 'it does not overtake who has queued meanwhile'
is "$(holder q)" '' 'the name is kept for the waiter'
is "$(verb verdict "$(acquire q V 3000000)")" 0 'also from others'
is "$(verb verdict "$(acquire q V 3000000 2000000 2)")" 2 'who queue behind it'
is "$(verb verdict "$(acquire q W 3000000 2000000 1)")" 1 'until it asks'
is "$(verb verdict "$(release q W)")" 1 'released'
is "$(verb verdict "$(acquire q V 3000000 2000000)")" 1 'to the next one'

# ---- The same, many times
cat >"$W/stress" <<'EOF'
DELIMITER //
CREATE PROCEDURE app.stress(IN me VARCHAR(20), IN n INT)
BEGIN
    DECLARE i INT DEFAULT 0;
    DECLARE name VARCHAR(20);
    WHILE i < n DO
        SET name = CONCAT('st', i % 3), i = i + 1;
        SELECT 'name', name;
        CALL holdfast.acquire(name, me, 3000000, 0, NULL, 3600000,
            IF(i % 5 = 4, 's0', 'x'), 0, 2000000, 0, 0);
        CALL holdfast.release(name, me, 0, 0, 3600000, NULL);
    END WHILE;
END//
EOF
sql <"$W/stress"
pids=()
for i in 1 2 3 4; do
    sql -e "CALL app.stress('s$i', 150)" >"$W/stress.$i" 2>&1 &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid"
done
grep -h ERROR "$W"/stress.? >"$W/stress" && diag "$(<"$W/stress")"
is "$(cat "$W"/stress.? | grep -c ERROR)" 0 \
    'four sessions on three names: no deadlock, and no row waited for in vain'
awk '$1 == "name" { name = $2 } $1 == 1 && $4 ~ /^s[0-9]$/ { print name, $2 }' \
    "$W"/stress.? | sort >"$W/fences"
ok 'many are granted' test "$(wc -l <"$W/fences")" -gt 100
is "$(uniq -d <"$W/fences")" '' 'no fence twice'

# ---- The marker
sql -e "UPDATE holdfast.node SET server_id = 77 WHERE field = 'v'"
for call in "$(acquire z x 1)" "$(confirm z x 1)" \
    "break_lock('m', 'x', 1, 'm1', 10000, 1, '')" "mark('z', 'm1', 1, 1, 'x')"; do
    is "$(verb verdict "$call")" -1 "another server: ${call%%(*}"
done
is "$(verb verdict "$(release m H)")" 1 'a release still frees'
is "$(verb verdict "release('m', 'H', 0, 0, 3600000, 'm1')")" -1 '... and denies none'
is "$(verb verdict "release('m', 'H', 0, 0, 3600000, '')")" 0 \
    '... but to one who does not count that'
sql -e "CALL holdfast.marker('m1', 'm2', 0, 'at:h', 5, '[]')" >/dev/null
is "$(verb verdict "$(acquire z x 1)")" -1 \
    'in quarantine: not for a call without a marker'
is "$(verb verdict "acquire('z', 'x', 1, 0, 'm2', 10000, 'x', 0, 0, 0, 0)")" 1 \
    'a client whose marker it is decides that itself'
is "$(verb verdict "acquire('z', 'x', 1, 0, 'm1', 10000, 'x', 0, 0, 0, 0)")" -1 \
    'a client with the marker of before is refused'
is "$(verb verdict "marker('m1', 'm3', 0, '', 0, '[]')")" 0 \
    'and does not write it'
is "$(sql -e 'CALL holdfast.facts()' | grep -v ^server: | sort)" \
    $'at:h\t5\nv\tm2' 'a new value begins without "whole" and hosts'
for i in {1..80}; do
    echo "CALL holdfast.marker('m2', 'm2', 0, 'at:$i', $i, '[]');"
done | sql >/dev/null
is "$(sql -e 'CALL holdfast.facts()' | grep -c ^at:)" 64 'no more than 64 hosts'
sql -e "CALL holdfast.marker('m2', 'm2', 1, 'at:h', 5, '[]')" >/dev/null
is "$(sql -e 'CALL holdfast.facts()' | grep -v ^server: | sort)" \
    $'v\tm2\nwhole\t1' 'whole: hosts are gone'

# ---- Values
refused 'a value too large' '22023.*at most 262144 bytes; this one has 262145' \
    "CALL holdfast.value_put('v', 0, 'a', NULL, REPEAT('x', 262145))"
refused 'a write without an id' '22023.*id of the write has 0 bytes' \
    "CALL holdfast.value_put('v', 0, '', NULL, 'x')"
refused 'a deletion with a value' '22023.*not both' \
    "CALL holdfast.value_put('v', 0, 'a', 6000000, 'x')"
v=$(verb version "value_put('v', 0, 'a', NULL, 'x')")
is "$(verb verdict version "value_put('v', 5, 'c', NULL, 'z')")" "0 $v" \
    'a write of another version is refused'
is "$(verb data id "value_get('v')")" 'x a' 'and read'

# ---- Names
sql -e 'DELETE FROM holdfast.lock; DELETE FROM holdfast.waiter;
    DELETE FROM holdfast.sharer'
for i in 1 2 3 4 5; do
    sql -e "CALL holdfast.$(acquire list:$i x 3000000)"
done >/dev/null
{
    sql -e "CALL holdfast.$(acquire list:2 y 3000000 2000000)"
    sql -e "CALL holdfast.$(release list:2 x)"
    sql -e "CALL holdfast.$(release list:3 x)"
    sql -e "CALL holdfast.$(release list:4 x 2000000)"
    sql -e "CALL holdfast.mark('list:9', NULL, 5, 2000000, 'm')"
} >/dev/null
names() { # PREFIX AFTER MOST
    sql -e "CALL holdfast.scan('$1', '$2', $3)" | tr '\n' ' '
}
is "$(names list: '' 10)" 'list:1 list:2 list:4 list:5 list:9 ' \
    'held, waited for, reserved or marked'
is "$(names list: list:2 2)" 'list:4 list:5 ' 'a page of them'
is "$(sql -e 'CALL holdfast.look(1)')" $'2\t1\tlist:1' \
    'two are held, one is waited for'

# ---- Idle names
for i in {1..60}; do
    echo "CALL holdfast.$(acquire "idle$i" x 1);"
done | sql >/dev/null
end_keeping() {
    sql -e "UPDATE holdfast.lock SET kept_until = until WHERE name LIKE 'idle%'"
}
end_keeping
idle() {
    sql -e "SELECT COUNT(*) FROM holdfast.lock WHERE name LIKE 'idle%'"
}
for i in {1..60}; do
    echo "CALL holdfast.$(acquire "new$i" x 6000000);"
done | sql >/dev/null
left=$(idle)
ok "60 new names leave few idle ones ($left)" test "$left" -lt 20
sql -e "CALL holdfast.$(acquire idle7 x 1)" >/dev/null
end_keeping
lock_row A idle7
capture sql -e "DO SLEEP(0.01); CALL holdfast.sweep('', 1000)"
is "$code:$(idle)$err" 0:1 'a sweep passes over a name that is locked'
session_do A COMMIT
is "$(holder new1)" x 'and leaves what is held'

# ---- The server
fact() { # FIELD
    sql -e 'CALL holdfast.facts()' | sed -n "s/^$1\t//p"
}
is "$(fact server:durable)" 0 'commits that are not on disk'
sql -e 'SET GLOBAL innodb_flush_log_at_trx_commit = 1'
is "$(fact server:durable)" 1 'and commits that are'

# ---- Binary logs, and replicas
for format in ROW MIXED; do
    mariadb_restart --log-bin --binlog-format=$format
    is "$(verb verdict "$(acquire "log$format" x 3000000)")" 1 "in a $format log"
done
mariadb_restart --log-bin --binlog-format=STATEMENT
refused 'a log of statements' '1665.*BINLOG_FORMAT = STATEMENT' \
    "CALL holdfast.$(acquire stmt x 3000000)"
sql -e "CREATE USER installer; GRANT ALL ON holdfast.* TO installer"
MARIADB_DB=''
capture sql_as installer <"$schema"
like "$out$err" 'log_bin_trust_function_creators = 1' \
    'an installation without SUPER says what to set'
MARIADB_DB=app
mariadb_restart --read-only
refused 'a replica' '25006.*read-only; a replica grants no locks' \
    "CALL holdfast.$(acquire ro x 3000000)"
finish
