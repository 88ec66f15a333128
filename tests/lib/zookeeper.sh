# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Real ZooKeeper for shell tests. Source after tap.sh and servers.sh. Each server
# has a NAME, z1 … zN, a folder of its own below $W and free TCP ports. Stopped by
# its pid when the test ends.
#
#   have_zookeeper
#   zookeeper_start [--clock] [-- LINE...]     one server, z1; waits until it answers
#   zookeeper_cluster N [--clock] [-- LINE...] N servers that agree
#       --clock          under the clock shim; server_clock NAME sets it
#       LINEs            go to each configuration, and override what is given here
#   $ZOOKEEPER_URL ${ZOOKEEPER_PID[NAME]} ${ZOOKEEPER_PORT[NAME]}
#   zookeeper_say NAME WORD            its answer to a four-letter word, at once
#   zookeeper_nodes                    the paths of all ephemeral nodes, one a line
#   zookeeper_session PATH             the session of an ephemeral node
#   zookeeper_do ARG...                zookeeper.py, which see, at all servers; for
#                                      $zookeeper_do_s seconds (30) at most
#   zookeeper_leader                   the leader's NAME
#   zookeeper_stop NAME / zookeeper_kill NAME        SIGTERM / SIGKILL, and reaped
#   zookeeper_pause NAME / zookeeper_continue NAME   SIGSTOP / SIGCONT
#   zookeeper_restart NAME             stopped, if it runs, and started again:
#                                      same folder, same ports; waits as above
#
# Sessions may be as short as 400 ms. Empty containers are removed after seconds.
# Data are not synced to disk: after SIGKILL they are there, as after a crash of
# the process, but not of the machine.

declare -A ZOOKEEPER_PID=() ZOOKEEPER_PORT=()
ZOOKEEPER_URL='' ZOOKEEPER_HOSTS='' ZOOKEEPER_MEMBERS='' ZOOKEEPER_LINES=() ZOOKEEPER_CLOCK=''
# Of another release in HF_SERVERS (scripts/versions): its records are before those
# of the system, which the first jar names.
zookeeper_jar=${HF_SERVERS:-}/usr/share/java/zookeeper
zookeeper_log=${HF_SERVERS:-}/usr/share/java/slf4j-simple.jar
# Not another Python that precedes it in PATH: kazoo is Debian's.
zookeeper_python=/usr/bin/python3

have_zookeeper() {
    [ -e "$zookeeper_jar.jar" ] && [ -e "$zookeeper_log" ] &&
        command -v java >/dev/null && "$zookeeper_python" -c 'import kazoo' \
        2>/dev/null
}

at_exit nodes_end zookeeper

# A server that starts may leave a connection open for ever.
zookeeper_say() { # NAME WORD
    # shellcheck disable=SC2016 # the inner shell's
    timeout 3 bash -c 'exec 9<>"/dev/tcp/127.0.0.1/$0" && printf %s "$1" >&9 &&
        cat <&9' "${ZOOKEEPER_PORT[$1]}" "$2" 2>/dev/null
}

# A port may be another server's, which has another folder.
zookeeper_answers() { # NAME
    zookeeper_say "$1" conf | grep -qxF "dataDir=$W/$1/data/version-2"
}

zookeeper_is_leader() { # NAME
    zookeeper_say "$1" srvr | grep -qE '^Mode: (leader|standalone)$'
}

zookeeper_leader() {
    local name
    for name in "${!ZOOKEEPER_PID[@]}"; do
        ! zookeeper_is_leader "$name" || echo "$name"
    done
}

zookeeper_dump() {
    zookeeper_say "$(zookeeper_leader | head -n 1)" dump
}

zookeeper_nodes() {
    zookeeper_dump | sed -n 's|^\t/|/|p' | sort
}

zookeeper_session() { # PATH
    zookeeper_dump | P=$1 awk '/^0x/ { session = $1 }
        $0 == "\t" ENVIRON["P"] { sub(/:$/, "", session); print session; exit }'
}

zookeeper_do() {
    timeout "${zookeeper_do_s:-30}" "$zookeeper_python" \
        "$HF_SOURCE/tests/lib/zookeeper.py" "$ZOOKEEPER_HOSTS" "$@"
}

zookeeper_place() { # NAME...
    local name
    ZOOKEEPER_MEMBERS='' ZOOKEEPER_HOSTS=''
    for name; do
        ZOOKEEPER_PORT[$name]=$(free_port)
        ZOOKEEPER_HOSTS+=${ZOOKEEPER_HOSTS:+,}127.0.0.1:${ZOOKEEPER_PORT[$name]}
        [ $# = 1 ] || ZOOKEEPER_MEMBERS+="server.${name#z}=127.0.0.1:$(
            free_port):$(free_port)"$'\n'
    done
    ZOOKEEPER_URL=zookeeper://$ZOOKEEPER_HOSTS
}

# What a server is told of the members; a test may have another one.
zookeeper_members() { # NAME
    printf %s "$ZOOKEEPER_MEMBERS"
}

zookeeper_launch() { # NAME
    local name=$1
    mkdir -p "$W/$name/data"
    echo "${name#z}" >"$W/$name/data/myid"
    zookeeper_members "$name" >"$W/$name/members" # not of a subshell
    printf '%s\n' tickTime=200 initLimit=50 syncLimit=10 maxClientCnxns=0 \
        maxSessionTimeout=120000 forceSync=no preAllocSize=1024 \
        admin.enableServer=false '4lw.commands.whitelist=*' \
        "dataDir=$W/$name/data" "clientPort=${ZOOKEEPER_PORT[$name]}" \
        clientPortAddress=127.0.0.1 "$(<"$W/$name/members")" \
        "${ZOOKEEPER_LINES[@]}" >"$W/$name/zoo.cfg"
    local env=(env)
    if [ -n "$ZOOKEEPER_CLOCK" ]; then
        server_clock_env "$name"
        env+=("${clock_env[@]}")
    fi
    "${env[@]}" java -Xmx128m -Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -XX:-UsePerfData -cp "$zookeeper_jar-jute.jar:$zookeeper_jar.jar:$zookeeper_log" \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -Dznode.container.checkIntervalMs=2000 \
        -Dzookeeper.fastleader.maxNotificationInterval=500 \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$W/$name/zoo.cfg" \
        >>"$W/$name/log" 2>&1 </dev/null &
    ZOOKEEPER_PID[$name]=$!
}

zookeeper_cluster() {
    local n=$1
    shift
    ZOOKEEPER_LINES=() ZOOKEEPER_CLOCK=''
    [ "${1:-}" != --clock ] || { ZOOKEEPER_CLOCK=yes && shift; }
    [ $# = 0 ] || { [ "$1" = -- ] && shift && ZOOKEEPER_LINES=("$@"); } ||
        { echo "zookeeper_cluster: $1?" >&2 && return 1; }
    nodes_start zookeeper "$n"
}

zookeeper_start() {
    zookeeper_cluster 1 "$@"
}

zookeeper_stop() {
    node_stop zookeeper "$1"
}

zookeeper_kill() {
    node_kill zookeeper "$1"
}

zookeeper_pause() {
    node_pause zookeeper "$1"
}

zookeeper_continue() {
    node_continue zookeeper "$1"
}

zookeeper_restart() {
    node_restart zookeeper "$1"
}
