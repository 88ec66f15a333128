#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# acquire --while-pid: a lock that lives as long as another process.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 180

# A script that holds NAME by itself, until a file tells it to continue.
cat >"$W/script" <<'X'
#!/bin/bash
name=$1 folder=$2
shift 2
line=$(holdfast acquire "$@" --while-pid $$ "$name" 2>"$folder/err.$name") || exit
echo "$line" >"$folder/line.$name"
until [ -e "$folder/go.$name" ]; do sleep 0.02; done
X
chmod +x "$W/script"

scripts=()
end_scripts() {
    local pid
    for pid in "${scripts[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
}
at_exit end_scripts
begin() { # NAME OPTION...
    rm -f "$W"/*."$1"
    "$W/script" "$1" "$W" "${@:2}" &
    script=$!
    scripts+=("$script")
    wait_until 15 test -s "$W/line.$1"
}
is_free() {
    holdfast run -n "$1" -- true 2>/dev/null
}
is_held() {
    ! is_free "$1"
}
# The keeper of a name, by the pid in its owner.
keeper_of() {
    cut -d: -f3 "$W/line.$1"
}
# The lease ends later than $lease_end, which is set to a later time than it ends
# now: neither depends on how long this takes.
is_renewed() { # NAME
    local asked left
    asked=$(now_ms)
    left=$(holdfast ls --json "$1" | jq .remaining_ms)
    [ $((asked + left)) -gt "$lease_end" ] || return 1
    lease_end=$(($(now_ms) + left))
}
is_known() {
    grep -qE "$1" "$W/err.$2"
}

# SIGTERM is sent when a quarter of a lease is left, and the renewal is due after
# a third: the machine may stand still for 3 s in between. A keeper that asks the
# server learns of a loss when it renews.
lease_ms=8000

test_store() { # TITLE
    local title=$1 keeper
    begin job -t ${lease_ms}ms
    lease_end=$(($(now_ms) + lease_ms))
    ok "$title: a script acquires for its own life" test -s "$W/line.job"
    like "$(cat "$W/line.job")" '^[0-9a-f]{32}:[^ @]+@[0-9]+/'$lease_ms' [0-9]+ [0-9.]+$' \
        "$title: prints the line, and the command substitution ends"
    keeper=$(keeper_of job)
    is "$(cat "/proc/$keeper/comm")" holdfast-keeper "$title: its keeper in ps"
    isnt "$(ps -o sid= -p "$keeper")" "$(ps -o sid= -p $script)" \
        "$title: has a session of its own"
    is "$(readlink "/proc/$keeper/fd/1")" /dev/null "$title: and no stdout"
    ok "$title: is renewed" wait_until 10 is_renewed job
    ok "$title: and again" wait_until 10 is_renewed job
    touch "$W/go.job"
    wait "$script"
    is "$?" 0 "$title: the script ends by itself"
    ok "$title: and the lock with it" wait_until 5 is_free job
    ok "$title: and the keeper" wait_until 5 is_gone "$keeper"
    is "$(cat "$W/err.job")" '' "$title: without a word"

    # SIGKILL.
    begin job -t 20s
    keeper=$(keeper_of job)
    kill -9 "$script"
    wait "$script" 2>/dev/null
    ok "$title: the script is killed: the lock is free" wait_until 4 is_free job
    ok "$title: and the keeper gone" wait_until 5 is_gone "$keeper"

    # Released by the script. "At once" is long before the lease ends.
    begin job -t 60s
    keeper=$(keeper_of job)
    HOLDFAST_OWNER=$(cut -d' ' -f1 "$W/line.job") capture holdfast release job
    is "$code:$err" 0: "$title: release"
    ok "$title: release: free at once" wait_until 4 is_free job
    ok "$title: release: the keeper ends" wait_until 5 is_gone "$keeper"
    ok "$title: release: the script goes on" kill -0 "$script"
    is "$(cat "$W/err.job")" '' "$title: release: is no loss"
    HOLDFAST_OWNER=$(cut -d' ' -f1 "$W/line.job") capture holdfast release job
    is "$code" 76 "$title: release again: 76"
    touch "$W/go.job"
    wait "$script"
    is "$?" 0 "$title: release: the script ends by itself"

    # Broken.
    begin job -t ${lease_ms}ms
    keeper=$(keeper_of job)
    HOLDFAST_OWNER=$(cut -d' ' -f1 "$W/line.job") capture holdfast release other
    is "$code" 76 "$title: release of another name: 76"
    holdfast break --now job >/dev/null
    wait "$script"
    is "$?" 143 "$title: broken: the script gets SIGTERM"
    ok "$title: broken: the keeper ends" wait_until 5 is_gone "$keeper"
    like "$(cat "$W/err.job")" \
        "^holdfast: job: the lock .*; process $script was sent SIGTERM\$" \
        "$title: broken: and says why"
    begin job -t ${lease_ms}ms --on-lost warn
    keeper=$(keeper_of job)
    holdfast break --now job >/dev/null
    ok "$title: --on-lost warn: a message" \
        wait_until 5 is_known "process $script goes on" job
    ok "$title: --on-lost warn: the keeper ends" wait_until 5 is_gone "$keeper"
    ok "$title: --on-lost warn: the script goes on" kill -0 "$script"
    kill -9 "$script"
}

export HOLDFAST_URL=local://$W/store
test_store embedded
server_start one
HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=3s&connect_timeout=10s"
test_store 'one redis'

# Before the lease ends, if the store is down: a quarter of it, 3 s, before.
begin away -t 12s
start=$(now_ms)
server_kill one
wait "$script"
is "$?" 143 'a store that is away: SIGTERM'
ms=$(($(now_ms) - start))
ok "before the lease ends ($ms ms)" test $ms -lt 12000
like "$(cat "$W/err.away")" '^holdfast: away: the lock could not be kept \(.*\); process' \
    'and why'

# Processes that it does not affect.
HOLDFAST_URL=local://$W/store
begin child -t ${lease_ms}ms
keeper=$(keeper_of child)
child=$(pgrep -P "$script" -x sleep)
kill -TERM "$keeper" 2>/dev/null
ok 'SIGTERM to the keeper does not take the lock away' is_held child
kill -KILL "$keeper"
wait_until 5 is_gone "$keeper"
ok 'the keeper is killed: the lock lasts until the lease is over' is_held child
ok 'and no longer' wait_until 5 is_free child
ok 'the script goes on' kill -0 "$script"
kill -9 "$script"

# A keeper that stands still until the lease is over: as late as it is.
begin still -t 2s
keeper=$(keeper_of still)
kill -STOP "$keeper"
ok 'the keeper is stopped: the lease ends' wait_until 10 is_free still
kill -CONT "$keeper"
wait "$script"
is "$?" 143 'the keeper is continued: SIGTERM'
like "$(cat "$W/err.still")" \
    "^holdfast: still: the lock is lost: .* was stopped; process $script was sent SIGTERM\$" \
    'and the reason'

# Refusals.
capture holdfast acquire --while-pid 4194303 job
is "$code" 64 'a process that is not there'
like "$err" '^holdfast: --while-pid 4194303: no such process$' 'says so'
capture holdfast acquire --while-pid x job
is "$code" 64 'no number'
capture holdfast acquire --on-lost warn job
is "$code" 64 '--on-lost alone'
holdfast run held -- sleep 60 &
holder=$!
scripts+=("$holder")
wait_until 5 is_held held
capture holdfast acquire -n --while-pid $$ held
is "$code:$out" 75: 'a try of a name that is held: 75'
like "$err" '^holdfast: held: .*held by' 'and one line'
capture holdfast acquire -w 200ms -E 3 --while-pid $$ held
is "$code" 3 'a wait that is over, with -E'
sleep 60 &
victim=$!
holdfast acquire --while-pid $victim held >"$W/out" 2>"$W/err" &
waiter=$!
is_waiting() {
    holdfast ls --json held | grep -q '"waiting":1'
}
ok 'a waiter' wait_until 10 is_waiting
kill -9 $victim
wait $waiter
is $? 64 'its process ends: so does the wait'
like "$(cat "$W/err")" 'ended while waiting' 'and says so'
holdfast acquire --while-pid $$ held >"$W/out" 2>"$W/err" &
waiter=$!
wait_until 10 is_waiting
kill -TERM $waiter
wait $waiter
is $? 143 'a signal ends the wait'
is "$(cat "$W/out")" '' 'and nothing is printed'
is_alone() {
    holdfast ls --json held | grep -q '"waiting":0'
}
ok 'and no client waits' wait_until 5 is_alone
kill -TERM "$holder"
wait "$holder"
ok 'nor holds' wait_until 5 is_free held
capture sh -c 'holdfast acquire --while-pid $$ full >/dev/full'
is "$code" 70 'a full stdout: 70'
ok 'is given back' wait_until 5 is_free full
is "$(timeout 20 bash -c 'x=$(holdfast acquire --while-pid $$ both 2>&1); echo "${x%%:*}" | wc -c')" \
    33 'stderr on the same pipe does not hang the shell'
ok 'free with it' wait_until 5 is_free both

# A program that reads stderr to its end, through a pipe or a socket pair.
cat >"$W/reader" <<'X'
import os, socket, subprocess, sys
ask = ["holdfast", "acquire", "--while-pid", str(os.getpid())]
run = subprocess.run(ask + ["reader"], capture_output=True, timeout=15)
print(run.returncode, len(run.stdout) > 0, run.stderr)
ours, its = socket.socketpair()
ours.settimeout(15)
run = subprocess.run(ask + ["reader2"], stdout=its, stderr=its)
its.close()
line = b""
while more := ours.recv(4096):
    line += more
print(run.returncode, line.endswith(b"\n"))
for name in "reader", "reader2":
    print(subprocess.call(["holdfast", "ls", "-q", name]))
X
capture timeout 60 python3 "$W/reader"
is "$code:$out" "0:0 True b''
0 True
0
0" 'stderr is closed for a program that reads to its end'
ok 'free with it' wait_until 5 is_free reader
finish
