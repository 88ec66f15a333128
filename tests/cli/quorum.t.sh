#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Servers that lose their data and clocks that are wrong, with a majority of
# them: the guarantees that the command keeps, and their limits.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 180

# ---- Three empty servers just started --------------------------------------

servers_start 3
new="$URLS?max_ttl=10s"
capture holdfast run -n -t 5s -u "$new" x -- echo ran
is "$code:$out" 69: 'new servers, -n: 69'
like "$err" 'shows no trace of Holdfast \(new, restarted or emptied\): locks from before may still be held, so it counts in [0-9]+ s' \
    'new servers: says why, and for how long'
unlike "$err" 'doctor' 'and proposes nothing that could break a promise'
start=$(now_ms)
capture holdfast run -w 40 -t 5s -u "$new" x -- echo ran
took=$(($(now_ms) - start))
is "$code:$out" '0:ran' 'new servers: granted when the time is over'
ok "not before ($took ms)" test $took -ge 7000
# A loaded machine is later, but does not start a new quarantine of 10 s.
ok 'nor long after' test $took -le 17000
ok 'one more server' server_start young
capture holdfast run -w 3 -t 5s -u "${SERVER_URL[young]}?max_ttl=10s" x -- true
like "$code:$err" '^69:.*it counts in [1-8] s' \
    'a wait of three seconds ends with how long it takes by then'

# ---- Restarted empty under a holder ----------------------------------------

# The job writes a line while it runs; the other job checks for that.
cat >"$W/job" <<'JOB'
echo $$ >"$1"
exec sleep 60
JOB
holdfast run -t 8s -u "$new" job -- sh "$W/job" "$W/pid" 2>"$W/err" &
holder=$!
ok 'a job runs' wait_until 5 test -s "$W/pid"
server_kill s1
server_restart s1
capture holdfast run -n -t 5s -u "$new" job -- echo stolen
is "$code:$out" 75: 'one server restarted empty: still held by the others'
server_kill s2
server_restart s2
capture holdfast run -n -t 5s -u "$new" job -- echo stolen
is "$code:$out" 69: 'a majority restarted empty: no lock is granted'
cat >"$W/next" <<'NEXT'
kill -0 "$(cat "$1")" 2>/dev/null && echo overlap || echo alone
NEXT
capture holdfast run -w 30 -t 5s -u "$new" job -- sh "$W/next" "$W/pid"
is "$code:$out" 0:alone 'the next one runs when the job is gone'
wait $holder
is $? 76 'the job was ended: exit 76'
server_stop s1
server_stop s2
server_stop s3

# ---- Only reads, with the URL of one of three --------------------------------
# A marker would declare the server to be a store of one.
servers_start 3
three="$URLS?max_ttl=10s"
one="${SERVER_URL[s1]}?max_ttl=10s"
servers_declare "$three"
server_cli s1 flushall >"$W/log"
read_only() { # TITLE CODES ARG...
    local title=$1 codes=$2
    shift 2
    capture timeout 20 holdfast "$@"
    like "$code" "^($codes)\$" "$title"
    is "$(server_cli s1 exists hf:node)" 0 "$title: declares nothing"
}
for query in '' '&quarantine=off'; do
    read_only "ls$query" 0 ls -u "$one$query"
    read_only "ls NAME$query" '0|69' ls -u "$one$query" job
    read_only "get$query" '69|1' get -u "$one$query" job
    read_only "doctor$query" '1|2' doctor -u "$one$query"
done
timeout 20 holdfast ls --follow -u "$one" >"$W/followed" 2>&1 &
follower=$!
has_scanned() {
    server_cli s1 client list | grep -q 'cmd=scan'
}
ok 'ls --follow has begun' wait_until 10 has_scanned
is "$(server_cli s1 exists hf:node)" 0 'ls --follow: declares nothing'
capture holdfast run -n -t 5s -u "$three" job -- echo ran
is "$code:$out" 0:ran 'the URL of all three is right'
is "$(server_cli s1 hget hf:node nodes)" 3 'and declares a store of three'
kill $follower 2>/dev/null
wait $follower
server_cli s1 flushall >"$W/log"
capture holdfast run -n -t 5s -u "$one&quarantine=off" job -- echo ran
is "$code:$out" 0:ran 'a lock declares: quarantine=off'
is "$(server_cli s1 hget hf:node nodes)" 1 'a store of one'
server_cli s1 flushall >"$W/log"
capture holdfast run -n -t 5s -u "$one" job -- echo ran
is "$code:$out" 69: 'a lock declares, and waits for the quarantine'
is "$(server_cli s1 hget hf:node nodes)" 1 'a store of one'
server_stop s1
server_stop s2
server_stop s3

# ---- A durable server needs no quarantine ----------------------------------

