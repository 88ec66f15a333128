#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes that stand still without a signal: under a debugger, in a frozen
# cgroup. If the keeper cannot end the command in time, the wrapper does.
. "$(dirname "$0")/../lib/tap.sh"
export HOLDFAST_URL=local://$W/store
# timeout: 180
hold=$HF_BUILD/tests/lib/hold
# LeakSanitizer does not work under a debugger.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
mkdir "$W/in"

ttl_ms=2000
is_sanitized "$(command -v holdfast)" && ttl_ms=5000

# The command writes the time every few milliseconds, and so does a descendant
# that left its session and lost its parent. (Both end after a minute.)
cat >"$W/tree" <<'TREE'
#!/bin/bash
trap '' TERM HUP
dir=$1
beat() {
    echo $BASHPID >"$dir/$1"
    until [ $SECONDS -gt 60 ]; do
        echo "${EPOCHREALTIME/[.,]/}" >>"$dir/beats.$1"
        read -rt 0.01 <>"$dir/fifo"
    done
}
export -f beat
export dir
(setsid bash -c '(beat orphan) & ' &)
until [ -s "$dir/orphan" ]; do sleep 0.01; done
echo $PPID >"$dir/keeper"
beat command
TREE
chmod +x "$W/tree"

pid_of() { # SCENARIO PROCESS
    cat "$W/in/$1/$2"
}

ended() { # SCENARIO
    is_gone "$(pid_of "$1" command)" && is_gone "$(pid_of "$1" orphan)"
}

# The latest time that the tree wrote, in milliseconds.
last_beat() { # SCENARIO
    local last
    last=$(cat "$W/in/$1"/beats.* | sort -n | tail -n 1)
    echo "${last%???}"
}

beats() { # SCENARIO
    cat "$W/in/$1"/beats.* | wc -l
}

beats_after() { # SCENARIO MS
    [ "$(last_beat "$1")" -gt "$2" ]
}

start() { # SCENARIO [OPTION...]
    mkdir "$W/in/$1"
    mkfifo "$W/in/$1/fifo"
    holdfast run -t ${ttl_ms}ms --kill-grace 200ms --status-fd 9 "${@:2}" "$1" -- \
        "$W/tree" "$W/in/$1" 2>"$W/in/$1/err" 9>"$W/in/$1/events" &
    echo $! >"$W/in/$1/wrapper"
}

# ---- Three ways to stop processes without a signal -------------------------

freeze_ptrace() { # SCENARIO PID...
    "$hold" "${@:2}" >"$W/in/$1/held" &
    echo $! >"$W/in/$1/tracer"
    wait_until 5 test -s "$W/in/$1/held"
}
thaw_ptrace() { # SCENARIO
    kill -9 "$(pid_of "$1" tracer)"
}

# Names of the test's cgroups contain the name of its folder.
cgroup_of() { # ROOT SCENARIO
    echo "$1/${W##*/}.$2"
}
join_cgroup() { # CGROUP PID...
    local pid
    mkdir "$1"
    for pid in "${@:2}"; do
        echo "$pid" >"$1/cgroup.procs" || return 1
    done
}

v1=/sys/fs/cgroup/freezer
set_v1() { # SCENARIO STATE
    local state
    state=$(cgroup_of $v1 "$1")/freezer.state
    echo "$2" >"$state"
    wait_until 5 grep -q "$2" "$state"
}
freeze_v1() { # SCENARIO PID...
    join_cgroup "$(cgroup_of $v1 "$1")" "${@:2}" && set_v1 "$1" FROZEN
}
thaw_v1() { # SCENARIO
    set_v1 "$1" THAWED
}

v2=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
set_v2() { # SCENARIO 0|1
    local cgroup
    cgroup=$(cgroup_of "$v2" "$1")
    echo "$2" >"$cgroup/cgroup.freeze"
    wait_until 5 grep -q "frozen $2" "$cgroup/cgroup.events"
}
freeze_v2() { # SCENARIO PID...
    join_cgroup "$(cgroup_of "$v2" "$1")" "${@:2}" && set_v2 "$1" 1
}
thaw_v2() { # SCENARIO
    set_v2 "$1" 0
}

has_freezer() { # ROOT FILE
    local cgroup
    cgroup=$(cgroup_of "$1" '')
    [ -n "$1" ] && mkdir "$cgroup" && [ -e "$cgroup/$2" ] && rmdir "$cgroup"
} 2>/dev/null

