#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard sqlite --install.
. "$(dirname "$0")/../lib/tap.sh"
# timeout: 120
command -v sqlite3 >/dev/null || skip_all 'no sqlite3'
DB=$W/db

db() { # SQL
    sqlite3 -bail "$DB" "$1"
}

install() { # [ARG...]
    capture holdfast guard sqlite --install "$@"
}

installs() { # TITLE REGEX [ARG...]
    local title=$1 regex=$2
    shift 2
    install "$@"
    is "$code:$out" 0: "$title"
    like "$err" "^holdfast: guard: SQLite: guard version 2 $regex" "$title: says it"
}

refused() { # CODE REGEX TITLE [ARG...]
    local want=$1 regex=$2 title=$3
    shift 3
    install "$@"
    is "$code:$out" "$want:" "$title: exit $want"
    like "$err" "^holdfast: guard: $regex" "$title: says it"
    is "$(wc -l <<<"$err")" 1 "$title: in one line"
}

present() { # NAME FENCE
    capture db "BEGIN IMMEDIATE; INSERT INTO holdfast_fence (name, fence)
        VALUES ('$1', $2); COMMIT"
}

# ---- Fresh, again, older, newer
: >"$DB"
installs 'an empty file' \
    'is installed: INSERT INTO holdfast_fence \(name, fence\) VALUES' "$DB"
present a 42
is "$code:$err:$(db 'SELECT version FROM holdfast_guard_version')" 0::2 'a fence passes'
present a 41
like "$err" 'stale fence: a larger one was presented' 'a stale one is refused'
before=$(sha256sum "$DB")
installs again 'was installed already; nothing was changed$' "$DB"
is "$(sha256sum "$DB")" "$before" 'the file is the same'
install -q "$DB"
is "$code:$out$err" 0: 'with -q no line'
holdfast guard sqlite | sed 's/SELECT 2 AS version/SELECT 0 AS version/' |
    sqlite3 -bail "$DB"
installs 'an older one' 'is installed, in place of version 0; the fences that' "$DB"
is "$(db "SELECT fence FROM holdfast_guard WHERE name = 'a'")" 42 'its memory is kept'
db 'DROP VIEW holdfast_guard_version'
installs 'one from before there were versions' 'is installed, in place of version 0' \
    "$DB"
db 'DROP TRIGGER holdfast_fence'
installs 'one that lacks its trigger' 'is installed, in place of an incomplete' "$DB"
present a 41
like "$err" 'stale fence' 'it refuses again'
holdfast guard sqlite | sed 's/SELECT 2 AS version/SELECT 12 AS version/' |
    sqlite3 -bail "$DB"
before=$(sha256sum "$DB")
refused 78 'SQLite: has version 12 of the guard, and this holdfast version 2: nothing' \
    'a newer one' "$DB"
is "$(sha256sum "$DB")" "$before" 'the file is the same'
holdfast guard sqlite | sqlite3 -bail "$DB"

# ---- Tables
db 'CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER)'
table=(--table accounts --lock 'account-{id}')
installs 'a table' 'was installed already; the triggers of accounts are installed' \
    "$DB" "${table[@]}"
db 'INSERT INTO accounts VALUES (7, 100, 42)'
capture db 'UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
like "$err" 'stale fence' 'a stale write is refused'
installs 'the table again' 'was installed already; the triggers of accounts were' \
    "$DB" "${table[@]}"
installs 'another name' '.*the triggers of accounts are installed' \
    "$DB" --table accounts --lock 'konto-{id}'
before=$(db .dump)
refused 78 'SQLite: Parse error near line [0-9]+: no such column: T.x; nothing was' \
    'no such column' "$DB" --table accounts --lock 'account-{x}'
is "$(db .dump)" "$before" 'nothing was changed'

# A table that is renamed takes its triggers along, with their names.
installs 'the first name' '.*the triggers of accounts are installed' "$DB" "${table[@]}"
db 'ALTER TABLE accounts RENAME TO accounts_old;
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER)'
before=$(db .dump)
refused 78 'SQLite: the table accounts_old has the triggers that are named after accounts, '\
'as it was renamed: nothing was changed; install with --table accounts_old, then drop' \
    'a table in place of a renamed one' "$DB" "${table[@]}"
