# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sessions of a database's client that stay open, for two transactions at a time.
# Sourced by databases.sh and mariadb.sh, which have session_open, and
# session_is_blocked: does it wait for a lock? for wait_until.
#
#   session_open NAME           as the superuser
#   session_send NAME SQL       does not wait
#   session_do NAME SQL         waits, and sets $got: output and errors
#   session_wait NAME           waits for the statement, and sets $got
#
# SESSION_ECHO is the client's command that prints a text, as a format.

declare -A SESSION_FD=() SESSION_PID=() SESSION_N=()
got='' SESSION_ECHO=''

session_start() { # NAME COMMAND...: for session_open
    local name=$1 fd
    shift
    mkfifo "$W/$name.in"
    "$@" <"$W/$name.in" >"$W/$name.out" 2>&1 &
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
    # shellcheck disable=SC2059 # a format
    printf "$SESSION_ECHO\n%s\n;\n$SESSION_ECHO\n" "begin $n" "$2" "end $n" \
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
