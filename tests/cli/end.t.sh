#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The end in time: if the command, its wrapper or its keeper dies, stops or
# sleeps, the command and all its descendants are killed before the lease ends.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
export HOLDFAST_URL=local://$W/store
# timeout: 180

# A command that is hard to kill: it ignores SIGTERM, and has a child in a
# session of its own and an orphan of two forks, which ignore it too. (It ends
# after a minute, in case a test leaves it running.)
cat >"$W/hydra" <<'X'
#!/bin/bash
trap '' TERM HUP INT
dir=$1
stay() {
    echo $BASHPID >"$dir/$1"
    until [ $SECONDS -gt 60 ]; do sleep 0.05; done
}
export -f stay
export dir
setsid bash -c 'trap "" TERM HUP; stay setsid' &
(setsid bash -c '(trap "" TERM HUP; stay orphan) & ' &)
until [ -s "$dir/setsid" ] && [ -s "$dir/orphan" ]; do sleep 0.01; done
echo $PPID >"$dir/keeper"
stay command
X
chmod +x "$W/hydra"

started() {
    [ -s "$W/t/command" ]
}

pid_of() {
    cat "$W/t/$1"
}

all_gone() {
    is_gone "$(pid_of command)" && is_gone "$(pid_of setsid)" &&
        is_gone "$(pid_of orphan)"
}

# Start that command; sets wrapper and keeper.
start() { # OPTION...
    rm -rf "$W/t"
    mkdir "$W/t"
    holdfast run "$@" job -- "$W/hydra" "$W/t" 2>"$W/err" &
    wrapper=$!
    wait_until 10 started || fail 'the command starts'
    keeper=$(pid_of keeper)
    started_ms=$(now_ms)
}

rest() {
    kill -CONT "$wrapper" "$keeper" 2>/dev/null
    kill -9 "$wrapper" "$keeper" "$(pid_of command)" "$(pid_of setsid)" \
        "$(pid_of orphan)" 2>/dev/null
}
at_exit rest

state_of() {
    sed 's/.*) \(.\).*/\1/' "/proc/$1/stat"
}

is_stopped() {
    [ "$(state_of "$1")" = T ]
}

# ---- kill -9 of the wrapper
start -t 4s --kill-grace 500ms
kill -9 "$wrapper"
wait "$wrapper" 2>/dev/null
ok 'wrapper killed: everything is ended' wait_until 3 all_gone
ok 'wrapper killed: before the lease is over' \
    test $(($(now_ms) - started_ms)) -lt 4000
ok 'wrapper killed: the keeper goes' wait_until 3 is_gone "$keeper"
ok 'wrapper killed: the lock is free at once' holdfast run -n job -- true

# ---- kill -9 of the wrapper's whole group, as a shell's `kill -9 %1`
set -m
start -t 10s --kill-grace 200ms
set +m
kill -9 -- "-$wrapper"
wait "$wrapper" 2>/dev/null
ok 'group killed: everything is ended' wait_until 5 all_gone
ok 'group killed: the lock is free' holdfast run -w 20 job -- true

# ---- kill -9 of the keeper
start -t 30s
kill -9 "$keeper"
wait "$wrapper"
is $? 70 'keeper killed: exit 70'
ok 'keeper killed: everything is gone when the wrapper is' all_gone
is "$(cat "$W/err")" 'holdfast: job: the process that kept the lock was killed (SIGKILL)'"\
; the command was ended, and the lock frees itself now" 'keeper killed: one line'
ok 'keeper killed: the lock is free at once where processes are seen' \
    holdfast run -n job -- true

# ---- kill -9 of the keeper, of a wrapper that was executed by a program with children
begin_beside() { # in the wrapper's process
    sleep 1000 &
    echo $! >"$W/beside"
    exec holdfast "$@"
}
rm -rf "$W/t"
mkdir "$W/t"
begin_beside run -t 30s job -- "$W/hydra" "$W/t" 2>"$W/err" &
wrapper=$!
wait_until 10 started || fail 'the command starts'
kill -9 "$(pid_of keeper)"
wait "$wrapper"
is $? 70 'keeper killed below an exec: exit 70'
ok 'keeper killed below an exec: the command is gone' all_gone
ok 'keeper killed below an exec: a child of before is not' kill "$(<"$W/beside")"

