# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Real databases for shell tests. Source after tap.sh. Each is private to the
# test: a folder below $W, a unix socket, no TCP; stopped by its pid at the end.
#
#   postgres_start [ARG...]     waits until it answers; ARGs go to the server
#   postgres_crash              kill -9, all its processes
#   postgres_restart [ARG...]   after that
#   postgres_freeze, postgres_thaw   SIGSTOP, SIGCONT, all its processes
#   pooler_start MODE [LINE...] PgBouncer in front of it, in the folder $POOLER, with
#                               two sessions in turns; LINEs go to its settings
#   pooler_crash, pooler_restart   kill -9; after that
#   pg [ARG...]                 psql as its superuser; commands on stdin, or -c
#   pg_as ROLE [ARG...]         the same as another role
#   pg_is CONDITION             is this SQL condition true? for wait_until
#
# Servers refuse to run as root: then they run as their package's user.
# psql is the server's own: the one in PATH is Debian's wrapper in Perl, which costs
# more CPU time than psql itself.

PG_PID='' PG_BIN=''

# The newest version that is installed, or that of HF_SERVERS (scripts/versions).
postgres_find() {
    local bin
    for bin in "${HF_SERVERS:-}"/usr/lib/postgresql/*/bin; do
        [ ! -x "$bin/initdb" ] || PG_BIN=$bin
    done
    [ -n "$PG_BIN" ]
}

as_database_user() { # USER COMMAND...
    local user=$1
    shift
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid="$user" --regid="$user" --init-groups "$@"
    fi
    exec "$@"
}

# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/template.sh"

postgres_make() { # FOLDER
    mkdir -m 700 "$1" || return
    [ "$(id -u)" != 0 ] || chown postgres:postgres "$1"
    (cd "$1" && as_database_user postgres "$PG_BIN/initdb" -D "$1/data" \
        -A trust -U postgres -N --locale=C.UTF-8 -E UTF8) >"$W/pg.log" 2>&1 && return
    diag "initdb: $(tail -n 5 "$W/pg.log")"
    return 1
}

postgres_start() {
    local dir=$W/pg
    postgres_find || { diag "no PostgreSQL below /usr/lib/postgresql"; return 1; }
    chmod 711 "$W"
    copy_of postgres "$dir" postgres_make || return
    at_exit postgres_stop
    export PGHOST=$dir PGDATABASE=postgres PGCONNECT_TIMEOUT=10
    unset PGUSER PGPORT PGSERVICE PGOPTIONS
    postgres_restart "$@"
}

postgres_restart() {
    local dir=$W/pg
    (cd "$dir" && as_database_user postgres "$PG_BIN/postgres" -D "$dir/data" \
        -c listen_addresses= -c unix_socket_directories="$dir" -c fsync=off \
        -c shared_buffers=16MB -c password_encryption=scram-sha-256 "$@") \
        >>"$W/pg.log" 2>&1 </dev/null &
    PG_PID=$!
    wait_until 15 "$PG_BIN/pg_isready" -q && return 0
    diag "PostgreSQL did not start: $(tail -n 5 "$W/pg.log")"
    return 1
}

# The server and its children, which have process groups of their own.
postgres_signal() { # SIGNAL
    # shellcheck disable=SC2046 # a list
    kill -"$1" "$PG_PID" $(cat "/proc/$PG_PID/task/$PG_PID/children")
} 2>/dev/null

postgres_freeze() {
    postgres_signal STOP
}

postgres_thaw() {
    postgres_signal CONT
}

# The memory of the dead server is in use until its last child is gone.
postgres_crash() {
    local children child
    children=$(cat "/proc/$PG_PID/task/$PG_PID/children")
    postgres_signal KILL
    wait "$PG_PID" 2>/dev/null
    for child in $children; do
        wait_until 5 test ! -e "/proc/$child"
    done
}

# At once: sessions of the test are closed, or must be ended.
postgres_stop() {
    postgres_thaw
    kill -QUIT "$PG_PID" 2>/dev/null
    wait "$PG_PID" 2>/dev/null
}

# ---- A pooler --------------------------------------------------------------------

POOLER='' POOLER_PID=''

pooler_start() { # MODE [LINE...]
    local mode=$1
    shift
    POOLER=$W/pooler-$mode
    mkdir -m 711 "$POOLER"
    printf '"%s" ""\n' postgres app >"$POOLER/users"
    printf '%s\n' '[databases]' "* = host=$PGHOST" '[pgbouncer]' \
        "unix_socket_dir = $POOLER" 'listen_addr =' 'listen_port = 5432' \
        'auth_type = trust' "auth_file = $POOLER/users" "pool_mode = $mode" \
        'default_pool_size = 2' 'min_pool_size = 2' 'server_round_robin = 1' \
        'server_login_retry = 0.2' "$@" >"$POOLER/ini"
    [ "$(id -u)" != 0 ] || chown postgres:postgres "$POOLER"
    at_exit pooler_stop
    pooler_restart
}

pooler_restart() {
    (cd "$POOLER" && as_database_user postgres pgbouncer -q "$POOLER/ini") \
        >>"$POOLER/log" 2>&1 </dev/null &
    POOLER_PID=$!
    wait_until 15 "$PG_BIN/pg_isready" -q -h "$POOLER" && return 0
    diag "PgBouncer did not start: $(tail -n 5 "$POOLER/log")"
    return 1
}

# Its socket stays, as after a crash.
pooler_crash() {
    kill -KILL "$POOLER_PID" 2>/dev/null
    wait "$POOLER_PID" 2>/dev/null
}

pooler_stop() {
    pooler_crash
}

pg_as() {
    local role=$1
    shift
    timeout 60 "$PG_BIN/psql" -XAtq -U "$role" -v ON_ERROR_STOP=1 "$@"
}

pg() {
    pg_as postgres "$@"
}

pg_is() {
    [ "$(pg -c "SELECT $1")" = t ]
}

# Commits wait for this standby; none does if NAME is empty.
pg_sync_is() { # NAME
    pg -c "ALTER SYSTEM SET synchronous_standby_names = '$1'" -c 'SELECT pg_reload_conf()' >/dev/null
    wait_until 10 pg_is "current_setting('synchronous_standby_names') = '$1'"
    # Commits ask the checkpointer's copy of it, which may be late: it reads its
    # configuration before it works.
    pg -c CHECKPOINT
}

# Sessions that stay open: sessions.sh.
. "$(dirname "${BASH_SOURCE[0]}")/sessions.sh"
SESSION_ECHO='\\echo %s'

session_open() {
    PGAPPNAME=session_$1 session_start "$1" "$PG_BIN/psql" -XAtq -U postgres \
        -v VERBOSITY=verbose
}

session_is_blocked() {
    pg_is "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND application_name = 'session_$1')"
}
