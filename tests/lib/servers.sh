# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Real servers for shell tests. Source after tap.sh. Every server has a NAME,
# a folder of its own, and is stopped by its pid when the test ends.
#
#   server_start NAME [OPTION...] [-- ARG...]     waits until it answers
#       --tcp            on a free TCP port (else a unix socket)
#       --tls            TLS on a free TCP port; certificates by tls_make
#       --valkey         valkey-server (see have_valkey)
#       --aof always|everysec      append-only file
#       --clock          under the clock shim; see server_clock
#       ARGs             go to the server: -- --requirepass secret
#   servers_start N [OPTION...]      s1 ... sN; sets URLS, all in one URL text
#   ${SERVER_URL[NAME]} ${SERVER_PID[NAME]} ${SERVER_DIR[NAME]}
#   ${SERVER_PORT[NAME]} or ${SERVER_SOCK[NAME]}
#   server_cli NAME ARG...           redis-cli to it
#   server_stop NAME / server_kill NAME        SIGTERM / SIGKILL, and reaped
#   server_pause NAME / server_resume NAME     SIGSTOP / SIGCONT
#   server_restart NAME              as it was started, same folder and address
#   server_clock NAME SECONDS        its wall clock, off by so much
#   server_clock_stop NAME...        stand still, all at the beginning of one
#                                    step of the clock floor
#   tls_make                         $W/tls/{ca,server,other}.{crt,key}
#   tls_issue NAME [DAYS [HOSTS [AUTHORITY [SUBJECT]]]]
#                                    $W/tls/NAME.{crt,key}; DAYS -1: expired
#   servers_declare URL              fresh servers have forgotten nothing
#
# A fresh server has no vote until max_ttl has passed: declare it, or open it
# with quarantine=off.

. "$(dirname "${BASH_SOURCE[0]}")/nodes.sh"
declare -A SERVER_PID=() SERVER_URL=() SERVER_DIR=() SERVER_PORT=()
declare -A SERVER_SOCK=() SERVER_ARGS=() SERVER_PROGRAM=() SERVER_CLOCK=()
declare -A SERVER_TLS=()
URLS=''

have_valkey() {
    command -v valkey-server >/dev/null
}

# A port is this test's until it ends, also while the server that has it is down: the
# tests of all runs of this user keep a file for each.
port_folder=/tmp/hft.ports.$EUID
(umask 077 && mkdir -p "$port_folder")
[ -O "$port_folder" ] || { port_folder=$W/ports && mkdir "$port_folder"; }
port_reserve() { # PORT
    local file=$port_folder/$1 owner=''
    { owner=$(<"$file"); } 2>/dev/null
    [ -z "$owner" ] || ! is_gone "$owner" || rm -f "$file"
    (set -C && echo $$ >"$file") 2>/dev/null
}
ports_release() {
    grep -lx -r $$ "$port_folder" | xargs -r rm -f
}
at_exit ports_release
at_exit nodes_end server

# An unused port, below the ephemeral range. Another program may bind it before the
# server does; server_start then tries another one.
free_port() {
    local port
    while :; do
        port=$((10000 + (RANDOM * 32768 + RANDOM) % 22000))
        port_reserve $port || continue
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

server_cli() {
    local name=$1
    shift
    if [ -n "${SERVER_TLS[$name]:-}" ]; then
        timeout 10 redis-cli --tls --cacert "$W/tls/ca.crt" -h 127.0.0.1 \
            -p "${SERVER_PORT[$name]}" --no-auth-warning "$@"
    elif [ -n "${SERVER_PORT[$name]:-}" ]; then
        timeout 10 redis-cli -h 127.0.0.1 -p "${SERVER_PORT[$name]}" \
            --no-auth-warning "$@"
    else
        timeout 10 redis-cli -s "${SERVER_SOCK[$name]}" --no-auth-warning "$@"
    fi
}

# Whether it answers. With a password it answers NOAUTH, which counts. The pid
# file is written before the socket listens. The folder is private to the test.
server_answers() {
    local reply
    reply=$(server_cli "$1" info server 2>&1)
    case $reply in
    *process_id:"${SERVER_PID[$1]}"[!0-9]*) return 0 ;;
    *NOAUTH* | *NOPERM*) return 0 ;;
    esac
    is_gone "${SERVER_PID[$1]}" && return 0
    return 1
}

server_launch() {
    local name=$1 address=() dir=${SERVER_DIR[$1]} env=(env) args=()
    local tls=$W/tls
    if [ -n "${SERVER_TLS[$name]:-}" ]; then
        address=(--port 0 --tls-port "${SERVER_PORT[$name]}"
            --bind 127.0.0.1 --tls-cert-file "$tls/server.crt"
            --tls-key-file "$tls/server.key"
            --tls-ca-cert-file "$tls/ca.crt" --tls-auth-clients no)
    elif [ -n "${SERVER_PORT[$name]:-}" ]; then
        address=(--port "${SERVER_PORT[$name]}" --bind 127.0.0.1)
    else
        address=(--port 0 --unixsocket "${SERVER_SOCK[$name]}"
            --unixsocketperm 700)
    fi
    if [ -n "${SERVER_CLOCK[$name]:-}" ]; then
        server_clock_env "$name"
        env+=("${clock_env[@]}")
    fi
    eval "args=(${SERVER_ARGS[$name]})"
    "${env[@]}" "${SERVER_PROGRAM[$name]}" "${address[@]}" --save '' \
        --dir "$dir" --logfile "$dir/log" "${args[@]}" \
        >"$dir/stdout" 2>&1 </dev/null &
    SERVER_PID[$name]=$!
    if wait_until 15 server_answers "$name" &&
        ! is_gone "${SERVER_PID[$name]}"; then
        return 0
    fi
    server_kill "$name"
    return 1
}

