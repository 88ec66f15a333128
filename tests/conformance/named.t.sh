#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# mysql://…?lock=named: names that others lock too, and the end of sessions.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/session_locks.sh"

ok 'the server starts' mariadb_start
maria=$W/maria
plain="mysql://root@/?socket=$maria/s&node_timeout=3s&connect_timeout=10s"
export HOLDFAST_URL="$plain&lock=named"

sql_is() { # CONDITION
    [ "$(sql -e "SELECT $1" 2>/dev/null)" = 1 ]
}

# The documented mapping, as anyone computes it.
key_of() { # NAME
    sql -e "SELECT CONCAT('holdfast:', LEFT(SHA2('lock:$1', 256), 48))"
}
taken_for_mariadb() { [ "$(sql -e "SELECT GET_LOCK('$1', 0)")" = 0 ]; }

# ---- The URL ---------------------------------------------------------------------

refuses() { # PATTERN TITLE PARAMETERS
    says 64 "$1" "$2" holdfast run -n -u "$plain${3:-}" job -- true
}
refuses 'add lock=named' 'a key alone' '&key=a'
refuses 'lock": "advisory" is not "named"' 'another kind' '&lock=advisory'
refuses 'unknown URL parameter "sockt": did you mean "socket"' 'a typing error' '&lock=named&sockt=/s'
long64=$(printf 'n%.0s' {1..64})
for key in '' "${long64}n" 'a%0Ab' '%ff' '%f0%9f%94%92' 'a%20'; do
    refuses 'is no name of a server' "key=$key" "&lock=named&key=$key"
done
for url in mysql: mysql:x 'mysql://a@b@h/' 'mysql://h:0/' 'mysql://h:x/' 'mysql://a,b/' 'mysql://u:p/w@h/'; do
    says 64 'not a MySQL URL' "$url" holdfast run -n -u "$url?lock=named" job -- true
    unlike "$err" 'p/w' "$url: no password is shown"
done
says 64 'leave out the host' 'a socket of another host' \
    holdfast run -n -u 'mysql://h/?lock=named&socket=/s' job -- true
says 64 'its whole path' 'a relative socket' holdfast run -n -u 'mysql:///?lock=named&socket=s' job -- true
says 64 'for TLS write mysqls://' 'tls=on' \
    holdfast run -n -u 'mysql://h/?lock=named&tls=on' job -- true
says 78 'no server of this URL is reached over TLS: write mysqls://' 'tls_ca=' \
    holdfast run -n -u "mysql://h/?lock=named&tls_ca=$0" job -- true
says 0 ran 'mariadb://' holdfast run -n -u "mariadb${HOLDFAST_URL#mysql}" job -- echo ran
says 78 "Unknown database 'none'" 'a database that is not there' \
    holdfast run -n -u "${HOLDFAST_URL/\/\?//none?}" job -- true
says 69 'connect' 'no server' holdfast run -n -u 'mysql:///?lock=named&socket=/none/s' job -- true

# ---- Logins ------------------------------------------------------------------------

sql -e "CREATE USER locker@localhost IDENTIFIED BY 'se/cret'"
as_locker="mysql://locker@/?lock=named&socket=$maria/s"
says 77 'Access denied' 'no password' holdfast run -n -u "$as_locker" job -- true
says 77 'Access denied' 'a wrong password' holdfast run -n -u "${as_locker/@/:no@}" job -- true
says 0 ran 'the password in the URL' holdfast run -n -u "${as_locker/@/:se%2Fcret@}" job -- echo ran
capture env MYSQL_PWD=se/cret timeout 60 holdfast run -n -u "$as_locker" job -- echo ran
is "$out" ran 'MYSQL_PWD'
printf '[client]\nuser=locker\npassword=se/cret\nsocket=%s\n' "$maria/s" >"$W/my.cnf"
says 0 ran 'an option file' holdfast run -n -u "mysql:///?lock=named&defaults_file=$W/my.cnf" job -- echo ran
says 0 'account locker@localhost' 'which names the account' \
    holdfast doctor -u "mysql:///?lock=named&defaults_file=$W/my.cnf"
says 78 'cannot be read' 'an option file that is not there' \
    holdfast run -n -u "mysql:///?lock=named&defaults_file=$W/none" job -- true

# ---- Both exclude each other --------------------------------------------------------

session_open other
key=$(key_of job)
held job
ok 'we hold: the client mariadb does not get the name' taken_for_mariadb "$key"
says 75 'job: held by .*session:[0-9]+' 'nor another client of ours' holdfast run -n job -- true
is "$(let_end job)" 0 'we release'
ok 'the client mariadb gets it' lock_is_free "$key"
session_do other "SELECT GET_LOCK('$key', 0)"
is "$got" 1 'it holds'
says 75 "job: held by .*session:${SESSION_ID[other]}" 'we are refused' holdfast run -n job -- echo ran
unlike "$out" ran 'and the command does not run'
says 0 "held by .*session:${SESSION_ID[other]}" 'ls NAME shows the holder' holdfast ls job
hold job --wait 60s
session_do other 'DO RELEASE_ALL_LOCKS()'
ok 'it releases: the waiter gets it' wait_until 10 is_held job
is "$(let_end job)" 0 'and runs to its end'
held job
session_send other "SELECT GET_LOCK('$key', 60)"
is "$(let_end job)" 0 'we release to a session that waits in the server'
session_wait other
is "$got" 1 'which gets it'
session_do other 'DO RELEASE_ALL_LOCKS()'

