# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A real MariaDB for shell tests. Source after tap.sh. It is private to the
# test: a folder below $W, a unix socket, no TCP; stopped by its pid at the end.
#
#   mariadb_start [ARG...]      waits until it answers; ARGs go to the server
#   mariadb_needed [ARG...]     the same; without a server to start the test is
#                               skipped, and if that does not start it fails
#   mariadb_restart [ARG...]    stops it before
#   mariadb_restart_tcp [NAME [ARG...]]
#                               the same, and also at 127.0.0.1:$MARIADB_PORT; with
#                               the certificate $W/tls/NAME.crt (needs servers.sh)
#   mariadb_restart_clustered   the same, as the only member of a Galera cluster
#                               (needs servers.sh)
#   sql [ARG...]                its client as root; commands on stdin, or -e
#   sql_as USER [ARG...]        the same as another user
#
# Sessions that stay open: sessions.sh.
#
# The server refuses to run as root: then it runs as its package's user.
#
# With HF_TEST_MYSQL=1 in the environment the server is MySQL, of build-mysql
# (scripts/test unpacks it), and the client program still MariaDB's:
#
#   is_mysql                    true if so
#   has_server                  false: mariadb_start would fail
#   lacks_server                why: "no MariaDB", or "no MySQL"
#   isolation_variable          tx_isolation, or transaction_isolation
#   mariadb_restart_grouped     as the only member of a group (needs servers.sh)

MARIADB_PID='' MARIADB_DB='' MARIADB_PORT=''
MYSQL_FOLDER=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build-mysql

is_mysql() {
    [ -n "${HF_TEST_MYSQL:-}" ]
}

has_server() {
    command -v mariadb-install-db mariadb >/dev/null || return
    ! is_mysql || [ -x "$MYSQL_FOLDER/usr/sbin/mysqld" ]
}

lacks_server() {
    if is_mysql; then echo 'no MySQL'; else echo 'no MariaDB'; fi
}

# The variable of a session that MariaDB calls tx_isolation until 11.1.
isolation_variable() {
    if is_mysql; then echo transaction_isolation; else echo tx_isolation; fi
}

# The user mysql cannot write to the tests' folder of temporary files.
mariadb_run() { # COMMAND...
    export TMPDIR=$PWD
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=mysql --regid=mysql --init-groups "$@"
    fi
    exec "$@"
}

# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/template.sh"

mariadb_make() { # FOLDER
    mkdir -m 700 "$1" || return
    [ "$(id -u)" != 0 ] || chown mysql:mysql "$1"
    (cd "$1" && mariadb_run mariadb-install-db --no-defaults \
        --basedir="${HF_SERVERS:-}/usr" \
        --datadir="$1/data" --auth-root-authentication-method=normal \
        --innodb-log-file-size=8M --skip-test-db) >"$W/maria.log" 2>&1 && return
    diag "mariadb-install-db: $(head -n 30 "$W/maria.log")"
    return 1
}

mysql_make() { # FOLDER
    mkdir -m 700 "$1" || return
    [ "$(id -u)" != 0 ] || chown mysql:mysql "$1"
    (cd "$1" && mariadb_run "$MYSQL_FOLDER/usr/sbin/mysqld" --no-defaults \
        --initialize-insecure --basedir="$MYSQL_FOLDER/usr" \
        --datadir="$1/data" --innodb-redo-log-capacity=32M --skip-log-bin \
        --secure-file-priv=) \
        >"$W/maria.log" 2>&1 && return
    diag "mysqld --initialize-insecure: $(head -n 30 "$W/maria.log")"
    return 1
}

mariadb_start() {
    local dir=$W/maria
    if ! has_server; then
        diag "$(lacks_server)"
        return 1
    fi
    chmod 711 "$W"
    if is_mysql; then
        copy_of mysql "$dir" mysql_make || return
    else
        copy_of mariadb "$dir" mariadb_make || return
    fi
    at_exit mariadb_stop
    mariadb_restart "$@" && sql -e 'CREATE DATABASE app' && MARIADB_DB=app
}

mariadb_needed() {
    has_server || skip_all "$(lacks_server)"
    mariadb_start "$@" || { fail 'the server starts'; finish; }
}

mariadb_restart() {
    local dir=$W/maria server
    if is_mysql; then
        server=("$MYSQL_FOLDER/usr/sbin/mysqld" --no-defaults
            --basedir="$MYSQL_FOLDER/usr" --mysqlx=OFF --skip-log-bin
            --innodb-redo-log-capacity=32M --secure-file-priv=)
    else
        server=("$(PATH=$PATH:/usr/sbin command -v mariadbd)" --no-defaults
            --basedir="${HF_SERVERS:-}/usr"
            --innodb-log-file-size=8M)
    fi
    mariadb_stop
    (cd "$dir" && mariadb_run "${server[@]}" \
        --datadir="$dir/data" --skip-networking --socket="$dir/s" \
        --pid-file="$dir/pid" --log-error="$dir/log.err" --server-id=1 \
        --innodb-buffer-pool-size=16M \
        --innodb-flush-log-at-trx-commit=0 --performance-schema=OFF "$@") \
        >>"$W/maria.log" 2>&1 </dev/null &
    MARIADB_PID=$!
    wait_until 30 mariadb-admin --no-defaults --connect-timeout=5 -uroot \
        -S "$dir/s" ping >>"$W/maria.log" 2>&1 && return 0
    diag "the server did not start: $(tail -n 5 "$dir/log.err")"
    return 1
}