server_start() {
    local name=$1 tcp='' tls='' try scheme args=()
    shift
    SERVER_PROGRAM[$name]=redis-server SERVER_CLOCK[$name]=''
    SERVER_TLS[$name]=''
    while [ $# -gt 0 ]; do
        case $1 in
        --tcp) tcp=1 ;;
        --tls) tcp=1 tls=1 ;;
        --valkey) SERVER_PROGRAM[$name]=valkey-server ;;
        --aof) args+=(--appendonly yes --appendfsync "$2") && shift ;;
        --clock) SERVER_CLOCK[$name]=$W/$name.clock ;;
        --) shift && args+=("$@") && break ;;
        *) echo "server_start: $1?" >&2 && return 1 ;;
        esac
        shift
    done
    SERVER_DIR[$name]=$W/$name
    mkdir -p "$W/$name"
    SERVER_ARGS[$name]=${args:+$(printf '%q ' "${args[@]}")}
    if [ -n "${SERVER_CLOCK[$name]}" ]; then
        head -c 16 /dev/zero >"${SERVER_CLOCK[$name]}"
    fi
    [ -z "$tls" ] || { tls_make && SERVER_TLS[$name]=1; }
    scheme=redis
    if [ -z "$tcp" ]; then
        SERVER_SOCK[$name]=$W/$name/s
        SERVER_URL[$name]=redis+unix://$W/$name/s
        server_launch "$name" && return 0
    else
        for try in 1 2 3 4 5; do
            SERVER_PORT[$name]=$(free_port)
            SERVER_URL[$name]=redis${tls:+s}://127.0.0.1:${SERVER_PORT[$name]}
            server_launch "$name" && return 0
        done
    fi
    diag "server $name did not start:"
    diag "$(tail -n 5 "${SERVER_DIR[$name]}/log" "${SERVER_DIR[$name]}/stdout")"
    return 1
}

servers_start() {
    local n=$1 i
    shift
    URLS=''
    for ((i = 1; i <= n; i++)); do
        server_start "s$i" "$@" || return 1
        URLS+="${URLS:+ }${SERVER_URL[s$i]}"
    done
}

# By force: a command ends when a majority has released its lock, and another
# server may still have it for a moment. cli/doctor tests the refusal.
servers_declare() {
    holdfast doctor --init --force -q -u "$1" >/dev/null 2>&1 </dev/null
}

server_stop() {
    node_stop server "$1"
}

server_kill() {
    node_kill server "$1"
}

server_pause() {
    node_pause server "$1"
}

server_resume() {
    node_continue server "$1"
}

server_restart() {
    [ -z "${SERVER_PID[$1]:-}" ] || server_stop "$1"
    server_launch "$1"
}

# The environment of a server under the shim, in the array clock_env. Also for kinds
# with members, whose clocks server_clock sets then.
server_clock_env() { # NAME
    SERVER_CLOCK[$1]=$W/$1.clock
    [ -e "$W/$1.clock" ] || head -c 16 /dev/zero >"$W/$1.clock"
    clock_env=("CLOCKSHIM=$W/$1.clock"
        "LD_PRELOAD=$HF_BUILD/tests/lib/clock_shim.so")
}

# The shim reads signed nanoseconds in host order from a mapped file: 8 bytes are
# the offset, 8 more the time if they are not 0.
server_clock_write() { # NAME PLACE NANOSECONDS
    local ns=$3 i bytes=''
    for ((i = 0; i < 8; i++)); do
        bytes+=$(printf '\\%03o' $(((ns >> (8 * i)) & 255)))
    done
    # shellcheck disable=SC2059 # the escapes are the point
    printf "$bytes" |
        dd of="${SERVER_CLOCK[$1]}" bs=8 seek="$2" conv=notrunc status=none
}

server_clock() {
    server_clock_write "$1" 0 $(($2 * 1000000000))
}

server_clock_stop() {
    local name ns=$((EPOCHSECONDS * 1000000 / 4194304 * 4194304000))
    for name in "$@"; do
        server_clock_write "$name" 1 $ns
    done
}

tls_make() {
    local t=$W/tls name
    [ ! -e "$t/server.crt" ] || return 0
    mkdir -p "$t"
    for name in ca other; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
            -keyout "$t/$name.key" -out "$t/$name.crt" -days 2 \
            -subj "/CN=test $name" 2>/dev/null || return 1
    done
    tls_issue server
}

tls_issue() {
    local t=$W/tls authority=${4:-ca}
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout "$t/$1.key" -out "$t/$1.csr" \
        -subj "${5:-/CN=test $1}" 2>/dev/null || return 1
    openssl x509 -req -in "$t/$1.csr" -CA "$t/$authority.crt" \
        -CAkey "$t/$authority.key" -CAcreateserial -out "$t/$1.crt" \
        -days "${2:-2}" -extfile <(
            echo "subjectAltName=${3:-DNS:localhost,IP:127.0.0.1}"
        ) 2>/dev/null
}
