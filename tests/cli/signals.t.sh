#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signals are passed on to the command. During a wait they end it, and no place
# in a queue remains.
. "$(dirname "$0")/../lib/tap.sh"
export HOLDFAST_URL=local://$W/store

# A command that writes down which signals it gets. SIGTERM ends it.
cat >"$W/listen" <<'X'
exec 2>/dev/null
for signal in HUP INT QUIT USR1 USR2 ALRM WINCH CONT RTMIN+1; do
    trap "echo $signal >>$1/log" $signal
done
trap "echo TERM >>$1/log; exit 9" TERM
echo $PPID >"$1/keeper"
touch "$1/ready"
while :; do sleep 0.02; done
X
said() {
    grep -q "^$1$" "$W/log"
}
times() {
    grep -c "^$1$" "$W/log"
}

set -m # else a background job ignores SIGINT and SIGQUIT
holdfast run job -- bash "$W/listen" "$W" 2>"$W/err" &
wrapper=$!
set +m
wait_until 10 test -e "$W/ready"
keeper=$(cat "$W/keeper")
for signal in HUP INT QUIT USR1 USR2 ALRM WINCH CONT RTMIN+1; do
    kill -$signal $wrapper
    ok "SIG$signal is handed on" wait_until 5 said $signal
done
kill -TERM $wrapper
wait $wrapper
is $? 9 'SIGTERM is forwarded, and the code is that of the command'
is "$(cat "$W/err")" '' 'no word of ours'

# The pid that `ls` and every message show is the keeper's.
rm -f "$W/log" "$W/ready"
set -m
holdfast run job -- bash "$W/listen" "$W" 2>"$W/err" &
wrapper=$!
set +m
wait_until 10 test -e "$W/ready"
keeper=$(cat "$W/keeper")
is "$(holdfast ls --json job | grep -o '"pid":[0-9]*' | head -n 1)" \
    "\"pid\":$keeper" 'ls shows the pid of the keeper'
for signal in HUP INT QUIT; do
    kill -$signal "$keeper"
    ok "SIG$signal to the keeper is handed on" wait_until 5 said $signal
done
# As systemd does at a stop or a reload.
for order in "$wrapper $keeper" "$keeper $wrapper"; do
    : >"$W/log"
    # shellcheck disable=SC2086 # two pids
    kill -HUP $order
    wait_until 5 said HUP
    sleep 1 # sleeps: a second one would come half a second later
    is "$(times HUP)" 1 'SIGHUP to both is handed on once'
done
: >"$W/log"
kill -HUP $wrapper
wait_until 5 said HUP
kill -HUP "$keeper"
sleep 1 # sleeps: a second one would come half a second later
is "$(times HUP)" 1 'nor again if the keeper has it after the command'
kill -TERM "$keeper"
wait_until 10 is_gone $wrapper || kill -KILL $wrapper
wait $wrapper
is $? 9 'SIGTERM to the keeper: the code is that of the command'
is "$(cat "$W/err")" '' 'and no word of ours'

# The whole group of the command gets the signal, as from a terminal.
holdfast run job -- sh -c 'sleep 300 & echo $! >"$0"; wait' "$W/child" &
wrapper=$!
wait_until 10 test -s "$W/child"
kill -TERM $wrapper
wait $wrapper
is $? 143 'killed by the forwarded signal: 143'
ok 'its children in the group too' wait_until 5 is_gone "$(cat "$W/child")"

# As the first process of a container.
if unshare -pf --mount-proc true 2>/dev/null; then
    unshare -pf --kill-child --mount-proc holdfast run job -- sh -c \
        'trap "exit 7" TERM; touch "$0"; while :; do sleep 0.02; done' \
        "$W/first" &
    outer=$!
    wait_until 10 test -e "$W/first"
    kill -TERM "$(pgrep -P $outer)"
    wait $outer
    is $? 7 'as process 1: SIGTERM is handed on'

    # It adopts the orphans of a docker exec, and reaps them.
    unshare -pf --kill-child --mount-proc holdfast run job -- \
        sh -c 'touch "$0"; exec sleep 300' "$W/adopts" &
    outer=$!
    wait_until 10 test -e "$W/adopts"
    first=$(pgrep -P $outer)
    for _ in 1 2 3; do
        nsenter -t "$first" -p -m sh -c '(true &)'
    done
    has_keeper_only() { [ "$(pgrep -P "$first" | wc -l)" = 1 ]; }
    ok 'as process 1: no orphan stays a zombie' wait_until 5 has_keeper_only
    kill -TERM "$first"
    wait $outer