# The server reads its key as its own user.
mariadb_restart_tcp() {
    local dir=$W/maria name=$1 tls=()
    shift || true
    MARIADB_PORT=${MARIADB_PORT:-$(free_port)}
    if [ -n "$name" ]; then
        install -m 644 "$W/tls/$name.crt" "$dir/tls.crt" || return
        install -m 644 "$W/tls/ca.crt" "$dir/ca.crt" || return
        install -m 600 "$W/tls/$name.key" "$dir/tls.key" || return
        [ "$(id -u)" != 0 ] || chown mysql:mysql "$dir/tls.key"
        tls=(--ssl-cert="$dir/tls.crt" --ssl-key="$dir/tls.key"
            --ssl-ca="$dir/ca.crt")
    fi
    mariadb_restart --skip-networking=0 --bind-address=127.0.0.1 \
        --port="$MARIADB_PORT" --skip-name-resolve "${tls[@]}" "$@"
}

mariadb_is_clustered() {
    [ "$(sql -e "SHOW STATUS LIKE 'wsrep_ready'" | cut -f 2)" = ON ]
}

mariadb_restart_clustered() {
    local dir=$W/maria port
    port=$(free_port)
    mariadb_restart --wsrep-on=ON --binlog-format=ROW \
        --innodb-autoinc-lock-mode=2 --wsrep-cluster-address=gcomm:// \
        --wsrep-provider=/usr/lib/galera/libgalera_smm.so \
        --wsrep-node-address=127.0.0.1 --wsrep-data-home-dir="$dir/data" \
        --wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$port;gcache.size=1M" &&
        wait_until 15 mariadb_is_clustered
}

# A group of MySQL, which another server could join: of row-based events, and of
# transactions that are numbered.
mariadb_restart_grouped() {
    local port
    port=$(free_port)
    mariadb_restart --log-bin --gtid-mode=ON --enforce-gtid-consistency=ON \
        --plugin-dir="$MYSQL_FOLDER/usr/lib/mysql/plugin" \
        --plugin-load-add=group_replication.so --performance-schema=ON \
        --loose-group-replication-group-name=3e11fa47-71ca-11e1-9e33-c80aa9429562 \
        --loose-group-replication-start-on-boot=OFF \
        --loose-group-replication-local-address="127.0.0.1:$port" &&
        sql -e 'SET GLOBAL group_replication_bootstrap_group = ON;
            START GROUP_REPLICATION' &&
        [ "$(sql -e "SELECT member_state
            FROM performance_schema.replication_group_members")" = ONLINE ]
}

mariadb_stop() {
    [ -n "$MARIADB_PID" ] || return 0
    kill "$MARIADB_PID" 2>/dev/null
    wait "$MARIADB_PID" 2>/dev/null
    MARIADB_PID=''
}

sql_as() {
    local user=$1
    shift
    # shellcheck disable=SC2086 # none, or one
    timeout 60 mariadb --no-defaults -u"$user" -S "$W/maria/s" -BN \
        --default-character-set=utf8mb4 "$@" $MARIADB_DB
}

sql() {
    sql_as root "$@"
}

# Does another session get the name? It releases it: the server ends a session later
# than its client ends.
lock_is_free() { # NAME-ON-SERVER
    [ "$(sql -e "SELECT GET_LOCK('$1', 0); DO RELEASE_LOCK('$1')" 2>/dev/null)" = 1 ]
}

. "$(dirname "${BASH_SOURCE[0]}")/sessions.sh"
declare -A SESSION_ID=()
# shellcheck disable=SC2034 # for sessions.sh
SESSION_ECHO="SELECT '%s';"

session_open() {
    # shellcheck disable=SC2086 # none, or one
    session_start "$1" mariadb --no-defaults -uroot -S "$W/maria/s" -BNnf \
        $MARIADB_DB
    session_do "$1" 'SELECT CONNECTION_ID()'
    SESSION_ID[$1]=$got
}

# InnoDB renews this table only if it was not read for 0.1 s: without a pause a
# quick machine would read the same for ever.
session_is_blocked() {
    [ "$(sql -e "DO SLEEP(0.15);
        SELECT COUNT(*) FROM information_schema.innodb_trx
        WHERE trx_state = 'LOCK WAIT'
            AND trx_mysql_thread_id = ${SESSION_ID[$1]}")" = 1 ]
}
