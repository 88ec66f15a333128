# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Three servers of one cluster of which some cannot reach the others, while clients
# reach them all. Set KIND, etcd, consul or zookeeper, and source it after tap.sh: the
# servers are started then, and reach each other by way of partition.c alone, which
# needs no privilege. A cut is silent: connections stay open.
#
#   cut_off NAME         nothing passes between NAME and the others
#   cut_from NAME        what NAME sends is lost; it receives
#   cut_to NAME          what the others send to NAME is lost
#   heal                 all passes; what was held back comes now
#
# One direction is that of what servers write. Where packets are lost, TCP's
# acknowledgements are, too, and the other direction stops soon: cut_off has that.
#
# Cases, with what docs/stores.md says of KIND: the seconds FREE_S, after which a lock is
# free whose holder is cut off, and SERVED_S, after which one is that was released while
# the leader changed.
#
#   follower_is TITLE TTL CUT...  a client of a follower alone holds a lock; one of the
#                        others waits for it; CUT... with the follower's name
#   leader_is TITLE TTL CUT...    the same with the leader; in twice the time
#   follower_heals TTL SECONDS    the same, healed before the lease ends
#   release_goes_on      a client of all servers releases its lock at one that was cut off
#   contenders_begin N   so many, each of which knows all servers
#   contenders_are_cut TITLE leader|follower   and then all is healed
#   contenders_end
#   leader_is_among TITLE TTL CUT...  leader_is beside four contenders and a holder, who
#                        know all servers
#   leader_is_one_way TTL         leader_is_among, in one direction, drawn from the
#                        sources (drawn.sh); HF_TEST_ALL=1: in each
#
# Each command locks a witness file of its lock's name, which shows two at once.
for part in servers holders contend drawn "$KIND"; do
    # shellcheck source=/dev/null
    . "$(dirname "${BASH_SOURCE[0]}")/$part.sh"
done

has_leader() { leader=$("${KIND}_leader") && [ -n "$leader" ]; }

# ---- The network ----------------------------------------------------------------------

coproc PARTITION { exec "$HF_BUILD/tests/lib/partition"; }
PARTITION_ALL=()

partition() { # COMMAND: a line
    local reply=''
    echo "$*" >&"${PARTITION[1]}"
    read -rt 20 reply <&"${PARTITION[0]}"
    [ "$reply" = ok ] || { diag "partition: $*: ${reply:-no answer}" && return 1; }
}

partition_pairs() { # COMMAND...: with each two names
    local from to
    for from in "${PARTITION_ALL[@]}"; do
        for to in "${PARTITION_ALL[@]}"; do
            [ "$from" = "$to" ] || "$@" "$from" "$to" || return
        done
    done
}

# Each member of etcd has a working folder, with the sockets that it takes for its
# peers'. They stay when other ports are chosen.
etcd_folder() {
    echo "$W/$1"
}
etcd_pair() { # FROM TO
    [ -e "$W/$1/$2:1" ] ||
        partition stream "$1" "$2" "$W/$1/$2:1" "$W/$2/$2:1"
}
etcd_doors() {
    partition_pairs etcd_pair
}

# A server of Consul has one address for all others, which do not name themselves.
consul_back() { # NAME: an address that no other test has, most likely
    echo "127.$((1 + tap_shell / 250 % 250)).$((1 + tap_shell % 250)).${1#c}"
}
consul_front() {
    echo "$(consul_back "$1")0"
}
consul_doors() {
    local name port
    for name in "${PARTITION_ALL[@]}"; do
        for port in "${CONSUL_RPC[$name]}" "${CONSUL_SERF[$name]}"; do
            partition stream '?' "$name" "$(consul_front "$name"):$port" \
                "$(consul_back "$name"):$port"
        done
        partition datagram "$name" "$(consul_front "$name"):$port" \
            "$(consul_back "$name"):$port"
    done
}

