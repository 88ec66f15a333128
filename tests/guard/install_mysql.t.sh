#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard mysql --install, on a real MariaDB.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 600
mariadb_needed
url="mysql://root@localhost/app?socket=$W/maria/s"

install() { # [ARG...]
    capture holdfast guard mysql --install "$@"
}

installs() { # TITLE REGEX [ARG...]
    local title=$1 regex=$2
    shift 2
    install "$@"
    is "$code:$out" 0: "$title"
    like "$err" "^holdfast: guard: MySQL: guard version 2 $regex" "$title: says it"
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
    capture sql -e "START TRANSACTION; CALL holdfast.fence('$1', $2); COMMIT"
}

# Statements in one session, which costs less than a client for each: sets $failed,
# the numbers of those that were refused, and $err. The session remembers fences
# that passed in it, so only the last statement may pass.
each() { # STATEMENT...
    local line
    capture sql -f < <(printf '%s;\n' "$@")
    failed=''
    while read -r line; do
        [[ ! $line =~ ^ERROR\ .*\ at\ line\ ([0-9]+): ]] || failed+=${BASH_REMATCH[1]}
    done <<<"$err"
}
stale_fence="START TRANSACTION; CALL holdfast.fence('a', 41)"
current_fence="ROLLBACK; START TRANSACTION; CALL holdfast.fence('a', 42); COMMIT"
stale_row='UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
current_row='UPDATE accounts SET balance = 2, fence = 42 WHERE id = 7'

# All that is installed, and since when.
installed() {
    sql -e "SELECT routine_name, created FROM information_schema.routines
            WHERE routine_schema = 'holdfast' ORDER BY routine_type, routine_name;
        SELECT trigger_name, created FROM information_schema.triggers
            ORDER BY trigger_name"
}

older() { # the guard's text, of version 0
    holdfast guard mysql | sed "s/version 2/version 0/; s/RETURN 2\\/\\//RETURN 0\\/\\//"
}

# ---- Fresh, again, older, newer
installs fresh 'is installed: CALL holdfast.fence\(NAME, FENCE\) behind ' "$url"
present a 42
is "$code:$err:$(sql -e 'SELECT holdfast.guard_version()')" 0::2 'a fence passes'
present a 41
like "$err" "fence 41 of 'a' is stale: 42 was presented" 'a stale one is refused'
before=$(installed)
installs again 'was installed already; nothing was changed$' "$url"
is "$(installed)" "$before" 'nothing was changed'
install -q "$url"
is "$code:$out$err" 0: 'with -q no line'
older | sql
installs 'an older one' 'is installed, in place of version 0; the fences that' "$url"
is "$(sql -e "SELECT fence FROM holdfast.guard WHERE name = 'a'")" 42 \
    'its memory is kept'
sql -e 'DROP FUNCTION holdfast.guard_version'
installs 'one from before there were versions' 'is installed, in place of version 0' \
    "$url"
sql -e 'DROP PROCEDURE holdfast.guard_check'
installs 'one that lacks a procedure' 'is installed, in place of an incomplete' "$url"
present a 42
is "$code:$err" 0: 'it is there again'
holdfast guard mysql | sed 's/version 2/version 7/' | sql
before=$(installed)
refused 78 'MySQL: has version 7 of the guard, and this holdfast version 2: nothing' \
    'a newer one' "$url"
is "$(installed)" "$before" 'it was not changed'
older | sql
installs 'an older one again' 'is installed, in place of version 0' "$url"

# ---- Tables
sql -e 'CREATE TABLE accounts (id INT PRIMARY KEY, balance INT, fence BIGINT)'
table=(--table accounts --lock 'account-{id}')
installs 'a table' 'was installed already; the triggers of accounts are installed' \
    "$url" "${table[@]}"
sql -e 'INSERT INTO accounts VALUES (7, 100, 42)'
stale() {
    capture sql -e "$1"
}
stale 'UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
like "$err" "fence 41 of 'account-7' is stale: 42" 'a stale write is refused'
installs 'the table again' 'was installed already; the triggers of accounts were' \
    "$url" "${table[@]}"
installs 'another name' '.*the triggers of app.accounts are installed' \
    "$url" --table app.accounts --lock 'konto-{id}'
installs 'the first name' '.*the triggers of accounts are installed' \
    "$url" "${table[@]}"
