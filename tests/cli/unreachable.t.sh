#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stores that cannot be reached: the exit code, the time that it takes, and the
# message.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/users.sh"
# timeout: 180

# On a loaded machine a process begins and ends later than alone, by less than
# this.
late_ms=3000

# COMMAND ends with CODE within MS, with one line that matches.
ends() { # CODE MS REGEX TITLE COMMAND...
    local want=$1 limit=$2 regex=$3 title=$4 start took
    shift 4
    start=$(now_ms)
    capture timeout 30 "$@"
    took=$(($(now_ms) - start))
    is "$code" "$want" "$title: exit $want"
    ok "$title: in time ($took of $limit ms)" test $took -le $((limit + late_ms))
    like "$err" "^holdfast: [^"$'\n'"]*$" "$title: one line"
    like "$err" "$regex" "$title: says why"
    is "$out" '' "$title: the command does not run"
}

# A server that accepts connections and never replies, one that is not Redis,
# one cut off by a firewall that drops packets, one that refuses connections.
hanging=$(free_port)
timeout 170 socat "TCP-LISTEN:$hanging,bind=127.0.0.1,fork,reuseaddr" \
    SYSTEM:'sleep 170' 2>/dev/null &
hanging_pid=$!
http=$(free_port)
timeout 170 socat "TCP-LISTEN:$http,bind=127.0.0.1,fork,reuseaddr" \
    SYSTEM:'printf "HTTP/1.1 400 Bad Request\r\n\r\n"; cat' >/dev/null 2>/dev/null &