# A server of ZooKeeper tells others where elections reach it: it binds that address.
zookeeper_back() { # NAME: as long as the other
    echo "127.$((1 + tap_shell / 250 % 250)).$((1 + tap_shell % 250)).10${1#z}"
}
zookeeper_front() {
    echo "127.$((1 + tap_shell / 250 % 250)).$((1 + tap_shell % 250)).20${1#z}"
}
zookeeper_members() { # NAME
    local id rest
    while IFS=: read -r id rest; do
        case $id in
        "server.${1#z}="*) echo "${id%%=*}=$(zookeeper_back "$1"):$rest" ;;
        server.*) echo "${id%%=*}=$(zookeeper_front "z${id:7:1}"):$rest" ;;
        esac
    done <<<"$ZOOKEEPER_MEMBERS"
}
zookeeper_doors() {
    local id name port election
    while IFS=: read -r id port election; do
        [ -n "$id" ] || continue
        name=z${id:7:1}
        partition rewrite "$(zookeeper_back "$name")" "$(zookeeper_front "$name")"
        for port in "$port" "$election"; do
            partition stream '?' "$name" "$(zookeeper_front "$name"):$port" \
                "$(zookeeper_back "$name"):$port"
        done
    done <<<"$ZOOKEEPER_MEMBERS"
}

nodes_placed() { # KIND NAME...
    local kind=$1 name
    shift
    PARTITION_ALL=("$@")
    for name; do
        mkdir -p "$W/$name"
        partition member "$name"
    done
    "${kind}_doors"
}
node_launched() { # KIND NAME
    local -n launched=${1^^}_PID
    partition member "$2" "${launched[$2]}"
}

cut_pair() { # SENDER RECEIVER FROM TO
    [[ $3 != "$1" && $4 != "$2" ]] || partition cut "$3" "$4"
}
cut_off() {
    partition_pairs cut_pair "$1" "$1"
}
cut_from() {
    partition_pairs cut_pair "$1" -
}
cut_to() {
    partition_pairs cut_pair - "$1"
}
heal() {
    partition heal
}

# ---- A follower ------------------------------------------------------------------------

# In place of that of holders.sh. The process that waits keeps the witness, and no other.
cat >"$W/hold" <<X
#!/bin/sh
await=$HF_BUILD/tests/lib/await
X
cat >>"$W/hold" <<'X'
exec 8>>"$2/witness.$HOLDFAST_NAME"
flock -n 8 || echo "two at once: $1 $HOLDFAST_NAME $HOLDFAST_FENCE" >>"$2/trouble"
echo "$1 $HOLDFAST_FENCE" >>"$2/held"
echo "$HOLDFAST_FENCE" >"$2/on.$1"
exec "$await" -g "$2/on.$1"
X

partition_url() { # NAME...: those servers
    local -n ports=${KIND^^}_PORT
    local name hosts=''
    for name; do
        hosts+=${hosts:+,}127.0.0.1:${ports[$name]}
    done
    echo "$KIND://$hosts?connect_timeout=3s"
}

# Sets $follower, $theirs, its URL, and $others, that of the others.
follower_choose() { # [leader]: that one in place of a follower
    local name rest=()
    ok 'there is a leader' wait_until 20 has_leader
    follower=$leader
    for name in "${PARTITION_ALL[@]}"; do
        [[ -n ${1:-} || $name = "$leader" ]] || follower=$name
    done
    for name in "${PARTITION_ALL[@]}"; do
        [ "$name" = "$follower" ] || rest+=("$name")
    done
    theirs=$(partition_url "$follower") others=$(partition_url "${rest[@]}")
}

waits() { is_queued waiter; }

follower_begin() { # TITLE TTL [leader]
    follower_choose "${3:-}"
    begin own -u "$theirs" -t "$2" own
    own=$begun
    ok "$1: a holder, by way of one server" wait_until 20 holds own
    begin waiter -u "$others" -t "$2" -w 200 own
    waiter=$begun
    ok '... and a waiter, by way of the others' wait_until 20 waits
}

# A try that is granted leaves a file: none may be. The reason is the server's, not that
# the client has withdrawn its request.
refuses() { # NAME
    capture timeout 30 holdfast run -n -u "$theirs" "$1" -- touch "$W/granted"
    [[ $code = 69 && $err != *released* ]] || { diag "exit $code: $err" && return 1; }
}
takes_part() {
    timeout 30 holdfast run -n -u "$theirs" -t 20s free -- true
}

