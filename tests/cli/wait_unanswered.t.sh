#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A wait that ends while the server is silent, or gone, has met no holder: exit 69,
# with the reason, on each kind of store. While the server answers it is 75.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

has_refused() {
    grep -qE 'job: (waiting, |taken; )' "$W/err"
}
waits() { # SECONDS FAULT...: sets $code and $err
    : >"$W/err"
    holdfast run -v -w "$1" job -- echo ran >"$W/out" 2>"$W/err" &
    waiter=$!
    pids+=("$waiter")
    shift
    ok '... a waiter' wait_until 5 has_refused
    "$@"
    wait "$waiter"
    code=$? err=$(grep -v '^holdfast\[' "$W/err")
}
unanswered() { # REASON WHAT
    is "$code" 69 "$2: exit 69"
    like "$err" "$1" '... with the reason'
    unlike "$err" 'held by|'$'\n' '... and no holder, in one line'
}
# Its commands are functions.
store() { # NAME URL PAUSE CONTINUE KILL REASON: of a server that is gone
    export HOLDFAST_URL=$2
    begin "$1" -t 50s job
    ok "$1: a holder" wait_until 20 holds "$1"
    waits 1 true
    is "$code" 75 "$1: a wait that ends: exit 75"
    like "$err" 'held by' '... with the holder'
    waits 3 "$3"
    unanswered 'no answer|not answer' "$1: the server is silent"
    "$4"
    ok '... and answers again' wait_until 20 timeout 10 holdfast run -n another -- true
    waits 3 "$5"
    unanswered "$6" "$1: the server is gone"
}
refused='[Cc]onnection refused|No such file|Can.t connect'
more='connect_timeout=5s'

# ---- Redis ---------------------------------------------------------------------------

pause() { server_pause s1; }
continue_() { server_resume s1; }
kill_() { server_kill s1; }
server_start s1 --tcp || { fail 'Redis starts'; finish; }
servers_declare "${SERVER_URL[s1]}"
server_pause s1
HOLDFAST_URL="${SERVER_URL[s1]}?node_timeout=3s" \
    capture holdfast run -w 100ms job another -- echo ran
is "$code" 69 'redis: a short wait for two names, the server is silent: exit 69'
like "$err" 'did not answer within [1-8][0-9][0-9] ms' '... when it is over'
server_resume s1
store redis "${SERVER_URL[s1]}" pause continue_ kill_ "$refused"
empty() { server_kill s1 && server_restart s1; }
ok 'Redis starts again' server_restart s1
servers_declare "${SERVER_URL[s1]}"
begin emptied -t 50s job
ok 'a holder' wait_until 20 holds emptied
waits 3 empty
unanswered 'no trace of Holdfast|is being watched|was restarted' \
    'redis: the server is emptied'

# ---- etcd, Consul, ZooKeeper -----------------------------------------------------------

ordered() { # KIND NODE URL
    eval "pause() { $1_pause $2; }; continue_() { $1_continue $2; }
        kill_() { $1_kill $2; }"
    store "$1" "$3?$more" pause continue_ kill_ "$refused"
}
if have_etcd && etcd_start; then
    ordered etcd e1 "$ETCD_URL"
fi
if have_consul && consul_start; then
    ordered consul c1 "$CONSUL_URL"
fi
if have_zookeeper && zookeeper_start; then
    ordered zookeeper z1 "$ZOOKEEPER_URL"
fi

# ---- Databases -------------------------------------------------------------------------

postgres_start || { fail 'PostgreSQL starts'; finish; }
url="postgres://postgres@/postgres?host=$PGHOST&$more"
ok 'PostgreSQL is declared' holdfast doctor --init -u "$url"
store postgres "$url" postgres_freeze postgres_thaw postgres_crash "$refused"
ok 'it starts again' postgres_restart
store advisory "$url&lock=advisory" postgres_freeze postgres_thaw postgres_crash \
    "$refused"

pause() { kill -STOP "$MARIADB_PID"; }
continue_() { kill -CONT "$MARIADB_PID"; }
kill_() {
    kill -KILL "$MARIADB_PID"
    wait "$MARIADB_PID"
    MARIADB_PID=''
} 2>/dev/null
if has_server && mariadb_start; then
    url="mysql://root@/?socket=$W/maria/s&$more"
    ok 'MariaDB is declared' holdfast doctor --init -u "$url"
    store mysql "$url" pause continue_ kill_ "$refused"
    ok 'it starts again' mariadb_restart
    store named "$url&lock=named" pause continue_ kill_ "$refused"
fi
finish