fi

# nohup: an ignored signal stays ignored in the command, and is not handed on to one
# that has a handler for it.
(
    trap '' HUP
    exec holdfast run job -- sh -c 'echo $$ >"$0"; exec sleep 300' "$W/nohup"
) &
wrapper=$!
wait_until 10 test -s "$W/nohup"
kill -HUP $wrapper
kill -HUP "$(cat "$W/nohup")"
kill -USR1 $wrapper
wait $wrapper
is $? $((128 + 10)) 'an ignored SIGHUP ends nothing, the next signal does'
(
    trap '' HUP
    # shellcheck disable=SC2016 # of perl
    exec holdfast run job -- perl -e 'my $log = shift;
        sub note { open(my $f, ">>", $log); print $f "@_\n"; close $f }
        $SIG{HUP} = sub { note("HUP") };
        $SIG{USR2} = sub { note("USR2") };
        note("ready");
        sleep 300 while 1;' "$W/handler"
) &
wrapper=$!
wait_until 10 grep -q ready "$W/handler"
kill -HUP $wrapper
kill -HUP "$(pgrep -P $wrapper)"
sleep 1 # sleeps: it would be handed on half a second later
kill -USR2 $wrapper
wait_until 10 grep -q USR2 "$W/handler"
is "$(tail -n +2 "$W/handler")" USR2 'an ignored SIGHUP is not handed on, the next signal is'
kill -TERM $wrapper
wait $wrapper

# Waiting.
holdfast run held -- sh -c 'touch "$0"; exec sleep 300' "$W/held" &
holder=$!
holder_end() {
    kill -9 $holder 2>/dev/null
}
at_exit holder_end
wait_until 10 test -e "$W/held"
for signal in INT TERM HUP QUIT USR1; do
    rm -f "$W/events"
    set -m
    holdfast run --status-fd 9 held -- echo never 9>"$W/events" 2>"$W/err" \
        >"$W/out" &
    waiter=$!
    set +m
    wait_until 10 grep -q waiting "$W/events"
    kill -$signal $waiter
    wait $waiter
    is $? $((128 + $(kill -l $signal))) "SIG$signal while waiting: 128+N"
    is "$(cat "$W/err")" \
        "holdfast: held: stopped by SIG$signal while waiting" \
        "SIG$signal while waiting: one line"
    is "$(cat "$W/out")" '' "SIG$signal while waiting: the command never ran"
done
rm -f "$W/events"
holdfast run --status-fd 9 held -- echo never 9>"$W/events" 2>"$W/err" &
waiter=$!
wait_until 10 grep -q waiting "$W/events"
kill -TERM "$(pgrep -P $waiter)"
wait_until 10 is_gone $waiter || kill -KILL $waiter
wait $waiter
is $? 143 'SIGTERM to the keeper while waiting: 143'
is "$(cat "$W/err")" 'holdfast: held: stopped by SIGTERM while waiting' \
    'SIGTERM to the keeper while waiting: one line'
set -m
holdfast acquire held >"$W/out" 2>"$W/err" &
waiter=$!
set +m
in_poll() {
    [ "$(cat "/proc/$waiter/wchan" 2>/dev/null)" != 0 ] &&
        grep -q '^State:.S' "/proc/$waiter/status"
}
wait_until 10 in_poll
kill -INT $waiter
wait $waiter
is $? 130 'acquire: Ctrl-C while waiting'
is "$(cat "$W/out")" '' 'acquire: nothing is printed'
rm -f "$W/events"
holdfast run --status-fd 9 held -- echo never 9>"$W/events" 2>/dev/null &
waiter=$!
wait_until 10 grep -q waiting "$W/events"
kill -9 $waiter
wait $waiter 2>/dev/null
no_waiter() {
    ! pgrep -f 'run --status-fd 9 held' >/dev/null
}
ok 'kill -9 while waiting: the keeper goes' wait_until 5 no_waiter
kill $holder
wait $holder
ok 'none of them left anything' holdfast run -n held -- true