no_trouble() {
    is "$(cat "$W/trouble" 2>/dev/null)" '' '... never two at once'
    [ ! -e "$W/granted" ] || fail '... and a try was granted by a follower that was cut off'
}

fence_of() { # NAME: the last one
    sed -n "s/^$1 //p" "$W/held" | tail -n 1
}

follower_is() { # TITLE TTL CUT...
    follower_begin "$1" "$2"
    is_lost_in "$FREE_S" "${@:2}"
}
leader_is() { # TITLE TTL CUT...
    follower_begin "$1" "$2" leader
    is_lost_in $((2 * FREE_S)) "${@:2}"
}

is_lost_in() { # SECONDS TTL CUT...
    local seconds=$1 ttl=$2 began took
    shift 2
    began=$(now_ms)
    "$@" "$follower"
    ok '... it grants no free lock, exit 69' refuses free
    [ ${#contenders[@]} = 0 ] || contenders_are_served '...' "$follower" "$began"
    ok '... the waiter is granted the lock' wait_until 60 holds waiter
    took=$(($(stat -c %.3Y "$W/on.waiter" | tr -d .) - began))
    ok "... in $seconds s, and 20 s of a busy machine" [ $took -le $((seconds * 1000 + 20000)) ]
    diag "granted after $took ms"
    wait "$own"
    is $? 76 '... the first has ended, exit 76'
    like "$(cat "$W/err.own")" 'own: the lock could not be kept' '... and has reported it'
    end waiter
    wait "$waiter"
    is $? 0 '... the lock is released'
    ok '... that server does not grant it' refuses own
    heal
    ok '... it takes part again, once that is healed' wait_until 30 takes_part
    begin own -u "$theirs" -t "$ttl" -w 60 own
    ok '... and grants the lock' wait_until 60 holds own
    ok '... with a greater fence' [ "$(fence_of own)" -gt "$(fence_of waiter)" ]
    end own
    wait "$begun"
    no_trouble
}

# What has come too late for the lease is reported as lost.
follower_heals() { # TTL SECONDS
    local n
    renewed() { grep -c '"event":"renewed"' "$W/events.own"; }
    renews() { [ "$(renewed)" -gt "$n" ]; }
    goes_on_or_is_lost() { renews || is_gone "$own"; }
    follower_begin "cut off for $2 s of a lease of $1" "$1"
    cut_off "$follower"
    sleep "$2" # sleeps: the length of the cut
    heal
    n=$(renewed)
    ok '... the lock is renewed, or its loss reported' wait_until 30 goes_on_or_is_lost
    if renews; then
        diag 'it was kept'
        end own
    fi
    wait "$own"
    like $? '^(0|76)$' '... it has ended'
    ok '... and the waiter is granted the lock' wait_until 60 holds waiter
    end waiter
    wait "$waiter"
    no_trouble
}

# Whether the client that holds `own` has its connection there.
is_at() { # NAME
    local -n its=${KIND^^}_PORT
    grep -q ":${its[$1]}: connected" "$W/err.own"
}

# Long before the lease of the lock ends.
release_goes_on() {
    local began took
    follower_choose
    is_there() { # the client begins at any server
        begin own -v -u "$(partition_url "${PARTITION_ALL[@]}")&node_timeout=200ms" \
            -t 60s own
        wait_until 20 holds own || return
        is_at "$follower" || { end own && wait "$begun" && false; }
    }
    ok 'a holder, of all servers, at a follower' wait_until 60 is_there
    own=$begun
    begin waiter -u "$others" -t 20s -w 200 own
    ok '... and a waiter, by way of the others' wait_until 20 waits
    began=$(now_ms)
    cut_off "$follower"
    end own
    ok '... cut off, it is released by way of another' wait_until 60 holds waiter
    took=$(($(stat -c %.3Y "$W/on.waiter" | tr -d .) - began))
    ok '... in time' [ $took -le 15000 ]
    diag "granted after $took ms"
    wait "$own"
    is $? 0 '... and has ended'
    heal
    end waiter
    wait "$begun"
    no_trouble
}

# ---- Contenders -------------------------------------------------------------------------

contenders_begin() { # N
    HOLDFAST_URL=$(partition_url "${PARTITION_ALL[@]}")
    export HOLDFAST_URL
    contend_start "$1"
    contend_goes_on "$1 contend" 60
}

# The one that is cut off may take itself for it yet.
other_leads() { "${KIND}_leader" | grep -qvx -e "$1"; }

contenders_are_served() { # TITLE NAME SINCE: NAME was cut off then
    local took
    ok "$1 the others have a leader" wait_until 20 other_leads "$2"
    diag "after $(($(now_ms) - $3)) ms"
    contend_goes_on '...' 60
    took=$(($(now_ms) - $3))
    ok "... in $SERVED_S s, and 10 s of a busy machine" [ $took -le $((SERVED_S * 1000 + 10000)) ]
    diag "$((2 * ${#contenders[@]})) grants in $took ms"
}

contenders_are_cut() { # TITLE leader|follower
    local cut began
    follower_choose
    [ "$2" = leader ] && cut=$leader || cut=$follower
    began=$(now_ms)
    cut_off "$cut"
    contenders_are_served "$1:" "$cut" "$began"
    heal
    contend_goes_on '... it is healed' 60
    ok '... each server takes part' wait_until 30 is_back
}

contenders_end() {
    contend_end
}

leader_is_among() { # TITLE TTL CUT...
    local kept
    contenders_begin 4
    begin kept -t 60s kept
    kept=$begun
    ok 'a holder' wait_until 20 holds kept
    leader_is "$@"
    contend_goes_on '... it is healed' 60
    ok '... each server takes part' wait_until 30 is_back
    is "$(grep -c '"event":"lost"' "$W/events.kept")" 0 '... a lock of all servers was never lost'
    gives 75 '... and is refused to another' run -n kept -- true
    end kept
    wait "$kept"
    is $? 0 '... and is released'
    contenders_end
}

leader_is_one_way() { # TTL
    ! drawn_half 0 || leader_is_among 'the leader is not heard' "$1" cut_from
    ! drawn_half 1 || leader_is_among 'the leader hears nothing' "$1" cut_to
}

# ---- The servers ------------------------------------------------------------------------

# Whether each takes part: is_back.
case $KIND in
etcd)
    FREE_S=6 SERVED_S=16 named=etcd
    started=(-- --heartbeat-interval 50 --election-timeout 500)
    is_back() {
        local name
        for name in "${!ETCD_PORT[@]}"; do
            etcd_ctl_at "$name" --command-timeout 3s get / --consistency l || return
        done
    }
    ;;
consul)
    FREE_S=20 SERVED_S=25 named=Consul started=()
    is_back() {
        local name
        for name in "${!CONSUL_PORT[@]}"; do
            consul_api_at "$name" GET 'kv/?keys&consistent' || return
        done
    }
    ;;
zookeeper)
    # ZooKeeper 3.8.0 waits for initLimit, 4 s here, once or several times, where a
    # follower of the new leader lacks writes (its issue 4685).
    FREE_S=20 SERVED_S=45 named=ZooKeeper started=(-- initLimit=20)
    # The partition looks for the process that connects, in the table of IPv4.
    export JAVA_TOOL_OPTIONS=-Djava.net.preferIPv4Stack=true
    is_back() {
        local name
        for name in "${!ZOOKEEPER_PORT[@]}"; do
            zookeeper_say "$name" srvr | grep -q '^Mode: ' || return
        done
    }
    is_at() { # NAME
        local session
        session=$(zookeeper_session "$(zookeeper_nodes | grep '^/lock:own/')")
        [ -n "$session" ] && zookeeper_say "$1" cons | grep -q "sid=$session,"
    }
    ;;
esac
# The reply to a create may come too late for what is left of a session.
[ "$KIND" = etcd ] || CONTEND_MAY='the lock was lost again as soon as it was taken'

"have_$KIND" || skip_all "no $named"
"${KIND}_cluster" 3 "${started[@]}" || {
    fail "$named starts"
    finish
}
