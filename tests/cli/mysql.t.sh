#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# Commands on a MariaDB server: its URL, the schema, rights, and each command.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/values.sh"
. "$(dirname "$0")/../lib/again.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/killed.sh"
. "$(dirname "$0")/../lib/users.sh"
has_server || skip_all "$(lacks_server)"

# Exit code, and a pattern of its output and messages.
gives() { # CODE PATTERN TITLE COMMAND...
    local want=$1 pattern=$2 title=$3
    shift 3
    capture timeout 60 "$@"
    is "$code" "$want" "$title: exit $want"
    like "$err$out" "$pattern" "$title: the message"
}
sql_is() { # CONDITION
    [ "$(sql -e "SELECT $1" 2>/dev/null)" = 1 ]
}

# ---- The URL, and the schema as a text -----------------------------------------------

refuses() { # CODE PATTERN TITLE URL
    gives "$1" "$2" "$3" holdfast run -n -u "$4" job -- echo ran
    unlike "$err$out" 'secret|^ran' "$3: no password is shown, and nothing runs"
}
h='mysql://root:secret@/?socket=/nowhere'
refuses 64 'lock": "rows" is not "named"' 'another lock=' "$h&lock=rows"
refuses 64 'key": .* add lock=named' 'key=' "$h&key=1"
refuses 69 '/nowhere .*connect' 'no server' "$h"
for url in mysql: mariadb://u:secret@nowhere.invalid/db; do
    capture holdfast doctor --print-schema -u "$url"
    is "$code" 0 "--print-schema of $url"
    is "$out" "$(cat "$HF_SOURCE"/src/store/mysql/schema/*.sql)" 'is the schema'
done
capture ldd "$HF_BUILD/holdfast"
unlike "$out" 'libmariadb' 'the command is not linked with libmariadb'

# ---- The schema, made at first use by an account that may ------------------------------

ok 'the server starts' mariadb_start
server='MariaDB 1' isolation=$(isolation_variable)
! is_mysql || server='MySQL 9'
# Its socket, which this user may not open.
chmod 755 "$W" "$W/maria"
chmod 0 "$W/maria/s"
gives 77 'no permission for the socket; add the user to its group' \
    'no right to the socket' "${as_other[@]}" holdfast run -n \
    --on-unreachable run -u "${h/\/nowhere/$W/maria/s}" job -- echo ran
chmod 777 "$W/maria/s"
query="socket=$W/maria/s&node_timeout=3s&connect_timeout=10s"
export HOLDFAST_URL="mysql://root@/?$query"
app="mariadb://app@/app?$query"
sql -e "CREATE USER app@localhost"
sql -e 'GRANT SELECT ON app.* TO app@localhost'
refuses 77 "does not let 'app'@'localhost' use database holdfast: GRANT EXECUTE" \
    'an account that may not create the schema' "$app"
session_open other

# Of clients that come together one makes it, and the others see that.
first_use() { # CASE [COMMAND...]: run while the clients use the server
    local case=$1 i status all='' clients=()
    shift
    sql -e 'DROP DATABASE IF EXISTS holdfast'
    for i in 1 2 3 4 5 6 7 8 9 10; do
        timeout 60 holdfast run -w 30 -u "$HOLDFAST_URL&quarantine=off" "first$i" \
            -- true 2>"$W/first.$i" &
        clients+=($!)
    done
    "$@"
    for i in 1 2 3 4 5 6 7 8 9 10; do
        wait "${clients[i - 1]}"
        status=$?
        all+=" $status"
        [ $status = 0 ] || diag "$(<"$W/first.$i")"
    done
    is "$all" ' 0 0 0 0 0 0 0 0 0 0' "$case: ten clients at once use a new server"
}
waits_for_lock() { # N
    sql_is "(SELECT COUNT(*) FROM information_schema.processlist
        WHERE state = 'User lock') = $1"
}
all_wait() {
    ok '... each waits while the schema is being made' wait_until 20 waits_for_lock 10
    session_do other "SELECT RELEASE_LOCK('holdfast.install')"
}
session_do other "SELECT GET_LOCK('holdfast.install', 0)"
first_use 'beside an installation' all_wait
for i in 1 2 3; do
    first_use "alone, $i" true
