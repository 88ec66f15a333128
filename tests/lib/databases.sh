# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Real databases for shell tests. Source after tap.sh. Each is private to the
# test: a folder below $W, a unix socket, no TCP; stopped by its pid at the end.
#
#   postgres_start [ARG...]     waits until it answers; ARGs go to the server
#   postgres_crash              kill -9, all its processes
#   postgres_restart [ARG...]   after that
#   postgres_freeze, postgres_thaw   SIGSTOP, SIGCONT, all its processes
#   pg [ARG...]                 psql as its superuser; commands on stdin, or -c
#   pg_as ROLE [ARG...]         the same as another role
#   pg_is CONDITION             is this SQL condition true? for wait_until
#
# Servers refuse to run as root: then they run as their package's user.

PG_PID='' PG_BIN=''

# The newest version that is installed.
postgres_find() {
    local bin
    for bin in /usr/lib/postgresql/*/bin; do
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

postgres_start() {
    local dir=$W/pg
    postgres_find || { diag "no PostgreSQL below /usr/lib/postgresql"; return 1; }
    chmod 711 "$W"
    mkdir -m 700 "$dir"
    [ "$(id -u)" != 0 ] || chown postgres:postgres "$dir"
    if ! (cd "$dir" && as_database_user postgres "$PG_BIN/initdb" -D "$dir/data" \
        -A trust -U postgres -N --locale=C.UTF-8 -E UTF8) >"$W/pg.log" 2>&1; then
        diag "initdb: $(tail -n 5 "$W/pg.log")"
        return 1
    fi
    at_exit postgres_stop
    export PGHOST=$dir PGDATABASE=postgres PGCONNECT_TIMEOUT=10
    unset PGUSER PGPORT PGSERVICE PGOPTIONS
    postgres_restart "$@"
}

postgres_restart() {
    local dir=$W/pg
    (cd "$dir" && as_database_user postgres "$PG_BIN/postgres" -D "$dir/data" \
        -c listen_addresses= -c unix_socket_directories="$dir" -c fsync=off \
        -c shared_buffers=16MB "$@") >>"$W/pg.log" 2>&1 </dev/null &
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

pg_as() {
    local role=$1
    shift
    timeout 60 psql -XAtq -U "$role" -v ON_ERROR_STOP=1 "$@"
}

pg() {
    pg_as postgres "$@"
}

pg_is() {
    [ "$(pg -c "SELECT $1")" = t ]
}

# A session that stays open, for two transactions at a time:
#
#   session_open NAME           as the superuser
#   session_send NAME SQL       does not wait
#   session_do NAME SQL         waits, and sets $got: output and errors
#   session_wait NAME           waits for what was sent, and sets $got
#   session_is_blocked NAME     does it wait for a lock? for wait_until
declare -A SESSION_FD=() SESSION_PID=() SESSION_N=()
got=''

session_open() {
    local name=$1 fd
    mkfifo "$W/$name.in"
    PGAPPNAME=session_$name psql -XAtq -U postgres -v VERBOSITY=verbose \
        <"$W/$name.in" >"$W/$name.out" 2>&1 &
    SESSION_PID[$name]=$!
    exec {fd}>"$W/$name.in"
    SESSION_FD[$name]=$fd SESSION_N[$name]=0
    at_exit session_close "$name"
}

session_close() {
    local fd=${SESSION_FD[$1]}
    exec {fd}>&-
    kill "${SESSION_PID[$1]}" 2>/dev/null
    wait "${SESSION_PID[$1]}" 2>/dev/null
}

session_send() {
    local n=$((${SESSION_N[$1]} + 1))
    SESSION_N[$1]=$n
    printf '\\echo begin %d\n%s\n;\n\\echo end %d\n' "$n" "$2" "$n" \
        >&"${SESSION_FD[$1]}"
}

session_wait() {
    local n=${SESSION_N[$1]}
    wait_until 15 grep -qx "end $n" "$W/$1.out" || diag "$1 does not answer"
    got=$(sed -n "/^begin $n\$/,/^end $n\$/{/^begin $n\$/d;/^end $n\$/d;p}" \
        "$W/$1.out")
}

session_do() {
    session_send "$1" "$2"
    session_wait "$1"
}

session_is_blocked() {
    pg_is "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND application_name = 'session_$1')"
}