server_start safe --aof always
# Each reply follows a sync of the disk: long timeouts.
safe="${SERVER_URL[safe]}?max_ttl=60s&node_timeout=10s&connect_timeout=10s"
servers_declare "$safe"
capture holdfast acquire -t 60s -u "$safe" kept
owner=${out%% *}
server_kill safe
server_restart safe
capture holdfast run -n -t 60s -u "$safe" kept -- echo stolen
is "$code:$out" 75: 'appendfsync always: the lock survives a kill -9'
[ "$code" = 75 ] || diag "$err"
ok 'and its owner gives it back' \
    holdfast release -u "$safe" kept --owner "$owner"
capture holdfast run -n -t 60s -u "$safe" kept -- echo ran
is "$code:$out" 0:ran 'at once, without quarantine'
server_stop safe

# ---- FLUSHALL under a holder ------------------------------------------------

server_start flushed
flushed="${SERVER_URL[flushed]}?max_ttl=10s"
servers_declare "$flushed"
rm -f "$W/pid"
holdfast run -t 3s -u "$flushed" job -- sh "$W/job" "$W/pid" 2>"$W/err" &
holder=$!
ok 'a job runs' wait_until 5 test -s "$W/pid"
server_cli flushed flushall >/dev/null
# The holder repairs its key if the clock floor allows it; otherwise it loses
# the lock.
capture holdfast run -w 3 -t 3s -u "$flushed" job -- sh "$W/next" "$W/pid"
like "$code:$out" '^(69:|75:|0:alone)$' 'FLUSHALL: no command runs beside the job'
kill $holder 2>/dev/null
wait $holder
like $? '^(143|76)$' 'FLUSHALL: the job was kept or ended'
server_stop flushed

# ---- One clock of five is stepped by an hour ---------------------------------

# These cases test the votes of nodes, and not their speed: a long node_timeout.
servers_start 5 --clock
lying="$URLS?max_ttl=600s&node_timeout=1s"
servers_declare "$lying"

# Held at those of five that are not paused.
held_without() { # SERVER...
    local name
    for name in "$@"; do
        server_pause "$name"
    done
    capture holdfast acquire -t 25s -w 20 -u "$lying" clock
    for name in "$@"; do
        server_resume "$name"
    done
    read -r owner fence _ <<<"$out"
}
held_without s5
is "$code" 0 'held with four votes'
server_clock s1 3600
capture holdfast run -n -u "$lying" clock -- echo overlap
is "$code:$out" 75: 'four votes, one clock +1 h: no second grant'
server_clock s1 0
holdfast release -q -u "$lying" clock --owner "$owner"
held_without s4 s5
is "$code" 0 'held with three votes, a bare majority'
server_clock s1 3600
capture holdfast acquire -n -t 25s -u "$lying" clock
is "$code" 0 'three votes, one clock +1 h: the documented overlap'
read -r second later _ <<<"$out"
ok 'but the fences are in order' test "$later" -gt "$fence"
capture holdfast extend -u "$lying" clock --owner "$owner"
is "$code" 76 'and the first cannot be extended any more'
server_clock s1 0
holdfast release -q -u "$lying" clock --owner "$second"

# ---- acquire takes a lock that is not renewed: it asks more than a majority ----

have() { # SERVER...
    local name
    for name in "$@"; do
        [ "$(server_cli "$name" exists lock:given)" = 1 ] || return 1
    done
}
patient="$URLS?max_ttl=600s&node_timeout=10s&connect_timeout=60s"
# A server that connects later accepts the lock only while its clock floor,
# which advances in steps of 4.2 s, is below the fence: so their clocks stand
# still.
server_clock_stop s1 s2 s3 s4 s5
server_pause s5
holdfast acquire -t 300s -u "$patient" given >"$W/line" &
taking=$!
ok 'four of five have it' wait_until 10 have s1 s2 s3 s4
since=$(now_ms)
is "$(cat "$W/line")" '' 'acquire waits for the fifth, which may still answer'
waited=$(($(now_ms) - since))
server_resume s5
wait $taking
is $? 0 'and ends when that has'
ok 'with all five' have s1 s2 s3 s4 s5
read -r owner fence left <"$W/line"
ok "the remaining time is without the wait ($left, $waited ms)" \
    test "${left/./}" -le $((296998 - waited))
server_kill s5
server_pause s4
capture holdfast extend -t 20s -u "$patient" given --owner "$owner"
is "$code" 0 'a node that is down is not waited for, a silent one for a timeout'
server_resume s4
server_kill s4
holdfast release -q -u "$patient" given --owner "$owner"
capture holdfast extend -t 20s -u "$patient" given --owner "$owner"
is "$code" 76 'what was released is lost, though two of five are down'
finish