# ---- Names on the server ---------------------------------------------------------------

excludes() { # TITLE NAME-ON-SERVER PARAMETERS NAME
    session_do other "SELECT GET_LOCK('$2', 0)"
    says 75 'session:' "$1" holdfast run -n -u "$HOLDFAST_URL$3" "$4" -- true
    session_do other 'DO RELEASE_ALL_LOCKS()'
    says 0 ran "$1, released" holdfast run -n -u "$HOLDFAST_URL$3" "$4" -- echo ran
}
excludes 'key=NAME' 'nightly report' '&key=nightly%20report' any
session_do other "SELECT GET_LOCK('NIGHTLY', 0)" # MySQL takes both for one
says 0 ran 'MariaDB tells upper from lower case' \
    holdfast run -n -u "$HOLDFAST_URL&key=nightly" any -- echo ran
session_do other 'DO RELEASE_ALL_LOCKS()'
excludes 'quotes' "it\\'s \"a\" \\\\" '&key=it%27s%20%22a%22%20%5C' any
excludes 'UTF-8' 'größe' '&key=gr%C3%B6%C3%9Fe' any
excludes 'the longest key' "$long64" "&key=$long64" any
excludes 'another prefix' "$(sql -e "SELECT CONCAT('holdfast:', LEFT(SHA2('app:job', 256), 48))")" \
    '&prefix=app:' job
long=$(printf 'n%.0s' {1..1024})
excludes 'the longest name' "$(key_of "$long")" '' "$long"
says 78 'another name of this client holds the same key: with key= all names are one' \
    'two names with one key' timeout 60 holdfast run -u "$HOLDFAST_URL&key=one" a b -- true
# shellcheck disable=SC2046 # a list
says 0 ran 'as many names as may be' holdfast run $(printf 'name-%s ' {1..64}) -- echo ran

# ---- Its limits -------------------------------------------------------------------------

says 78 'one holder at a time: neither read locks nor permits' 'shared' holdfast run -n --shared job -- echo ran
says 78 'neither read locks nor permits' 'permits' holdfast run -n -p 2 job -- echo ran
says 78 'nothing of a run is kept' 'once' holdfast run -n --once 1h job -- echo ran
says 78 'nothing of a run is kept' 'min-hold' holdfast run -n --min-hold 1h job -- echo ran
unlike "$out" ran 'min-hold: refused before the command runs'
says 78 'use holdfast run, or --while-pid' 'acquire' holdfast acquire job
says 78 'only the process that acquired it' 'extend' holdfast extend job --owner x@1
says 78 'only the process that acquired it' 'release' holdfast release job --owner x@1
says 78 'KILL PID' 'break' holdfast break job
says 78 'its key tells no name' 'ls' holdfast ls
says 78 'keeps no values' 'get' holdfast get job
says 78 'nothing of named locks' 'doctor --init' holdfast doctor --init
says 0 'no fences.*fit for locks' 'doctor' holdfast doctor
says 0 '^0$' 'the fence is 0: none' holdfast run -n job -- printenv HOLDFAST_FENCE

# ---- The command inherits nothing -------------------------------------------------------

says 0 '^0000000000000000$' 'signals of the command are not ignored' \
    holdfast run -n job -- sed -n 's/^SigIgn:\t//p' /proc/self/status
says 0 '^none$' 'it has no socket' holdfast run -n job -- \
    bash -c 'find /proc/self/fd -lname "socket:*" | grep . || echo none'

# ---- The session ends -------------------------------------------------------------------

sessions="FROM information_schema.processlist WHERE user = 'root'
    AND id NOT IN (CONNECTION_ID(), ${SESSION_ID[other]})"
no_session() { sql_is "NOT EXISTS (SELECT 1 $sessions)"; }
kill_sessions() {
    local id
    for id in $(sql -e "SELECT id $sessions"); do sql -e "KILL $id"; done
}
ok 'no session is left' wait_until 10 no_session
held job -t 60
start=$(now_ms)
kill_sessions
ok 'KILL: the command is stopped' wait_until 10 has_ended job
took=$(($(now_ms) - start))
ok "at once, and not at the end of the lease: $took ms" test $took -lt 10000
is "$(cat "$W/job.code")" 76 'as of any lock that was lost'

held job -t 60
for id in $(sql -e "SELECT id $sessions"); do sql -e "KILL QUERY $id"; done
ok 'KILL QUERY of an idle session: the lock stays' taken_for_mariadb "$key"
is "$(let_end job)" 0 'and is released'