server_start one
start -t 60s -u "${SERVER_URL[one]}?quarantine=off"
kill -9 "$keeper"
wait "$wrapper"
is "$?:$(cat "$W/err")" '70:holdfast: job: the process that kept the lock was killed (SIGKILL)'"\
; the command was ended, and the lock frees itself when its lease or session is \
over" 'keeper killed: the line of a store that sees no processes'
holdfast run -nu "${SERVER_URL[one]}?quarantine=off" job -- true 2>/dev/null
is $? 75 'keeper killed: so the lock is kept there'

# ---- kill -9 of both: the kernel kills the command
start -t 30s
kill -9 "$wrapper" "$keeper"
wait "$wrapper" 2>/dev/null
ok 'both killed: the command dies' wait_until 3 is_gone "$(pid_of command)"
rest
wait_until 3 all_gone

# ---- SIGSTOP of the wrapper: the keeper goes on
start -t 3s --kill-grace 200ms
kill -STOP "$wrapper"
wait_until 3 is_stopped "$wrapper"
end=$(($(now_ms) + 3500))
until [ "$(now_ms)" -ge "$end" ]; do sleep 0.05; done
ok 'wrapper stopped: the command runs on beyond the lease' \
    kill -0 "$(pid_of command)"
holdfast run -n job -- true 2>/dev/null
is $? 75 'wrapper stopped: the lock is kept'
kill -CONT "$wrapper"
kill -9 "$wrapper"
ok 'wrapper stopped, then killed: everything is ended' wait_until 3 all_gone
wait "$wrapper" 2>/dev/null

# ---- SIGSTOP of the wrapper, kill -9 of the keeper: the kernel kills the command
start -t 30s
kill -STOP "$wrapper"
wait_until 3 is_stopped "$wrapper"
kill -9 "$keeper"
ok 'wrapper stopped, keeper killed: the command dies' \
    wait_until 3 is_gone "$(pid_of command)"
ok 'wrapper stopped, keeper killed: its descendants do not' \
    kill -0 "$(pid_of setsid)" "$(pid_of orphan)"
kill -CONT "$wrapper"
wait "$wrapper"
is $? 70 'wrapper continued: exit 70'
ok 'wrapper continued: everything is gone' all_gone

# ---- SIGSTOP of the keeper: the wrapper ends it in time
# A 20th of the lease is left for that: time for a machine that stands still.
start -t 10s
kill -STOP "$keeper"
stopped_ms=$(now_ms)
wait "$wrapper"
is $? 76 'keeper stopped: exit 76'
took=$(($(now_ms) - stopped_ms))
ok 'keeper stopped: everything is gone' all_gone
ok "keeper stopped: before the lease is over ($took ms)" test $took -lt 10000
like "$(cat "$W/err")" '^holdfast: job: lost: [^'$'\n'']*$' \
    'keeper stopped: one line'

# ---- SIGSTOP of both, past the lease: first act on waking
start -t 700ms
kill -STOP "$wrapper" "$keeper"
ok 'both stopped: the next one gets the lock when the lease is over' \
    holdfast run -w 20 job -- sh -c 'echo "$HOLDFAST_FENCE" >"$0"' "$W/fence"
# A new holder that must not be affected:
holdfast run job -- sh -c 'touch "$0"; exec sleep 300' "$W/new" 2>/dev/null &
new=$!
wait_until 5 test -e "$W/new"
kill -CONT "$keeper"
woken_ms=$(now_ms)
ok 'both stopped: everything is killed on waking' wait_until 2 all_gone
took=$(($(now_ms) - woken_ms))
ok "both stopped: at once ($took ms)" test $took -lt 3000
kill -CONT "$wrapper"
wait "$wrapper"
is $? 76 'both stopped: exit 76'
like "$(cat "$W/err")" '^holdfast: job: [^'$'\n'']*$' 'both stopped: one line'
holdfast run -n job -- true 2>/dev/null
is $? 75 'both stopped: the new holder still holds'
kill "$new"
wait "$new" 2>/dev/null

