#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signals are passed on to the command. During a wait they end it, and no place
# in a queue remains.
. "$(dirname "$0")/../lib/tap.sh"
export HOLDFAST_URL=local://$W/store

# A command that writes down which signals it gets, and ends with SIGTERM.
cat >"$W/listen" <<'X'
exec 2>/dev/null
for signal in HUP INT QUIT USR1 USR2 ALRM WINCH; do
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

set -m # else a background job ignores SIGINT and SIGQUIT
holdfast run job -- bash "$W/listen" "$W" 2>"$W/err" &
wrapper=$!
set +m
wait_until 10 test -e "$W/ready"
keeper=$(cat "$W/keeper")
for signal in HUP INT QUIT USR1 USR2 ALRM WINCH; do
    kill -$signal $wrapper
    ok "SIG$signal is handed on" wait_until 5 said $signal
done
kill -TERM "$keeper"
kill -INT "$keeper"
kill -HUP "$keeper"
ok 'the keeper does not mind signals' kill -0 "$keeper"
ok 'and hands none on' test "$(grep -c TERM "$W/log")" = 0
kill -TERM $wrapper
wait $wrapper
is $? 9 'SIGTERM is forwarded, and the code is that of the command'
is "$(cat "$W/err")" '' 'no word of ours'

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
fi

# nohup: an ignored signal stays ignored in the command.
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
is $? $((128 + 10)) 'an ignored SIGHUP is not handed on, the next signal is'

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
finish