refused 78 'MySQL: ERROR 1644 .*holdfast: no table none in app for this user; it may be half-way: mend this' \
    'no such table' "$url" --table none --lock x

# RENAME TABLE takes the triggers along, with their names.
sql -e 'RENAME TABLE accounts TO accounts_old;
    CREATE TABLE accounts (id INT PRIMARY KEY, balance INT, fence BIGINT)'
refused 78 'MySQL: the table accounts_old has the triggers that are named after accounts, '\
'as it was renamed: nothing was changed; install with --table accounts_old, then drop' \
    'a table in place of a renamed one' "$url" "${table[@]}"
capture sql < <(holdfast guard mysql "${table[@]}")
like "$err" 'the triggers of this name belong to the table accounts_old' \
    'the text by hand is refused'
capture sql -e 'INSERT INTO accounts VALUES (7, 1, NULL)'
is "$code" 0 'its table is as it was'
stale 'UPDATE accounts_old SET balance = 1, fence = 41 WHERE id = 7'
like "$err" "fence 41 of 'account-7' is stale: 42" 'the renamed one has its guard'
installs 'the renamed one' '.*the triggers of accounts_old are installed' \
    "$url" --table accounts_old --lock 'account-{id}'
sql -e "$(sql -e "SELECT CONCAT('DROP TRIGGER ', trigger_name, ';')
    FROM information_schema.triggers WHERE trigger_name LIKE '%accounts'")"
installs 'then the other' '.*the triggers of accounts are installed' "$url" "${table[@]}"
stale 'UPDATE accounts_old SET balance = 1, fence = 41 WHERE id = 7'
like "$err" "fence 41 of 'account-7' is stale: 42" 'both are guarded'
sql -e 'DROP TABLE accounts; RENAME TABLE accounts_old TO accounts'
installs 'and back' '.*the triggers of accounts are installed' "$url" "${table[@]}"
sql -e "$(sql -e "SELECT CONCAT('DROP TRIGGER ', trigger_name, ';')
    FROM information_schema.triggers WHERE trigger_name LIKE '%accounts_old'")"

# ---- Half-way
# The client reads the first $CUT statements, then both end.
mkdir "$W/bin"
cat >"$W/bin/cut.awk" <<'AWK'
BEGIN { end = ";" }
/^DELIMITER / { end = $2; print; next }
{ print }
!/^--/ && substr($0, length($0) - length(end) + 1) == end && ++n == CUT { exit }
AWK
cat >"$W/bin/mariadb" <<SH
#!/bin/sh
cat >'$W/text'
grep -q "\$CUT_OF" '$W/text' || exec $(command -v mariadb) "\$@" <'$W/text'
awk -v CUT="\$CUT" -f '$W/bin/cut.awk' '$W/text' | $(command -v mariadb) "\$@"
kill -9 \$\$
SH
chmod +x "$W/bin/mariadb"
count() { # ARG...: statements
    holdfast guard mysql "$@" |
        awk '/^DELIMITER / { end = $2; next }
            !/^--/ && substr($0, length($0) - length(end) + 1) == end { n++ }
            END { print n }' end=';'
}
cut_at() { # STATEMENT MARK [ARG...]
    local cut=$1 mark=$2
    shift 2
    capture env PATH="$W/bin:$PATH" CUT="$cut" CUT_OF="$mark" \
        holdfast guard mysql --install "$url" "$@"
}
bad=''
note() { # TITLE: something that must not be
    bad+=" $1"
}
guard_n=$(count)
isnt "${guard_n:-0}" 0 'the guard has statements'
for k in $(drawn_third "$guard_n"); do
    older | sql
    cut_at $k 'CREATE DATABASE'
    [ $code = 70 ] || note "$k:$code:$err"
    each "$stale_fence" "ROLLBACK; $stale_row"
    [ "$failed" = 12 ] || note "$k:stale:$failed:$err"
    install "$url"
    [ $code = 0 ] || note "$k:$err"
    each "$stale_fence" "$current_fence"
    [[ $failed = 1 && $err == *'is stale: 42'* ]] || note "$k:after:$failed:$err"
done
is "$bad" '' "an older guard, ended after a third of $guard_n statements: no stale \
write passes, and the second run mends it"
bad='' absent=0
for k in $(drawn_third "$guard_n"); do
    sql -e 'DROP DATABASE holdfast'
    cut_at $k 'CREATE DATABASE'
    present a 42
    if [ $code = 0 ]; then
        present a 41
        [[ $err == *'is stale: 42'* ]] || note "$k:stale"
    else
        absent=$((absent + 1))
    fi
    install "$url"
    [ $code = 0 ] || note "$k:$err"
    present a 42
    present a 41
    [[ $err == *'is stale: 42'* ]] || note "$k:after:$err"