# Each process of a command, of which the first is a shell of ours.
tree_of() { # PID
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        echo "$child"
        tree_of "$child"
    done
}
kill_last() {
    # shellcheck disable=SC2046 # a list
    kill -KILL $(tree_of "${runs[-1]}")
}
limit=$((1000 * busy)) # a second

held dies -t 60
key=$(key_of dies)
start=$(now_ms)
kill_last
ok 'a holder is killed, idle: the client mariadb gets the name' \
    wait_until 10 lock_is_free "$key"
took=$(($(now_ms) - start))
ok "within a second: $took ms" test $took -lt $limit

session_do other "SELECT GET_LOCK('$key', 0)"
hold dies -t 60
waits() { ! no_session; }
ok 'a waiter has a session' wait_until 10 waits
start=$(now_ms)
kill_last
ok 'it is killed: its session ends' wait_until 10 no_session
took=$(($(now_ms) - start))
ok "within a second: $took ms" test $took -lt $limit
session_do other 'DO RELEASE_ALL_LOCKS()'
ok 'and nothing of it is left' lock_is_free "$key"

# Busy: the server has its statement, and stands still.
held dies -t 2 # renewed often
kill -STOP "$MARIADB_PID"
sent() { # a statement that was not read yet
    ss -xH src "$maria/s" | awk '$3 > 0 { found = 1 } END { exit !found }'
}
ok 'a statement waits in the socket of a server that stands still' wait_until 10 sent
kill_last
start=$(now_ms)
kill -CONT "$MARIADB_PID"
ok 'the holder is killed then: its name is free' wait_until 20 lock_is_free "$key"
took=$(($(now_ms) - start))
ok "within a second after the server goes on: $took ms" test $took -lt $limit

# ---- The server ends, or stands still -----------------------------------------------------

held job -t 60
kill -KILL "$MARIADB_PID"
wait "$MARIADB_PID" 2>/dev/null
MARIADB_PID=''
ok 'the server is killed: the command is stopped' wait_until 10 has_ended job
is "$(cat "$W/job.code")" 76 'as of any lock that was lost'
ok 'the server starts again' mariadb_restart
says 0 ran 'its locks are free' holdfast run -n job -- echo ran

session() { sql -e "SELECT id $sessions"; }
serving() { echo "$MARIADB_PID"; }
is_taken() { taken_for_mariadb "$(key_of "$1")"; }
outlasts_stop 'the server'

# For longer than the lease: the holder ends first.
held job -t 3
kill -STOP "$MARIADB_PID"
ok 'the server stands still: the command ends with the lease' wait_until 20 has_ended job
is "$(cat "$W/job.code")" 76 'as of any lock that was lost'
kill -CONT "$MARIADB_PID"
ok 'the server goes on: the name is free' wait_until 10 lock_is_free "$(key_of job)"
says 0 ran 'and locks again' holdfast run -n job -- echo ran

# ---- TCP --------------------------------------------------------------------------------------

sql -e "CREATE USER tcp@'%' IDENTIFIED BY 'x'"
listen() {
    port=$(free_port)
    mariadb_restart --skip-networking=0 --bind-address=127.0.0.1 --port="$port"
}
ok 'the server listens' listen || listen || listen # the port may be taken meanwhile
tcp() { # CODE PATTERN TITLE HOST PARAMETERS
    says "$1" "$2" "$3" holdfast run -n \
        -u "mysql://tcp:x@$4:$port/?lock=named&node_timeout=3s&connect_timeout=10s${5:-}" job -- echo ran
}
tcp 0 ran 'TCP' 127.0.0.1
tcp 0 ran 'a host that is looked up' LOCALHOST
printf '[client]\nssl-ca=%s\n' "$0" >"$W/ssl.cnf"
tcp 78 'the option file asks for TLS' 'TLS by an option file' 127.0.0.1 "&defaults_file=$W/ssl.cnf"
mariadb_stop
tcp 69 "Can't connect to server on '127.0.0.1'" 'no server' 127.0.0.1

# ---- Servers that are refused ---------------------------------------------------------------

ok 'the server starts as a replica does' mariadb_restart --read-only
says 78 'is read-only, as replicas are.*name the primary' 'a replica' holdfast run -n job -- echo ran
ok 'the server starts as an old one' mariadb_restart --version=10.0.1-MariaDB-fake
says 78 'is MariaDB 10.0.1.*MariaDB 10.0.2 or MySQL 5.7.5 is needed' 'an old MariaDB' \
    holdfast run -n job -- echo ran
ok 'the server starts as an old MySQL' mariadb_restart --version=5.6.51-fake
says 78 'is MySQL 5.6.51' 'an old MySQL' holdfast run -n job -- echo ran
ok 'the server starts as one of a cluster' mariadb_restart_clustered
says 78 'of a Galera cluster' 'Galera' holdfast run -n job -- echo ran
unlike "$out" ran 'and nothing runs'
finish