# Stopped while it waits; then the lock is acquired and the command runs.
holdfast run held -- sh -c 'touch "$0"; exec sleep 300' "$W/held2" &
holder=$!
wait_until 10 test -e "$W/held2"
rm -f "$W/events"
set -m
holdfast run --status-fd 9 held -- touch "$W/ran" 9>"$W/events" &
waiter=$!
set +m
wait_until 10 grep -q waiting "$W/events"
kill -TSTP $waiter
is_stopped() {
    grep -q '^State:.T' "/proc/$waiter/status"
}
ok 'SIGTSTP while waiting stops' wait_until 5 is_stopped
kill $holder
wait $holder
ok 'taken and run meanwhile' wait_until 10 test -e "$W/ran"
kill -CONT $waiter
wait $waiter
is $? 0 'and the code is there when it is continued'

# ---- An end by a signal: the lock stays until the descendants have ended
# A worker that survives the signals that end its parent, until there is a file
# "finish". It writes its pid and the signals that it gets. (60 s at most.)
cat >"$W/worker" <<'X'
#!/bin/bash
dir=$1
for signal in TERM INT HUP; do
    trap "echo $signal >>$dir/got" $signal
done
echo $BASHPID >"$dir/worker"
until [ -e "$dir/finish" ] || [ $SECONDS -gt 60 ]; do sleep 0.02; done
X
chmod +x "$W/worker"

# `begin COMMAND OPTION...`: bash -c COMMAND with the worker's folder as $0.
begin() {
    local command=$1
    shift
    rm -rf "$W/d"
    mkdir "$W/d"
    set -m # else SIGINT is ignored
    holdfast run "$@" job -- bash -c "echo \$\$ >\$0/pid; $command" "$W/d" \
        2>"$W/err" &
    wrapper=$!
    set +m
    wait_until 10 test -s "$W/d/worker" || fail 'the worker starts'
}
worker_gone() {
    is_gone "$(<"$W/d/worker")"
}
worker_end() {
    touch "$W/d/finish"
    wait_until 10 worker_gone
}
at_exit worker_end
got() {
    grep -q "^$1$" "$W/d/got" 2>/dev/null
}

for signal in TERM INT HUP; do
    begin "$W/worker \$0 & wait" -t 60s --kill-grace 30s
    kill -$signal $wrapper
    wait_until 10 is_gone "$(<"$W/d/pid")"
    holdfast run -n job -- true 2>/dev/null
    is $? 75 "SIG$signal: the lock stays while a descendant runs"
    kill -TERM $wrapper
    ok "SIG$signal: the next signal reaches what is left" \
        wait_until 10 got TERM
    touch "$W/d/finish"
    wait $wrapper
    is $? $((128 + $(kill -l $signal))) "SIG$signal: the code is the command's"
    ok "SIG$signal: all ended first" worker_gone
    ok "SIG$signal: the lock is free then" holdfast run -n job -- true
done

begin "trap 'exit 0' TERM; $W/worker \$0 & while :; do sleep 0.02; done" \
    -t 60s --kill-grace 300ms
kill -TERM $wrapper
wait $wrapper
is $? 0 'a command that handles the signal: its code'
ok 'what is left after the grace is killed' worker_gone
is "$(grep ^holdfast "$W/err")" '' 'no word of ours'

begin "setsid $W/worker \$0 & wait" -t 60s --kill-grace 300ms
kill -KILL "$(<"$W/d/pid")"
wait $wrapper
is $? 137 'a command that was killed alone: 137'
ok 'its descendants in another session are ended too' worker_gone

begin "$W/worker \$0 & wait" -t 60s --kill-grace 3s
kill -KILL "$(<"$W/d/pid")"
ok 'its descendants in the group get SIGTERM first' wait_until 10 got TERM
kill -KILL $wrapper
wait $wrapper 2>/dev/null
ok 'holdfast killed meanwhile: they are ended' wait_until 20 worker_gone
ok 'and the lock is free in the end' holdfast run -w 20 job -- true