capture sqlite3 -bail "$DB" < <(holdfast guard sqlite "${table[@]}")
like "$code:$err" '1:.*the triggers of accounts belong to another table' \
    'the text by hand is refused'
is "$(db .dump)" "$before" 'nothing was changed'
installs 'the renamed one' '.*the triggers of accounts_old are installed' \
    "$DB" --table accounts_old --lock 'account-{id}'
db 'DROP TRIGGER holdfast_insert_accounts; DROP TRIGGER holdfast_check_accounts;
    DROP TRIGGER holdfast_update_accounts; DROP TRIGGER holdfast_delete_accounts'
installs 'then the other' '.*the triggers of accounts are installed' "$DB" "${table[@]}"
capture db 'UPDATE accounts_old SET balance = 1, fence = 41 WHERE id = 7'
like "$err" 'stale fence' 'both are guarded'

# ---- Files
refused 64 'which file\? holdfast guard sqlite --install FILE$' 'no file'
refused 78 '.*/none: No such file or directory$' 'a file that is not there' "$W/none"
ok 'it was not made' test ! -e "$W/none"
refused 78 ".*: not an SQLite database; nothing was changed$" 'a folder' "$W"
printf 'SQLite format 4\0 of another kind' >"$W/text"
cp "$W/text" "$W/copy"
refused 78 '.*/text: not an SQLite database; nothing was changed$' 'another file' \
    "$W/text"
ok 'it is as it was' cmp "$W/text" "$W/copy"
printf 'SQLite format 3\0 and nothing behind it' >"$W/text"
cp "$W/text" "$W/copy"
refused 78 'SQLite: .*file is not a database' 'a damaged one' "$W/text" --table t --lock x
ok 'it is as it was' cmp "$W/text" "$W/copy"
cd "$W" || exit
for name in -batch 'file:x?mode=memory' 'two words' "it's"; do
    : >"./$name"
    capture holdfast guard sqlite --install -- "$name"
    [ "$name" != -batch ] || capture holdfast guard sqlite --install ./-batch
    [ "$code" = 0 ] || capture holdfast guard sqlite --install "$name"
    is "$code" 0 "a file <$name>"
    like "$(sqlite3 "./$name" .tables)" holdfast_guard 'it is there'
done
session_lock() {
    { echo 'BEGIN EXCLUSIVE;'; echo '.print locked'; cat "$W/fifo"; } |
        sqlite3 "$DB" >"$W/locked" 2>&1 &
    wait_until 15 grep -q locked "$W/locked"
}
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$W"
    chmod 644 "$DB"
    db 'DROP VIEW holdfast_guard_version'
    capture setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$(command -v holdfast)" guard sqlite --install "$DB"
    is "$code" 77 'a file that may only be read'
    like "$err" '^holdfast: guard: SQLite: .*readonly database' 'says it'
else
    skip 'a file that may only be read' 'not root'
    skip 'says it' 'not root'
fi
mkfifo "$W/fifo"
session_lock
exec 9>"$W/fifo"
refused 69 'SQLite: .*locked' 'a file that another program has locked for ever' "$DB"
exec 9>&-
wait
mkdir "$W/empty"
capture env PATH="$W/empty" "$(command -v holdfast)" guard sqlite --install "$DB"
is "$code:$err" '127:holdfast: guard: SQLite: sqlite3: command not found; Debian '\
'has it in the package sqlite3' 'no client program'

# The text's transaction is ended half-way.
DB=$W/half
db 'CREATE TABLE accounts (id INTEGER PRIMARY KEY, fence INTEGER)'
install "$DB" "${table[@]}"
before=$(sha256sum "$DB")
db 'DROP VIEW holdfast_guard_version'
before=$(db .dump)
mkdir "$W/bin"
cat >"$W/bin/sqlite3" <<SH
#!/bin/sh
cat >'$W/in'
grep -q 'DROP VIEW' '$W/in' || exec $(command -v sqlite3) "\$@" <'$W/in'
sed '/^COMMIT/,\$d' '$W/in' | $(command -v sqlite3) "\$@"
kill -9 \$\$
SH
chmod +x "$W/bin/sqlite3"
PATH=$W/bin:$PATH refused 70 'SQLite: sqlite3 was ended by a signal: Killed; nothing' \
    'half-way' "$DB"
is "$(db .dump)" "$before" 'nothing was changed'
finish
