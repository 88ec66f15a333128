#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# holdfast guard sqlite --install by SQLite 3.47 and later, whose errors have both fences,
# and the same file in an older SQLite.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/sqlite_page.sh"

# What scripts/test has unpacked, with the libraries that it needs; or what is installed.
has_numbers() { # SQLITE3
    [ "$("$1" :memory: 'SELECT CAST(substr(sqlite_version(), 3) AS REAL) >= 47')" = 1 ]
} 2>/dev/null
older=$(command -v sqlite3)
mkdir "$W/newer"
newer=$W/newer/sqlite3
if has_numbers "$older"; then
    ln -s "$older" "$newer"
    older=''
else
    for lib in "$HF_SOURCE"/build-sqlite/usr/lib/*; do
        ! ls "$lib"/ld-linux* >"$W/loader" 2>/dev/null || break
    done
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' \
        "$(head -n 1 "$W/loader")" "$lib" "$HF_SOURCE/build-sqlite/usr/bin/sqlite3" >"$newer"
    chmod +x "$newer"
fi
has_numbers "$newer" || skip_all 'no SQLite 3.47 or later'
diag "SQLite $("$newer" -version | cut -d ' ' -f 1)$(
    [ -z "$older" ] || echo ", and $("$older" -version | cut -d ' ' -f 1)")"
DB=$W/db

sql() { # [SQL]
    timeout 60 "$newer" -bail "$DB" "$@"
}
install() { # [ARG...]
    capture env "PATH=$W/newer:$PATH" holdfast guard sqlite --install "$DB" "$@"
}
present() { # NAME FENCE
    echo "INSERT INTO holdfast_fence (name, fence) VALUES ('$1', $2);"
}
runs() { # TITLE SQL
    capture sql "$2"
    is "$code:$err" 0: "$1"
}
refused() { # TITLE REGEX SQL
    capture sql "$3"
    isnt "$code" 0 "$1: refused"
    like "$err" "$2" "$1: says it"
}
NOTE='errors have both fences; SQLite before 3\.47 cannot open this file'

# ---- Both fences
: >"$DB"
install
is "$code:$out" 0: 'it installs'
like "$err" "SQLite: guard version 2 is installed; $NOTE: INSERT INTO" 'and says what it means'
before=$(sha256sum "$DB")
install
like "$err" 'version 2 was installed already; nothing was changed$' 'again: nothing to do'
is "$(sha256sum "$DB")" "$before" 'the file is the same'
runs 'a fence' "$(present a 42)"
runs 'an equal one' "$(present a 42)"
refused 'a lower one' "holdfast: fence 41 of 'a' is stale: 42 was presented; another" \
    "$(present a 41)"
runs 'the largest' "$(present "it''s" 9223372036854775807)"
refused 'one less' "holdfast: fence 9223372036854775806 of 'it''s' is stale: \
9223372036854775807 was presented" "$(present "it''s" "'9223372036854775806'")"
for policy in IGNORE REPLACE FAIL ABORT ROLLBACK; do
    refused "INSERT OR $policy" "fence 41 of 'a' is stale: 42 was presented" \
        "INSERT OR $policy INTO holdfast_fence VALUES ('a', 41)"
done
sql 'CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER)'
refused 'a write before the stale fence' "fence 41 of 'a'" \
    "BEGIN IMMEDIATE; INSERT INTO accounts VALUES (1, 2, 3); $(present a 41)"
# Its shell goes on to the end of a line, or of an argument, also with -bail.
printf '%s\n' 'BEGIN IMMEDIATE;' "$(present a 41)" 'INSERT INTO accounts VALUES (1, 2, 3);' \
    'COMMIT;' >"$W/lines"
capture sql <"$W/lines"
isnt "$code" 0 'a stale fence before a write, a line for each'
is "$(wc -l <<<"$err")" 1 'its shell stops there, with -bail'
printf '%s;\n' 'BEGIN IMMEDIATE' 'INSERT INTO accounts VALUES (1, 2, 3)' \
    "$(present a 41)" COMMIT >"$W/careless"
capture timeout 60 "$newer" "$DB" <"$W/careless"
like "$err" 'no transaction is active' 'nothing is left to commit, if the error is passed over'
is "$(sql 'SELECT count(*) FROM accounts')" 0 'nothing was written'
install --table accounts --lock 'account-{id}'
like "$err" 'installed already; the triggers of accounts are installed' 'a table'
before=$(sql .dump)
install --table accounts --lock 'account-{x}'
is "$code" 78 'no such column'
like "$err" 'no such column: T.x; nothing was changed' 'it says so'
is "$(sql .dump)" "$before" 'nothing was changed'
runs 'a row' 'INSERT INTO accounts VALUES (7, 100, 42)'
refused 'a stale write of it' "fence 41 of 'account-7' is stale: 42 was presented" \
    'UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
refused 'a stale deletion' "fence 41 of 'account-7' is stale: 42 was presented" \
    'UPDATE holdfast_delete_accounts SET fence = 41 WHERE id = 7'
refused 'a write without a fence' 'UPDATE of accounts presents no fence' \
    'UPDATE accounts SET balance = 1'
sql .dump >"$W/dump"
"$newer" -bail "$W/copy" <"$W/dump"
DB=$W/copy refused 'in a restored dump' "fence 41 of 'a' is stale: 42 was presented" \
    "$(present a 41)"

# ---- The same file in an older SQLite
if [ -n "$older" ]; then
    before=$(sha256sum "$DB")
    for statement in "$(present a 43)" 'UPDATE accounts SET balance = 1, fence = 43' \
        'DELETE FROM accounts' 'DROP TRIGGER holdfast_stale' \
        'SELECT * FROM accounts' 'CREATE TABLE x (a)'; do
        capture timeout 60 "$older" -bail "$DB" "$statement"
        isnt "$code:$out" 0: "older: ${statement:0:30}: refused"
        like "$err" 'malformed database schema \(holdfast_stale\)' 'it says which'
    done
    is "$(sha256sum "$DB")" "$before" 'the file is the same'
    capture holdfast guard sqlite --install "$DB"
    is "$code" 78 'nor does it install'
    like "$err" 'by SQLite 3.47 or later, and this sqlite3 is older: use a newer one' \
        'it says why'
    is "$(sha256sum "$DB")" "$before" 'and the file is the same'
else
    skip 'the same file in an older SQLite' 'no older SQLite'
fi

# ---- The printed text is for every SQLite, and decides
capture sql <<<"$(holdfast guard sqlite)"
is "$code:$err" 0: 'the printed text, over it'
refused 'then a lower fence' 'stale fence: a larger one was presented' "$(present a 41)"
install
like "$err" 'version 2 was installed already; nothing was changed$' 'an installation keeps it'
refused 'so a lower fence' 'stale fence: a larger one was presented' "$(present a 41)"
if [ -n "$older" ]; then
    capture timeout 60 "$older" -bail "$DB" "$(present a 42)"
    is "$code:$err" 0: 'an older SQLite opens it again'
fi
page=$(sed -n '/^DROP TRIGGER holdfast_stale/,/^END;$/p' "$HF_SOURCE/docs/fencing.md")
runs 'what docs/fencing.md has' "$page"
refused 'has both fences' "fence 41 of 'a' is stale: 42 was presented" "$(present a 41)"
is "$(sql "SELECT sql || ';' FROM sqlite_master WHERE type || name = 'triggerholdfast_stale'")" \
    "$(sed -n '/^CREATE TRIGGER/,/^END;$/p' "$HF_SOURCE/cli/guard/sqlite_newer.sql")" \
    'it is what --install makes'

# ---- From version 1, beside a program that has the file open
DB=$W/first
sql <"$HF_SOURCE/tests/guard/sqlite_1.sql"
sql 'CREATE TABLE t (a); INSERT INTO t VALUES (1)'
runs 'version 1: a fence' "$(present a 42)"
end_reader() {
    kill "$reader"
    wait "$reader"
} 2>/dev/null
if [ -n "$older" ]; then
    mkfifo "$W/in"
    "$older" "$DB" <"$W/in" >"$W/out" 2>&1 &
    reader=$!
    at_exit end_reader
    exec 8>"$W/in"
    echo 'SELECT a FROM t;' >&8
    ok 'an older program has the file open' wait_until 20 grep -qx 1 "$W/out"
fi
install
like "$err" "guard version 2 is installed, in place of version 1; the fences that were \
presented are kept; $NOTE" 'version 2 takes its place'
refused 'it knows the fence' "fence 41 of 'a' is stale: 42 was presented" "$(present a 41)"
if [ -n "$older" ]; then
    printf '%s\n' 'UPDATE t SET a = 2;' "$(present a 43)" >&8
    exec 8>&-
    wait "$reader"
    like "$(cat "$W/out")" 'malformed database schema \(holdfast_stale\)' \
        'the older program cannot go on'
    is "$(sql 'SELECT a FROM t; SELECT fence FROM holdfast_fence')" $'1\n42' \
        'and writes nothing'
fi

# ---- docs/fencing.md
PATH=$W/newer:$PATH page_is_true "fence [0-9]+ of 'account-7' is stale: [0-9]+ was presented"
finish