done
# A routine's variables have the character set of its database, if they name none.
sql -e 'DROP DATABASE holdfast; CREATE DATABASE holdfast CHARACTER SET utf16'
gives 0 'counts' 'a database of another character set' holdfast doctor --init --force
gives 0 'ran' '... is used' holdfast run -n job -- echo ran
capture sql -e "CALL holdfast.fail('holdfast: as it was')"
like "$err" 'holdfast: as it was' '... and its errors can be read'
sql -e 'DROP DATABASE holdfast'
session_do other "SELECT GET_LOCK('holdfast.install', 0)"
gives 69 'its schema is being made: wait longer, or run holdfast doctor --init' \
    'a try that ends before the schema is there' holdfast run -n job -- true
session_do other "SELECT RELEASE_LOCK('holdfast.install')"
wait=0
does_not_count() { # as the message says: each try waits longer than the last
    capture holdfast run -w "$wait" job -- echo ran
    wait=$((wait * 2 + 1))
    [[ $code = 69 && $err = *' counts in '*' s' && $out = '' &&
        ($err = *'shows no trace of Holdfast'* || $err = *'is being watched'*) ]]
}
ok 'a schema that was made just now does not count' wait_until 30 does_not_count
gives 0 'counts' 'doctor --init' holdfast doctor --init
gives 0 '' 'the server counts' holdfast run -n job -- true
gives 77 "does not let 'app'@'localhost' use" 'an account without rights' \
    holdfast run -n -u "$app" job -- true
grant=$(holdfast doctor --print-schema -u mysql: | sed -n 's/^-- *\(GRANT .*;\)$/\1/p')
is "$grant" 'GRANT EXECUTE ON holdfast.* TO worker;' 'the rights that the schema prints'
sql -e "${grant/worker/app@localhost}"
gives 0 'ran' 'an account with the one right that it needs' \
    holdfast run -n -u "$app" job -- echo ran
gives 1 "$server.*account 'app'@'localhost'.*commits may be lost.*fit for locks" \
    'doctor, without syncs to disk' holdfast doctor -u "$app"
for table in lock sharer waiter once node value run version; do
    capture sql_as app -e "DELETE FROM holdfast.$table"
    like "$err" 'denied' "holdfast.$table is not open"
done
capture sql_as app -e 'DROP PROCEDURE holdfast.acquire'
like "$err" 'denied' 'nor are the routines'
sql -e "SET GLOBAL sql_safe_updates = 1; SET GLOBAL completion_type = 1;
    SET GLOBAL $isolation = 'SERIALIZABLE'; SET GLOBAL autocommit = 0;
    SET GLOBAL sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'"
gives 0 'ran' "the server's defaults for sessions are replaced" \
    holdfast run -n -u "$app" job -- echo ran
sql -e "SET GLOBAL sql_safe_updates = 0; SET GLOBAL completion_type = 0;
    SET GLOBAL $isolation = DEFAULT; SET GLOBAL autocommit = 1; SET GLOBAL sql_mode = DEFAULT"
gives 78 'max_ttl=1m, this client says 2m' 'another max_ttl' \
    holdfast run -n -u "$HOLDFAST_URL&max_ttl=2m" job -- true

# ---- Each command ------------------------------------------------------------------

token=$(holdfast acquire --ttl 60 job | cut -d ' ' -f 1)
like "$token" '@[0-9]+/60000$' 'acquire prints a token'
gives 75 'held by' 'another process is refused' holdfast run -n job -- true
gives 0 '' 'extend in a third process' holdfast extend job --owner "$token"
capture holdfast ls
like "$out" 'job +exclusive' 'ls has the name'
waits() { # NAME N
    sql_is "(SELECT COUNT(*) FROM holdfast.waiter WHERE name = 'lock:$1') = $2"
}
waiters=()
for i in 1 2 3; do
    holdfast run job -- sh -c "echo $i \$HOLDFAST_FENCE" >>"$W/order" &
    waiters+=($!)
    ok "waiter $i is in the queue" wait_until 20 waits job "$i"