begin "$W/worker \$0 & wait" -t 6s --kill-grace 3s
kill -TERM $wrapper
wait_until 10 is_gone "$(<"$W/d/pid")"
holdfast break -q --now job
wait $wrapper
is $? 76 'the lock lost meanwhile: 76'
ok 'and all are ended' worker_gone

# As `systemctl stop` does: the command may have ended before the wrapper hands it on.
begin "trap 'exit 0' TERM; $W/worker \$0 & wait" -t 60s --kill-grace 30s
keeper=$(pgrep -P $wrapper)
kill -STOP $wrapper
kill -TERM "$keeper" "$(<"$W/d/pid")"
wait_until 10 is_gone "$(<"$W/d/pid")"
holdfast run -w 1s job -- true 2>/dev/null
is $? 75 'SIGTERM to all, to holdfast last: the lock stays'
kill -CONT $wrapper
worker_end
wait $wrapper
is $? 0 '... until all have ended'

# A reload, and a normal end afterwards.
begin "trap : HUP; $W/worker \$0 & until [ -e \$0/enough ]; do sleep 0.02; done" \
    -t 60s --kill-grace 30s
kill -HUP $wrapper
ok 'SIGHUP to reload' wait_until 10 got HUP
touch "$W/d/enough"
wait $wrapper
is $? 0 'and an end by itself: at once'
ok 'what is left is left alone' kill -0 "$(<"$W/d/worker")"
worker_end

begin "$W/worker \$0 &" -t 60s --kill-grace 30s
wait $wrapper
is $? 0 'a command that ends by itself: at once'
ok 'and what it leaves is left alone' kill -0 "$(<"$W/d/worker")"
ok 'without the lock' holdfast run -n job -- true
worker_end

# ---- A stop where there is no terminal: no shell continues the group
cat >"$W/above" <<'X'
#!/bin/bash
# A process of the same group, as timeout(1): it must go on.
[ -z "$AT_START" ] || export KEYSHIM=start LD_PRELOAD=$AT_START
holdfast run stop -- bash -c 'echo $$ >"$0"; until [ -e "$0.end" ]; do sleep 0.02; done' \
    "$1" &
echo $! >"$1.pid"
until [ -e "$1.end" ]; do
    [ ! -e "$1.go" ] || touch "$1.gone-on"
    sleep 0.02
done
wait $!
X
chmod +x "$W/above"
above_pid=0
above_end() {
    touch "$W/a.end"
    kill -KILL "$above_pid" "$(<"$W/a.pid")" "$(<"$W/a")" 2>/dev/null
}
at_exit above_end
has_state() { # PID STATE
    grep -q "^State:.$2" "/proc/$1/status"
}
# In a group of its own, whose parent is in its session: the kernel stops others.
above_begin() {
    rm -f "$W/a" "$W/a.pid" "$W/a.end" "$W/a.go" "$W/a.gone-on"
    setsid -w bash -c 'set -m; "$0" "$1" & wait $! 2>/dev/null' "$W/above" "$W/a" &
    above_pid=$!
    wait_until 10 test -s "$W/a"
    wait_until 10 test -s "$W/a.pid" # written by another process
    waiter=$(<"$W/a.pid")
}
stops_and_continues() {
    ok 'SIGTSTP without a terminal: the command stops' \
        wait_until 10 has_state "$(<"$W/a")" T
    ok 'and holdfast' wait_until 10 is_stopped
    touch "$W/a.go"
    ok 'a process above goes on' wait_until 10 test -e "$W/a.gone-on"
    kill -CONT "$waiter"
    ok 'SIGCONT continues the command' wait_until 10 has_state "$(<"$W/a")" S
}
above_stops() {
    touch "$W/a.end"
    wait $above_pid
    is $? 0 'and it ends'
}
above_begin
for stopped in "$waiter" "$(<"$W/a")"; do
    rm -f "$W/a.go" "$W/a.gone-on"
    kill -TSTP "$stopped"
    stops_and_continues
done
above_stops

# The same when the keeper has started the command, and is late.
if ! is_sanitized "$HF_BUILD/holdfast"; then
    export AT_START=$HF_BUILD/tests/lib/keys_shim.so
    above_begin
    stops_and_continues
    above_stops
fi
finish