# ---- A run inside a run
rm -rf "$W/t"
mkdir "$W/t"
holdfast run -t 5s --kill-grace 200ms outer -- \
    holdfast run -t 30s job -- "$W/hydra" "$W/t" 2>"$W/err" &
wrapper=$!
wait_until 10 started
keeper=$(pid_of keeper)
kill -9 "$wrapper"
wait "$wrapper" 2>/dev/null
ok 'nested: everything is ended' wait_until 5 all_gone
ok 'nested: the inner keeper too' wait_until 5 is_gone "$keeper"
ok 'nested: the outer lock is free' holdfast run -w 20 outer -- true

# ---- The wrapper gets SIGTERM: the command decides
start -t 10s
kill -TERM "$wrapper"
kill -TERM "$wrapper"
ok 'SIGTERM is handed on, and a deaf command stays' kill -0 "$wrapper"
kill -9 "$(pid_of command)"
wait "$wrapper"
is $? 137 'the wrapper ends with the command'
rest

# ---- --max-hold against the hydra, which needs a moment to start
start -t 5s --max-hold 2s --kill-grace 200ms
wait "$wrapper"
is $? 124 '--max-hold: exit 124'
ok '--max-hold: everything is gone' all_gone

# ---- broken: the next renewal reports it
start -t 1s
ok 'break --now' holdfast break -q --now job
wait "$wrapper"
is $? 76 'broken: exit 76'
ok 'broken: everything is gone' all_gone

# ---- break waits until the holder must have stopped
start -t 1s
ok 'break succeeds' holdfast break -q job
ok 'break: when it returns everything is gone' all_gone
wait "$wrapper"
is $? 76 'break: exit 76 for the old holder'

# ---- --on-lost warn
# The command ends when the loss was said: "$0.end" is there then.
warned='touch "$0"; until [ -e "$0.end" ]; do sleep 0.02; done'
holdfast run --on-lost warn -t 1s job -- sh -c "$warned" "$W/warned" \
    2>"$W/err" &
wrapper=$!
wait_until 5 test -e "$W/warned"
holdfast break -q --now job
wait_until 5 test -s "$W/err"
touch "$W/warned.end"
wait "$wrapper"
is $? 76 '--on-lost warn: 76 if the command ended with 0'
is "$(grep -c ^holdfast: "$W/err")" 1 '--on-lost warn: one line'
rm -f "$W/warned" "$W/warned.end"
holdfast run --on-lost warn -t 1s job -- sh -c "$warned; exit 5" "$W/warned" \
    2>"$W/err" &
wrapper=$!
wait_until 5 test -e "$W/warned"
holdfast break -q --now job
wait_until 5 test -s "$W/err"
touch "$W/warned.end"
wait "$wrapper"
is $? 5 '--on-lost warn: its own code if that is not 0'

# ---- A command that forks as fast as it can
cat >"$W/forks" <<'X'
trap '' TERM
fork() {
    while [ $((i += 1)) -lt 6 ] && [ $SECONDS -lt 10 ]; do
        (fork) &
        sleep 0.02
    done
    sleep 20
}
fork &
fork &
(setsid bash -c 'until [ $((n += 1)) -gt 1000 ]; do sleep 0.01 & done; sleep 20' &)
touch "$1"
wait
X
(ulimit -u 4000; exec holdfast run -t 20s --max-hold 400ms --kill-grace 100ms \
    job -- bash "$W/forks" "$W/forking") 2>/dev/null
is $? 124 'a forking tree is ended'
is "$(pgrep -f "$W/forks" | wc -l)" 0 'to the last one'
finish