clean_up() {
    local dir scenario process cgroup
    for cgroup in "$v1/${W##*/}."* "$v2/${W##*/}."*; do
        [ ! -e "$cgroup/freezer.state" ] || echo THAWED >"$cgroup/freezer.state"
        [ ! -e "$cgroup/cgroup.freeze" ] || echo 0 >"$cgroup/cgroup.freeze"
    done
    for dir in "$W"/in/*; do
        scenario=${dir##*/}
        for process in tracer wrapper keeper command orphan; do
            [ ! -s "$dir/$process" ] || kill -9 "$(pid_of "$scenario" $process)"
        done
    done
    for cgroup in "$v1/${W##*/}."* "$v2/${W##*/}."*; do
        [ ! -d "$cgroup" ] || wait_until 5 rmdir "$cgroup"
    done
} 2>/dev/null
at_exit clean_up

# ---- Each of the processes, and pairs --------------------------------------

pids_of() { # SCENARIO PROCESS
    local process
    for process in ${2//-/ }; do
        pid_of "$1" "$process"
        [ "$process" != command ] || pid_of "$1" orphan
    done
}

# Start the scenarios in parallel, freeze the processes in their names, record
# the time.
begin() { # HOW PROCESS...
    local how=$1 process scenario
    shift
    for process in "$@"; do
        start "$how.$process"
    done
    for process in "$@"; do
        scenario=$how.$process
        wait_until 20 test -s "$W/in/$scenario/command" ||
            fail "$scenario starts"
        # shellcheck disable=SC2046 # one word for each process
        "freeze_$how" "$scenario" $(pids_of "$scenario" "$process") ||
            fail "$scenario: freezes"
        now_ms >"$W/in/$scenario/at"
    done
}

# Whichever renewal was the last, the lease has expired by then.
lease_end() { # SCENARIO
    echo $(($(pid_of "$1" at) + ttl_ms))
}
is_past() { # MS
    [ "$(now_ms)" -gt "$1" ]
}

ends() { # SCENARIO PROCESS
    if wait_until 10 is_gone "$(pid_of "$1" "$2")"; then
        pass "$1: it ends"
    else
        fail "$1: it ends"
        return 1
    fi
}

# The events end with one "lost", in a line of its own.
events_end() { # SCENARIO
    is "$(grep -c '"lost"\|"released"' "$W/in/$1/events"):$(tail -n 1 "$W/in/$1/events")" \
        "1:{\"event\":\"lost\",\"name\":\"$1\"}" "$1: the last event is \"lost\""
}

# The keeper is frozen: the wrapper ends the command in time.
check_ended() { # SCENARIO HOW [REGEX]
    wait_until 10 is_past "$(($(lease_end "$1") + 200))"
    ok "$1: the command runs no more when the lease is over" \
        test "$(last_beat "$1")" -lt "$(lease_end "$1")"
    ends "$1" wrapper || return
    wait "$(pid_of "$1" wrapper)"
    is $? 76 "$1: exit 76"
    like "$(cat "$W/in/$1/err")" \
        "^holdfast: $1: lost: [^"$'\n'"]*stood still[^"$'\n'"]*; ${3:-the command was ended}$" \
        "$1: one line"
    "thaw_$2" "$1"
    ok "$1: nothing is left" wait_until 5 ended "$1"
    ok "$1: and nothing ran again" \
        test "$(last_beat "$1")" -lt "$(lease_end "$1")"
    events_end "$1"
}

# The keeper runs: the lock is kept, and the command continues when it is
# thawed.
check_kept() { # SCENARIO HOW
    wait_until 10 is_past $(($(lease_end "$1") + 500))
    ok "$1: the keeper is there" kill -0 "$(pid_of "$1" keeper)"
    holdfast run -n "$1" -- true 2>/dev/null
    is $? 75 "$1: the lock is kept"
    "thaw_$2" "$1"
    ok "$1: the command goes on" \
        wait_until 5 beats_after "$1" "$(($(lease_end "$1") + 500))"
    kill -9 "$(pid_of "$1" wrapper)"
    ok "$1: and is ended with the wrapper" wait_until 5 ended "$1"
}

# Keeper and wrapper are frozen: nothing ends the command before one of them
# runs again.
check_beside() { # SCENARIO HOW
    ok "$1: the next one gets the lock" holdfast run -w 10 "$1" -- true
    local next thawed
    next=$(now_ms)
    ok "$1: the command runs on, as docs/caveats.md says" \
        wait_until 5 beats_after "$1" "$next"
    thawed=$(now_ms)
    "thaw_$2" "$1"
    ok "$1: ended on waking" wait_until 5 ended "$1"
    ok "$1: at once" test "$(last_beat "$1")" -lt $((thawed + 500))
}

# All are frozen; the first act when one runs again is to kill.
check_frozen() { # SCENARIO HOW
    ok "$1: the next one gets the lock" holdfast run -w 10 "$1" -- true
    local before thawed
    before=$(beats "$1")
    thawed=$(now_ms)
    "thaw_$2" "$1"
    ok "$1: ended on waking" wait_until 5 ended "$1"
    diag "$1: $(($(beats "$1") - before)) lines were written after the thaw"
    ok "$1: at once" test "$(last_beat "$1")" -lt $((thawed + 500))
}

check_all() { # HOW
    begin "$1" keeper keeper-command wrapper command wrapper-command \
        keeper-wrapper keeper-wrapper-command
    check_ended "$1.keeper" "$1"
    # Version 1 of the freezer delays SIGKILL, too.
    if [ "$1" = v1 ]; then
        check_ended "$1.keeper-command" "$1" \
            'process [0-9]+ of the command could not be ended'
    else
        check_ended "$1.keeper-command" "$1"
    fi
    check_kept "$1.wrapper" "$1"
    check_kept "$1.command" "$1"
    check_kept "$1.wrapper-command" "$1"
    check_beside "$1.keeper-wrapper" "$1"
    check_frozen "$1.keeper-wrapper-command" "$1"
}

check_all ptrace

# ---- A keeper that is killed -----------------------------------------------

start killed
wait_until 20 test -s "$W/in/killed/command" || fail 'killed starts'
kill -9 "$(pid_of killed keeper)"
ends killed wrapper
wait "$(pid_of killed wrapper)"
is $? 70 'killed: exit 70'
ok 'killed: nothing is left' wait_until 5 ended killed
events_end killed

# Of one that has written its last event, none is added.
start over --on-lost warn
wait_until 20 test -s "$W/in/over/command" || fail 'over starts'
holdfast break --now over >"$W/in/over/broken" 2>&1
ok 'over: the lock is lost' wait_until 20 grep -q lost "$W/in/over/events"
kill -9 "$(pid_of over keeper)"
ends over wrapper
wait "$(pid_of over wrapper)"
is $? 70 'over: exit 70'
ok 'over: nothing is left' wait_until 5 ended over
events_end over

# ---- A keeper that stands still between two of its own steps ---------------

start_held() { # SCENARIO CALL OPTION... -- COMMAND...
    local dir=$W/in/$1 name=$1 call=$2
    shift 2
    mkdir "$dir"
    "$hold" -s "$call" holdfast run -t ${ttl_ms}ms --kill-grace 200ms \
        --name "$name" "$@" >"$dir/held" 2>"$dir/err" 9>"$dir/events" &
    echo $! >"$dir/tracer"
}
await_held() { # SCENARIO
    wait_until 20 grep -q held "$W/in/$1/held" || fail "$1: the keeper is held"
    now_ms >"$W/in/$1/at"
    pgrep -P "$(pid_of "$1" tracer)" >"$W/in/$1/wrapper"
    sed 's/held //' "$W/in/$1/held" >"$W/in/$1/keeper"
}
check_step() { # SCENARIO
    ends "$1" tracer || return
    wait "$(pid_of "$1" tracer)"
    is $? 76 "$1: exit 76"
    # The line is written when all processes have ended; no command runs, so a
    # delayed wrapper does no harm.
    ok "$1: before the lease is over, or not much later" \
        test "$(date -r "$W/in/$1/err" +%s%3N)" -lt $(($(lease_end "$1") + 3000))
    like "$(cat "$W/in/$1/err")" \
        "^holdfast: $1: lost: [^"$'\n'"]*stood still[^"$'\n'"]*$" "$1: one line"
}

cat >"$W/deaf" <<'DEAF'
trap '' TERM
echo $$ >"$1/command"
touch "$1/orphan"
until [ $SECONDS -gt 60 ]; do sleep 0.02; done
DEAF
# All but the debugger are frozen from before the fork until after the lease.
start_held late clone -- touch "$W/in/late/ran"
await_held late
kill -STOP "$(pid_of late wrapper)"

start_held acquired write9 -n --status-fd 9 -- touch "$W/in/acquired/ran"
start_held fork clone -- touch "$W/in/fork/ran"
start_held kill kill9 --max-hold 200ms -- bash "$W/deaf" "$W/in/kill"
start_held again clone:2 --again -- sh -c 'echo run >>"$0"' "$W/in/again/ran"
for step in acquired fork kill again; do
    await_held $step
done
check_step acquired
check_step fork
check_step kill
ok 'kill: the command is ended' is_gone "$(pid_of kill command)"
check_step again
is "$(cat "$W/in/again/ran")" run 'again: the second round has not begun'
ok 'acquired: the command was not started' test ! -e "$W/in/acquired/ran"
ok 'fork: the command was not started' test ! -e "$W/in/fork/ran"

ok 'late: the next one gets the lock' holdfast run -w 10 late -- true
kill -USR1 "$(pid_of late tracer)"
keeper_gone() {
    is_gone "$(pid_of late keeper)"
}
ok 'late: the keeper ends' wait_until 5 keeper_gone
kill -CONT "$(pid_of late wrapper)"
wait "$(pid_of late tracer)"
is $? 76 'late: exit 76'
is "$(cat "$W/in/late/err")" 'holdfast: late: the lease was over before the '\
'command could be started' 'late: one line'
ok 'late: the command was not started' test ! -e "$W/in/late/ran"

# ---- A store that cannot know the processes that keep the lock --------------

gate=$HF_BUILD/tests/lib/gate
close_store() {
    "$gate" "$W/store" >"$W/gate" &
    gate_pid=$!
    wait_until 5 grep -q in "$W/gate"
}
open_store() {
    kill -9 $gate_pid
    wait $gate_pid 2>/dev/null
}

start_held unconfirmed write9 -n -t 20s --status-fd 9 -- touch "$W/in/unconfirmed/ran"
await_held unconfirmed
close_store
kill -USR1 "$(pid_of unconfirmed tracer)"
wait "$(pid_of unconfirmed tracer)"
is $? 69 'not of the wrapper: exit 69'
open_store
like "$(cat "$W/in/unconfirmed/err")" \
    '^holdfast: unconfirmed: the store did not confirm [^'$'\n'']*$' \
    'not of the wrapper: one line'
ok 'not of the wrapper: the command is not started' \
    test ! -e "$W/in/unconfirmed/ran"

# The group is registered after the fork, with the next renewal. From then on a
# process of the group keeps the lock when all others have been killed.
start_held group clone -t 4s --status-fd 9 -- \
    sh -c '(trap "" TERM; exec sleep 60) & echo $! >"$0"; wait' \
    "$W/in/group/orphan"
await_held group
close_store
kill -USR1 "$(pid_of group tracer)"
ok 'not of the group: the command runs' \
    wait_until 5 test -s "$W/in/group/orphan"
# Longer than the keeper waits for the store.
wait_until 5 is_past $(($(now_ms) + 1000))
open_store
renewed_twice() {
    [ "$(grep -c renewed "$W/in/group/events")" -ge 2 ]
}
ok 'not of the group: the lock is kept' wait_until 10 renewed_twice
# The wrapper is stopped first, or it would notice the death of the keeper.
is_stopped() {
    grep -q ') [tT] ' "/proc/$(pid_of group wrapper)/stat"
}
kill -STOP "$(pid_of group wrapper)"
ok 'not of the group: the wrapper is stopped' wait_until 5 is_stopped
kill -9 "$(pid_of group keeper)"
keeper_died() {
    is_gone "$(pid_of group keeper)"
}
wait_until 5 keeper_died
kill -9 "$(pid_of group wrapper)"
wait "$(pid_of group tracer)"
is $? 137 'not of the group: wrapper and keeper are killed'
holdfast run -n group -- true 2>/dev/null
is $? 75 'not of the group: the store learned that from a renewal'

# ---- The freezer -------------------------------------------------------------

if has_freezer "$v2" cgroup.freeze; then
    check_all v2
else
    skip 'the freezer of cgroup v2' 'not available here'
fi
if has_freezer $v1 freezer.state; then
    check_all v1
else
    skip 'the freezer of cgroup v1' 'not available here'
fi
finish