http_pid=$!
deaf=$(free_port)
timeout 170 "$HF_BUILD/tests/lib/blackhole" "$deaf" >"$W/deaf" &
deaf_pid=$!
refusing=$(free_port)
stop_all() {
    kill $hanging_pid $http_pid $deaf_pid
    pkill -P $hanging_pid
    pkill -P $http_pid
} 2>/dev/null
at_exit stop_all
listens() {
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
wait_until 5 listens "$hanging"
wait_until 5 listens "$http"

url() {
    echo "redis://127.0.0.1:$1?quarantine=off"
}
wait_until 10 grep -q deaf "$W/deaf"
ends 69 1000 "127.0.0.1:$refusing.*refused" '-n, refusing' \
    holdfast run -n -u "$(url "$refusing")" x -- echo no
ends 69 1100 "127.0.0.1:$hanging" '-n, hanging' \
    holdfast run -n -u "$(url "$hanging")" x -- echo no
ends 69 1100 "127.0.0.1:$http" '-n, not a Redis' \
    holdfast run -n -u "$(url "$http")" x -- echo no
ends 69 1100 "127.0.0.1:$deaf no connection within" '-n, black-holed' \
    holdfast run -n -u "$(url "$deaf")" x -- echo no
ends 69 1100 "refused.*127.0.0.1:$hanging|127.0.0.1:$hanging.*refused" \
    '-n, three that are dead in three ways' \
    holdfast run -n -u \
    "redis://127.0.0.1:$refusing,127.0.0.1:$hanging,127.0.0.1:$deaf?quarantine=off" \
    x -- echo no
like "$err" "127.0.0.1:$deaf" 'each is named'
ends 69 1100 "no such file|No such file|refused" '-n, no socket' \
    holdfast run -n -u "redis+unix://$W/none?quarantine=off" x -- echo no
ends 69 2100 "127.0.0.1:$hanging" '-w 1, hanging' \
    holdfast run -w 1 -u "$(url "$hanging")" x -- echo no
ends 69 5500 "127.0.0.1:$hanging" 'waiting for ever, never reached: 5 s' \
    holdfast run -u "$(url "$hanging")" x -- echo no
ends 69 5500 "127.0.0.1:$refusing" 'waiting for ever, refused: 5 s' \
    holdfast run -u "$(url "$refusing")" x -- echo no
ends 69 1100 "127.0.0.1:$hanging" 'acquire -n' \
    holdfast acquire -n -u "$(url "$hanging")" x
ends 69 1500 "127.0.0.1:$hanging" 'ls' holdfast ls -u "$(url "$hanging")"
ends 69 1500 "127.0.0.1:$hanging" 'release' \
    holdfast release -u "$(url "$hanging")" x \
    --owner "$(printf '0%.0s' {1..32}):h:1:1@5"
ends 69 1100 "127.0.0.1:$hanging" '--once' \
    holdfast run --once 1h -u "$(url "$hanging")" x -- echo no

# --on-unreachable run
capture holdfast run -n --on-unreachable run -u "$(url "$refusing")" x -- \
    sh -c 'echo "ran $HOLDFAST_FENCE [$HOLDFAST_OWNER]"; exit 3'
is "$code:$out" '3:ran 0 []' '--on-unreachable run: with HOLDFAST_FENCE=0'
like "$err" '^holdfast: x: running WITHOUT the lock: .*refused[^'$'\n'']*$' \
    '--on-unreachable run: says so'
server_start pw -- --requirepass secret
ends 77 1500 '.' 'wrong password is not unreachable' \
    holdfast run -n --on-unreachable run \
    -u "${SERVER_URL[pw]}?quarantine=off" x -- echo no

# The socket of a server that runs, which this user may not open.
server_start shut
chmod 755 "$W" "$W/shut"
chmod 0 "${SERVER_SOCK[shut]}"
shut="${SERVER_URL[shut]}?quarantine=off"
no_right="$W/shut/s cannot connect: no permission for the socket; add the user to its group"
ends 77 1500 "$no_right" 'no right to the socket, -n' \
    "${as_other[@]}" holdfast run -n -u "$shut" x -- echo no
ends 77 1500 "$no_right" 'no right to the socket, a wait' \
    "${as_other[@]}" holdfast run -u "$shut" x -- echo no
ends 77 1500 "$no_right" 'no right to the socket, --on-unreachable run' \
    "${as_other[@]}" holdfast run --on-unreachable run -u "$shut" x -- echo no
ends 77 1500 "$no_right" 'no right to the socket, --once' \
    "${as_other[@]}" holdfast run --once 1h --on-unreachable run -u "$shut" x -- echo no
ends 77 1500 "$no_right" 'no right to the socket, ls' \
    "${as_other[@]}" holdfast ls -u "$shut"
ends 77 1500 "$no_right" 'no right to the socket, acquire' \
    "${as_other[@]}" holdfast acquire -n -u "$shut" x
chmod 700 "${SERVER_SOCK[shut]}"

server_start short --tcp
short="${SERVER_URL[short]}?quarantine=off&node_timeout=3s"
holdfast run -u "$short" x -- sleep 60 &
holder=$!
at_exit eval "kill $holder; wait $holder"
ok 'a lock is held' wait_until 10 holdfast ls -q -u "$short" x
server_cli short config set min-replicas-to-write 3 >/dev/null
ends 69 2500 'NOREPLICAS' 'nor is a server that answers with an error' \
    holdfast run -n --on-unreachable run -u "$short" x -- echo no
ends 69 2500 'NOREPLICAS' '... also of a name that is free' \
    holdfast run -n --on-unreachable run -u "$short" free -- echo no
capture timeout 20 holdfast run -v -w 1s -u "$short" free -- echo no
is "$code" 69 'the same after a wait: exit 69'
like "$err" 'no majority: 127\.0\.0\.1:[0-9]+: NOREPLICAS [^'$'\n'']*; try 2 ' \
    'each try says its reason'
ends 78 1500 'DB index is out of range' 'a database that is not there' \
    holdfast run -n --on-unreachable run -u "${short/\?//99?}" x -- echo no

# The embedded store on a disk that is full, or read-only, as after an error.
disk() { # OPTIONS-OF-A-REMOUNT COMMAND : in a mount namespace
    capture timeout 30 unshare -m sh -c '
        mount -t tmpfs -o size=64k,mode=700 none "$0" && shift 0 &&
        { [ "$1" = full ] || mount -o remount,"$1" "$0"; } && eval "$2"' \
        "$W/disk" "$1" "$2"
}
mkdir "$W/disk"
if unshare -m true 2>/dev/null; then
    for how in full ro; do
        disk $how 'holdfast run -u "local://$0/store" x -- echo no'
        is "$code:$out" 69: "$how: the store cannot be used"
        disk $how 'holdfast run --on-unreachable run -u "local://$0/store" \
            x -- sh -c "echo ran \$HOLDFAST_FENCE [\$HOLDFAST_OWNER]; exit 3"'
        is "$code:$out" '3:ran 0 []' "$how: --on-unreachable run"
        like "$err" '^holdfast: x: running WITHOUT the lock: cannot [^'$'\n'']*$' \
            "$how: says so"
        disk $how 'holdfast run --on-unreachable run --once 1h --min-hold 1h \
            -u "local://$0/store" x -- echo ran'
        is "$code:$out" '0:ran' "$how: with a period and a reservation"
        disk $how 'holdfast run --on-unreachable run --max-hold 100ms \
            -u "local://$0/store" x -- sleep 60'
        is "$code" 124 "$how: with a limit"
        disk $how 'holdfast run --on-unreachable run -t 4s --kill-grace 3s \
            -u "local://$0/store" x -- echo no'
        is "$code:$out" 64: "$how: options that do not fit"
    done
else
    skip 'a disk that cannot be written' 'needs mount namespaces'
fi

# A server that can never serve this URL: one of a store of three. It is reached,
# and a later try is of no use, whatever the command asks.
server_start part
part="${SERVER_URL[part]}?quarantine=off&node_timeout=3s"
server_start second
server_start third
holdfast run -n -u "$part ${SERVER_URL[second]} ${SERVER_URL[third]}" x -- true
belongs='/s belongs to a store of 3 servers'
owner="$(printf '0%.0s' {1..32}):h:1:1@5/30000"
ends 78 3500 "$belongs" 'one of three: --on-unreachable run' \
    holdfast run -n --on-unreachable run -u "$part" x -- echo no
ends 78 3500 "$belongs" 'one of three: --once --on-unreachable run' \
    holdfast run --once 1h --on-unreachable run -u "$part" x -- echo no
ends 78 3500 "$belongs" 'one of three: --once' \
    holdfast run --once 1h -u "$part" x -- echo no
while read -r title arguments; do
    # shellcheck disable=SC2086 # several words
    ends 78 3500 "$belongs" "one of three: $title" \
        holdfast -u "$part" $arguments
done <<END
ls ls
ls-of-a-name ls x
ls-q ls -q x
ls-json ls --json
ls-follow ls --follow
break break x
break-now break --now x
get get x
put put x 1
acquire acquire -n x
extend extend x --owner $owner
release release x --owner $owner
END

# A minority that is down costs no time.
servers_start 3
export HOLDFAST_URL="$URLS?quarantine=off"
server_kill s1
start=$(now_ms)
capture holdfast run -w 20 x -- echo ran
is "$code:$out:$err" '0:ran:' 'one of three dead'
start=$(($(now_ms) - start))
ok "without waiting for it ($start ms)" test $start -lt $((1000 + late_ms))
server_pause s2
ends 69 1100 'no majority' 'two of three dead' holdfast run -n x -- echo no
server_resume s2
ok 'one of three dead again' holdfast run -w 20 x -- true

# A minority that is reached may know the holder: beside it nothing runs. The lease
# is the longest, since no majority renews it meanwhile.
holdfast run -t 60s --kill-grace 1s x -- sh -c 'touch "$0"; exec sleep 300' "$W/beside" &
holder=$!
ok 'a lock is held at two of three' wait_until 10 test -e "$W/beside"
server_pause s2
ends 69 3000 's2/s' 'one of three reached, -w --on-unreachable run' \
    holdfast run -w 1s --on-unreachable run x -- echo no
ends 75 1500 'held by' 'one of three reached, -n --on-unreachable run' \
    holdfast run -n --on-unreachable run x -- echo no
ends 69 3000 's2/s' 'one of three reached, a name that is free' \
    holdfast run -w 1s --on-unreachable run free -- echo no
server_pause s3
capture holdfast run -w 1s --on-unreachable run x -- echo ran
is "$code:$out" 0:ran 'none of three reached'
server_resume s3
server_resume s2
kill $holder
wait $holder

# Reached once: the wait continues through an outage.
holdfast run x -- sh -c 'touch "$0"; exec sleep 300' "$W/holds" &
holder=$!
wait_until 10 test -e "$W/holds"
holdfast run --status-fd 9 x -- echo ran >"$W/out" 2>"$W/err" 9>"$W/events" &
waiter=$!
wait_until 10 grep -q waiting "$W/events"
kill $holder
wait $holder
wait $waiter
is "$?:$(cat "$W/out"):$(cat "$W/err")" '0:ran:' 'a waiter for a held lock'

# ---- The lease cannot be kept
holdfast run -t 6s --kill-grace 1s --status-fd 9 x -- sh -c \
    'exec 2>/dev/null; trap "echo term >>$0" TERM; echo $$ >>$0
     while :; do : >"$1"; sleep 0.05; done' \
    "$W/held" "$W/alive" 2>"$W/err" 9>"$W/events" &
holder=$!
wait_until 10 test -s "$W/held"
read -r pid <"$W/held"
start=$(now_ms)
server_pause s2
server_pause s3
wait $holder
code=$?
# The last time that the command was seen to run; we, and holdfast, may run later.
start=$(($(date -r "$W/alive" +%s%3N) - start))
is "$code" 76 'stores stopped: exit 76'
ok "before the lease is over ($start ms)" test $start -le 6000
ok 'the command is gone' is_gone "$pid"
is "$(sed -n 2p "$W/held")" term 'it had SIGTERM first'
like "$(cat "$W/err")" \
    '^holdfast: x: the lock could not be kept \(.*s2/s: [^'$'\n'']*$' \
    'one line that names the nodes'
events=$(sed 's/^{"event":"\([a-z-]*\)".*/\1/' "$W/events" | uniq | xargs)
like "$events" '^waiting acquired (renewed )?at-risk lost$' "events: $events"
server_resume s2
server_resume s3

# A server that lost all data under a holder, and granted the lock to another.
server_start one
HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off"
holdfast run -t 1s y -- sh -c 'echo $$ >$0; exec sleep 300' "$W/y" 2>"$W/err" &
holder=$!
wait_until 10 test -s "$W/y"
server_cli one set lock:y foreign PX 60000 >/dev/null
wait $holder
is $? 76 'taken from under us: 76'
is "$(server_cli one get lock:y)" foreign 'and left to the new holder'
capture holdfast run -n y -- true
is "$code" 75 'a foreign holder is respected'
server_cli one del lock:y >/dev/null
server_cli one hset lock:y a 1 >/dev/null
capture holdfast run -n y -- true
is "$code" 75 'a key of a foreign type is held by another kind of client'
finish