done
capture holdfast ls job
like "$out" '3 waiting' 'ls NAME counts the waiters'
like "$out" '3\. .*waiting since' 'and names them'
if [ -x "$HF_BUILD/holdfast-top" ]; then
    printf 'drawn 1 name\ndrawn exclusive\nsend q\n' >"$W/script"
    ok 'top has the name' env TERM=xterm timeout 60 "$HF_BUILD/tests/lib/pty" \
        holdfast top <"$W/script"
fi
gives 0 '' 'release' holdfast release job --owner "$token"
ok 'the waiters run' wait "${waiters[@]}"
is "$(cut -d ' ' -f 1 "$W/order" | tr '\n' ' ')" '1 2 3 ' 'in their order'
fence=${token##*@}
is "$(sort -n -k 2 "$W/order")" "$(cat "$W/order")" 'the fences increase'
ok 'from the first' test "$(head -n 1 "$W/order" | cut -d ' ' -f 2)" -gt "${fence%/*}"

killed_begin true -t 60s
killed_end 18200 # their places end within 6 s, and it polls each 2.2 s at least

holdfast acquire --ttl 60 job >"$W/token"
gives 0 'was taken from' 'break --now' holdfast break --now job
gives 0 'ran' 'the name is free' holdfast run -n job -- echo ran

shared=$(holdfast acquire --ttl 60 --shared book | cut -d ' ' -f 1)
gives 0 'ran' 'two readers share' holdfast run -n --shared book -- echo ran
gives 75 'held' 'a writer waits for them' holdfast run -n book -- true
holdfast release book --owner "$shared" >/dev/null
gives 0 'ran' 'a writer after them' holdfast run -n book -- echo ran

permits=()
for i in 1 2; do
    holdfast run -p 2 slots -- sleep 60 &
    permits+=($!)
done
end_permits() {
    kill "${permits[@]}" 2>/dev/null
    wait "${permits[@]}"
}
at_exit end_permits
both_run() {
    sql_is "(SELECT COUNT(*) FROM holdfast.sharer WHERE name = 'lock:slots') = 2"
}
ok 'two permits' wait_until 20 both_run
gives 75 'held' 'a third permit of two' holdfast run -n -p 2 slots -- true
kill "${permits[0]}"
wait "${permits[0]}"
gives 0 'ran' 'the permit that was returned' holdfast run -n -p 2 slots -- echo ran

gives 0 'ran' 'once' holdfast run --once 1h nightly -- echo ran
gives 0 '' 'once, again' holdfast run --once 1h nightly -- echo ran
unlike "$out" ran 'once, again: it does not run'
runs_again
gives 0 'ran' 'min-hold' holdfast run -n --min-hold 30s kept -- echo ran
gives 75 'kept' 'min-hold keeps the name' holdfast run -n kept -- true
gives 0 'ran' 'several names' holdfast run -n a b c -- echo ran
odd=$'it\'s "odd" \\ $1; %s ü\n'
gives 0 'ran' 'any bytes in a name' holdfast run -n "$odd" -- echo ran
for name in Upper upper 'upper '; do
    holdfast acquire --ttl 60 "$name" >/dev/null
    is $? 0 "\"$name\" is a name of its own"
done
test_values

# ---- Pages of names ----------------------------------------------------------------

sql -e "INSERT INTO holdfast.lock (name, owner, until)
    WITH RECURSIVE s AS (SELECT 1 AS seq UNION ALL
        SELECT seq + 1 FROM s WHERE seq < 1000),
    t AS (SELECT seq FROM s UNION ALL SELECT seq + 1000 FROM s UNION ALL
        SELECT seq + 2000 FROM s WHERE seq <= 500)
    SELECT CONCAT('lock:many', seq), 'by hand', holdfast.clock() DIV 1000 + 60000
    FROM t"
capture holdfast ls 'many*'
is "$(grep -c '^many' <<<"$out")" 2500 'ls reads every page'
capture holdfast ls 'many12?'
is "$(grep -c '^many' <<<"$out")" 10 'ls with a pattern'

# ---- Servers that are refused -------------------------------------------------------

sql -e 'SET GLOBAL read_only = 1'
gives 78 'is read-only, as replicas are' 'a read-only server' \
    holdfast run -n -u "$app" job -- true
sql -e 'SET GLOBAL read_only = 0; UPDATE holdfast.version SET version = 7'
gives 78 'version 7 of database "holdfast".* knows 1: use a newer' 'a newer schema' \
    holdfast run -n job -- true
sql -e 'UPDATE holdfast.version SET version = 1'
if is_mysql; then
    ok 'the server is of a group' mariadb_restart_grouped
    gives 78 'of a group \(Group Replication\)' 'which is refused' \
        holdfast run -n job -- true
    gives 78 'of a group .*named locks of its own' 'for named locks, too' \
        holdfast run -n -u "$HOLDFAST_URL&lock=named" job -- true
else
    ok 'the server is one of a Galera cluster' mariadb_restart_clustered
    gives 78 'of a Galera cluster' 'which is refused' holdfast run -n job -- true
fi
mariadb_restart --log-bin --binlog-format=STATEMENT
gives 78 'logs statements' 'a log of statements' holdfast run -n job -- true
sql -e "SET GLOBAL binlog_format = 'MIXED'"
gives 0 'counts' 'another format' holdfast doctor --init --force
gives 0 'ran' 'is no reason' holdfast run -n job -- echo ran
end_again # as root it would make the schema first
end_permits
sql -e "DROP DATABASE holdfast; CREATE USER maker@localhost; GRANT ALL ON holdfast.* TO maker@localhost"
gives 78 'SET GLOBAL log_bin_trust_function_creators' 'error 1419 is explained' \
    holdfast run -w 50s -u "${HOLDFAST_URL/root@/maker@}" job -- true
sql -e 'DROP DATABASE IF EXISTS holdfast; SET GLOBAL log_bin_trust_function_creators = 1'
gives 0 'counts' 'an account without SUPER makes the schema' \
    holdfast doctor --init -u "${HOLDFAST_URL/root@/maker@}"
gives 0 'ran' 'for others, too' holdfast run -n job -- echo ran

# ---- A proposal is of this account, whatever its length -------------------------------

ok 'it restarts at a port' mariadb_restart_tcp ''
gives 0 'counts' 'the server is declared' holdfast doctor --init --force
at_port="127.0.0.1:$MARIADB_PORT/?node_timeout=3s&connect_timeout=10s"
account="'app'@'127.0.0.0/255.255.255.0'"
sql -e "CREATE USER $account"
refuses 77 "does not let $account use database holdfast: GRANT EXECUTE ON" \
    'an account of a network' "mysql://app@$at_port"
account=$(grep -oE "'app'@'[^']*'" <<<"$err")
sql -e "GRANT EXECUTE ON holdfast.* TO $account"
gives 0 'ran' 'is granted what is proposed' holdfast run -n -u "mysql://app@$at_port" job -- echo ran
printf -v account "'wide'@'%s'" "$(printf '%%%.0s' {1..130})"
sql -e "CREATE USER $account"
refuses 77 'does not let this account use database holdfast: GRANT EXECUTE ON' \
    'an account that is too long for a message' "mysql://wide@$at_port"

# ---- MySQL's logins without TLS: caching_sha2_password ------------------------------

if is_mysql; then
    sql -e "CREATE USER tcp IDENTIFIED BY 'secret'; GRANT EXECUTE ON holdfast.* TO tcp"
    mariadb_restart_tcp '' || fail 'it restarts at a port'
    tcp="mysql://tcp:secret@127.0.0.1:$MARIADB_PORT/?node_timeout=3s&connect_timeout=10s"
    gives 0 '' 'the server is declared' holdfast doctor --init --force
    gives 0 'ran' "a password over TCP, by the server's key" \
        holdfast run -n -u "$tcp" job -- echo ran
    mariadb_restart_tcp '' --caching-sha2-password-auto-generate-rsa-keys=OFF \
        --caching-sha2-password-private-key-path=none.pem \
        --caching-sha2-password-public-key-path=none.pem || fail 'it restarts'
    for lock in '' '&lock=named'; do
        refuses 77 'RSA public key.*sent encrypted only: write mysqls://' \
            "a server without a key, lock=$lock" "$tcp$lock"
    done
fi
finish