done
is "$bad" '' 'no guard before: it works, or is absent, and the second run mends it'
isnt $absent 0 'at first it is absent'
sql -e 'DELETE FROM holdfast.guard'
sql -e 'DROP TABLE accounts;
    CREATE TABLE accounts (id INT PRIMARY KEY, balance INT, fence BIGINT)'
install "$url" "${table[@]}"
sql -e 'INSERT INTO accounts VALUES (7, 100, 42)'
bad=''
closed=0
table_n=$(count "${table[@]}")
isnt "${table_n:-0}" 0 'the triggers have statements'
for k in $(drawn_third "$table_n"); do
    cut_at $k '^LOCK TABLES' "${table[@]}"
    [ $code = 70 ] || note "$k:$code:$err"
    each "$stale_row" 'UPDATE accounts SET balance = 1' 'DELETE FROM accounts' \
        'REPLACE INTO accounts VALUES (7, 1, 41)'
    [ "$failed" = 1234 ] || note "$k:stale:$failed:$err"
    [[ ${err##*$'\n'} != *'installed to their end'* ]] || closed=$((closed + 1))
    install "$url" "${table[@]}"
    [ $code = 0 ] || note "$k:$err"
    each "$stale_row" "$current_row"
    [[ $failed = 1 && $err == *'is stale: 42'* ]] || note "$k:after:$failed:$err"
done
is "$bad" '' "triggers, ended after a third of $table_n statements: no stale write \
passes, and the second run mends it"
isnt $closed 0 'writes were refused between'
is "$(sql -e 'SELECT balance, fence FROM accounts')" $'2\t-42' 'the row is whole'
is "$(sql -e "SELECT COUNT(*) FROM information_schema.triggers
    WHERE trigger_name LIKE 'holdfast_close%'")" 0 'and no closing trigger is left'
cut_at 16 '^LOCK TABLES' "${table[@]}"
stale 'UPDATE accounts SET balance = 2, fence = 42 WHERE id = 7'
like "$err" 'triggers of this table were not installed to their end: repeat that' \
    'until then writes are refused with the reason'
install "$url" "${table[@]}"

# ---- Servers, users
sql -e "CREATE USER app@localhost IDENTIFIED BY 's3cr@t/%';
    CREATE DATABASE other; CREATE TABLE other.t (id INT, fence BIGINT);
    DROP DATABASE holdfast"
app="mysql://app:s3cr%40t%2f%25@localhost/app?socket=$W/maria/s"
refused 77 'MySQL: ERROR 1045 .*Access denied for user .app.@.localhost.' \
    'no password' "mysql://app@localhost?socket=$W/maria/s"
like "$err" 'password: NO\)' 'it quotes the server'
sql -e 'GRANT SELECT ON app.* TO app@localhost'
refused 77 "MySQL: ERROR 1044 .*'holdfast'; GRANT ALL ON holdfast.\\* TO 'app'@'localhost'\$" \
    'no right' "$app"
sql -e 'GRANT ALL ON holdfast.* TO app@localhost; GRANT SELECT ON other.* TO app@localhost'
installs 'with that right' 'is installed' "$app"
refused 77 "MySQL: ERROR 1044 .*; GRANT SELECT, UPDATE, TRIGGER, LOCK TABLES ON \
.other.\\.\\* TO 'app'@'localhost'\$" 'no right at a table' \
    "$app" --table other.t --lock x
sql -e 'GRANT SELECT, UPDATE, TRIGGER, LOCK TABLES ON other.* TO app@localhost'
installs 'with that right' '.*the triggers of other.t are installed' \
    "$app" --table other.t --lock x
refused 69 'MySQL: ERROR 2002 ' 'no server' "mysql://x@localhost?socket=$W/none"
refused 78 'MySQL: ERROR 1049 .*Unknown database' 'no database' \
    "mysql://root@localhost/none?socket=$W/maria/s"
refused 64 '--install mysql://\*+: write a / in the login as %2F' 'a / in the password' \
    mysql://u:SE/CRET@h/
refused 64 '--install mysql://\*+: write a / in the login as %2F' 'a ? in it' \
    'mysql://u:SE?CRET@h/'
refused 64 '--install postgres://x: must be mysql://' 'another scheme' postgres://x
refused 64 '--install mysql://x\?password=\*+: its parameters may be socket' \
    'a password as a parameter' 'mysql://x?password=secret'
refused 64 '--install mysql://x\?a=b: its parameters may be socket' \
    'a parameter' 'mysql://x?a=b'
mkdir "$W/empty"
capture env PATH="$W/empty" "$(command -v holdfast)" guard mysql --install
is "$code:$err" '127:holdfast: guard: MySQL: mariadb: command not found; Debian '\
'has it in the package mariadb-client' 'no client program'
ln -s "$(command -v mariadb)" "$W/empty/mysql"
capture env PATH="$W/empty" "$(command -v holdfast)" guard mysql --install "$url"
is "$code" 0 'a client that is called mysql'

# ---- A password
cat >"$W/empty/mariadb" <<SH
#!/bin/sh
$(command -v cat) /proc/\$\$/cmdline /proc/\$PPID/cmdline |
    $(command -v tr) '\0' ' ' >>"$W/seen"
exec $(command -v mariadb) "\$@"
SH
chmod +x "$W/empty/mariadb"
printf '[client]\nuser = root\nsocket = %s\n' "$W/maria/s" >"$W/.my.cnf"
PATH=$W/empty:$PATH installs 'a password' 'was installed already' "$app"
like "$(<"$W/seen")" 'mariadb .*--user=app' 'the client has the user'
like "$(<"$W/seen")" 'holdfast .*mysql://app:\*+@localhost' 'ours is overwritten'
unlike "$(<"$W/seen")" 's3cr' 'ps shows no password'
printf '[client]\nuser = root\npassword = other\nsocket = %s\n' "$W/none" >"$W/.my.cnf"
HOME=$W installs 'a URL beside option files' 'was installed already' "$app"
printf '[client]\nuser = root\nsocket = %s\n' "$W/maria/s" >"$W/.my.cnf"
HOME=$W installs 'option files alone' 'was installed already'
HOME=$W installs 'and a database' '.*the triggers of t are installed|.*were as' \
    other --table t --lock x
# A client that is careful by its option file, and a server that reads by default.
printf '[client]\nuser = root\nsocket = %s\n[mysql]\nsafe-updates\nselect-limit = 1\n' \
    "$W/maria/s" >"$W/.my.cnf"
HOME=$W installs 'with safe-updates' '.*the triggers of t are installed' \
    other --table t --lock y
sql -e "SET GLOBAL $(isolation_variable | sed s/isolation/read_only/) = 1"
HOME=$W installs 'with transactions that only read' '.*the triggers of t are installed' \
    other --table t --lock z
holdfast guard mysql | sql 2>"$W/err"
is "$?:$(<"$W/err")" 0: 'and the text, by hand'
sql -e "SET GLOBAL $(isolation_variable | sed s/isolation/read_only/) = 0"
is "$(sql -e "SELECT COUNT(*) FROM information_schema.triggers
    WHERE event_object_table = 't' AND trigger_name LIKE 'holdfast\\_close%'")" 0 \
    'the table is not closed'

# ---- A binary log
sql -e 'CREATE USER plain@localhost; GRANT ALL ON *.* TO plain@localhost;
    REVOKE SUPER ON *.* FROM plain@localhost; DROP DATABASE holdfast'
mariadb_restart --log-bin=log --binlog-format=ROW || fail 'it restarts'
refused 77 'MySQL: ERROR 1419 .*; SET GLOBAL log_bin_trust_function_creators = 1, or install '\
'as an account with SUPER$' 'error 1419' \
    "mysql://plain@localhost?socket=$W/maria/s"

# ---- A server of several that are written to
sql -e 'DROP DATABASE IF EXISTS holdfast'
url="mysql://root@localhost/?socket=$W/maria/s"
cluster_note='is installed; in a cluster it refuses only among the writers of one node: '\
'let all writers of a guarded table use the same node: CALL'
if is_mysql; then
    ok 'the server is of a group' mariadb_restart_grouped
    installs 'in a group' "$cluster_note" "$url"
else
    ok 'the server is one of a Galera cluster' mariadb_restart_clustered
    installs 'in a Galera cluster' "$cluster_note" "$url"
fi
finish
