#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Leader election: holdfast run --again. Leaders take turns, with increasing
# fences. A leader that lost the lock queues again; a leader that gets SIGTERM
# does not.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 180
pty=$HF_BUILD/tests/lib/pty

# A leader prints its fence, and leads until the test ends its term; for more
# than a second, so that it does not count as failed.
cat >"$W/lead" <<'X'
#!/bin/sh
echo $$ >"$2/pid.$1"
echo "$1 $HOLDFAST_FENCE" >>"$2/led"
sleep 1.1 # sleeps: for longer than a leader that failed
until rm "$2/out.$1" 2>/dev/null; do sleep 0.02; done
exit 3
X
chmod +x "$W/lead"

pids=() before=''
all_end() {
    local pid
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
}
at_exit all_end

campaign() { # NAME [OPTION...]: sets $candidate
    local who=$1
    shift
    holdfast run --again -t 5s --status-fd 9 "$@" seat -- "$W/lead" \
        "$who" "$W" 9>>"$W/events.$who" 2>>"$W/err.$who" &
    candidate=$!
    pids+=("$candidate")
}
leads() { # NAME: is the last one to have begun
    [ "$(tail -n 1 "$W/led")" != "$before" ] &&
        [[ $(tail -n 1 "$W/led") == "$1 "* ]]
}
has_said() { # NAME EVENT N: that many lines of it
    [ "$(grep -c "^{\"event\":\"$2\"" "$W/events.$1")" -ge "$3" ]
}
queued() { # NAME N: it has entered the queue so often
    [ "$(grep -c '"ahead":0}' "$W/events.$1")" -ge "$2" ]
}
vote_out() {
    before=$(tail -n 1 "$W/led")
    touch "$W/out.$1"
}
fences_rise() {
    cut -d' ' -f2 "$W/led" | sort -nuc
}

election() { # URL TITLE
    local title=$2 first second
    export HOLDFAST_URL=$1
    rm -f "$W"/led "$W"/events.* "$W"/err.* "$W"/out.*
    before=''
    campaign A
    first=$candidate
    ok "$title: one leads" wait_until 10 leads A
    campaign B
    second=$candidate
    ok "$title: the other waits" wait_until 10 queued B 1
    vote_out A
    ok "$title: when the command ends, the waiter is next" \
        wait_until 10 leads B
    ok "$title: and stands again" wait_until 10 queued A 1
    ok "$title: A said that it gave back" has_said A released 1
    vote_out B
    ok "$title: and leads again" wait_until 10 leads A
    ok "$title: B stands again, too" wait_until 10 queued B 2

    # The lock is broken.
    before=$(tail -n 1 "$W/led")
    local old
    old=$(cat "$W/pid.A")
    holdfast break --now seat >/dev/null 2>&1
    ok "$title: after a break the waiter leads" wait_until 10 leads B
    ok "$title: its command was ended" wait_until 5 is_gone "$old"
    ok "$title: the loss was said" wait_until 5 has_said A lost 1
    wait_until 5 test -s "$W/err.A"
    like "$(cat "$W/err.A")" '^holdfast: seat: [^'$'\n'']*the command was ended$' \
        "$title: in one line"
    ok "$title: and it stands again" wait_until 10 queued A 2
    vote_out B
    ok "$title: and leads once more" wait_until 10 leads A
    ok "$title: fences only rose" fences_rise

    # SIGTERM while leading, and while waiting.
    ok "$title: B waits" wait_until 10 queued B 3
    before=$(tail -n 1 "$W/led")
    kill -TERM "$second"
    wait "$second"
    is $? 143 "$title: SIGTERM while waiting ends it: 143"
    like "$(cat "$W/err.B")" 'stopped by SIGTERM while waiting$' \
        "$title: and it is said"
    kill -TERM "$first"
    wait "$first"
    is $? 143 "$title: SIGTERM while leading ends it with the command's code"
    is "$(tail -n 1 "$W/led")" "$before" "$title: neither has led again"
    ok "$title: the seat is free" holdfast run -n seat -- true
}

election "local://$W/store" embedded
server_start one
election "${SERVER_URL[one]}?quarantine=off&node_timeout=1s" 'one redis'

# ---- Its end, and its persistence, on the embedded store
export HOLDFAST_URL=local://$W/store
capture holdfast run --again seat -- "$W/nosuch"
is "$code:$err" "127:holdfast: $W/nosuch: No such file or directory" \
    'a command that is not there ends it'
capture holdfast run --again seat -- "$W"
is "$code" 126 'one that cannot be run too'
capture timeout 10 holdfast run seat -- holdfast run --again seat -- true
is "$code" 64 'a seat that an ancestor holds'
like "$err" 'held by the `holdfast run` that this one runs under' 'is refused'

# Passed on: SIGHUP goes to the command, and ends the wrapper only if the
# command dies of it.
cat >"$W/reload" <<'X'
#!/bin/bash
trap 'echo hup >>"$1/heard"' HUP
trap 'echo term >>"$1/heard"; exit 5' TERM
exec 2>/dev/null # bash tells of a child that a signal ended
echo $$ >"$1/pid"
echo begin >>"$1/heard"
while :; do sleep 0.02; done
X
chmod +x "$W/reload"
heard() {
    [ "$(grep -c "^$1$" "$W/heard" 2>/dev/null)" -ge "$2" ]
}
holdfast run --again seat -- "$W/reload" "$W" &
one=$!
pids+=("$one")
wait_until 10 heard begin 1
kill -HUP $one
ok 'SIGHUP is handed on' wait_until 5 heard hup 1
kill -KILL "$(cat "$W/pid")"
ok 'a command that was killed is run again' wait_until 10 heard begin 2
kill -TERM $one
wait $one
is $? 5 'SIGTERM ends it with the code of the command'
holdfast run --again seat -- sh -c 'touch "$0"; exec sleep 300' "$W/dies" &
one=$!
pids+=("$one")
wait_until 10 test -e "$W/dies"
kill -HUP $one
wait $one
is $? 129 'a command that dies of SIGHUP ends it'
rm -f "$W/heard"
holdfast run --again seat -- "$W/reload" "$W" &
one=$!
pids+=("$one")
wait_until 10 heard begin 1
kill -TERM "$(pgrep -P $one)"
wait_until 10 is_gone $one || kill -KILL $one
wait $one
is $? 5 'SIGTERM to the keeper, whose pid is shown, ends it too'
is "$(grep -c begin "$W/heard")" 1 'and no round follows'

# If the wrapper is killed, all its processes end.
rm -f "$W/heard"
holdfast run --again -t 5s seat -- "$W/reload" "$W" &
one=$!
wait_until 10 heard begin 1
kill -KILL $one
wait $one 2>/dev/null
ok 'kill -9: the command is ended' wait_until 10 heard term 1
ok 'kill -9: and no process queues again' holdfast run -w 40 seat -- true
is "$(grep -c begin "$W/heard")" 1 'kill -9: it ran once'

# After a command that fails at once there is a pause, longer each time, without
# the lock.
holdfast run --again --status-fd 9 seat -- \
    sh -c 'echo "${EPOCHREALTIME:-$(date +%s.%N)}" >>"$0"; exit 1' \
    "$W/starts" 9>"$W/events" 2>"$W/err" &
one=$!
pids+=("$one")
starts() {
    [ "$(wc -l <"$W/starts")" -ge "$1" ]
}
wait_until 10 starts 1
ok 'failing at once: free during the pause' holdfast run -w 20 seat -- true
wait_until 20 starts 3
read -r gap1 gap2 < <(tr ',' . <"$W/starts" | awk '
    NR > 1 { printf "%d ", ($1 - last) * 1000 } { last = $1 }')
# On a loaded machine the command starts later, and never earlier.
ok "failing at once: a pause of 1 to 2 s ($gap1 ms)" \
    test "$gap1" -ge 1000 -a "$gap1" -lt 10000
ok "failing at once: then of 2 to 4 s ($gap2 ms)" \
    test "$gap2" -ge 2000 -a "$gap2" -lt 12000
gave_back() {
    [ "$(grep -c '^{"event":"released"' "$W/events")" -ge "$1" ]
}
wait_until 10 gave_back 3 # earlier the signal ends the command, not the pause
kill -TERM $one
wait $one
is $? 143 'failing at once: a signal ends the pause'
is "$(cat "$W/err")" 'holdfast: seat: stopped by SIGTERM while waiting' \
    'failing at once: and nothing else was said'
events=$(sed 's/^{"event":"\([a-z-]*\)".*/\1/' "$W/events" | grep -v renewed |
    uniq | head -n 6 | xargs)
is "$events" 'waiting acquired released waiting acquired released' \
    'the events of two rounds'

# --max-hold limits a term.
rm -f "$W/starts"
holdfast run --again --max-hold 1100ms --kill-grace 100ms seat -- \
    sh -c 'echo began >>"$0"; exec sleep 300' "$W/starts" 2>"$W/err" &
one=$!
pids+=("$one")
ok '--max-hold: the next term follows' wait_until 10 starts 2
like "$(head -n 1 "$W/err")" 'ended after 1.1s \(--max-hold\)$' \
    '--max-hold: said'
kill -TERM $one
wait $one

# ---- Over rounds, no half line of --status-fd is continued by another one
# The name makes an event longer than a page; one page of the pipe is left, so each
# event is cut while it is full. The command reads in its second round.
export HOLDFAST_URL=local://$W/store
long=$(printf '%01000d' 0 | tr 0 '\377')
cat >"$W/rounds" <<'X'
#!/bin/sh
echo round >>"$1/round"
if [ -p "$1/full" ] && [ "$(grep -c round "$1/round")" = 2 ]; then
    dd bs=65536 count=1 <"$1/full" >"$1/part1" 2>/dev/null
fi
[ "$(grep -c round "$1/round")" -lt 3 ] || exec sleep 300
X
chmod +x "$W/rounds"
rounds() { [ -e "$W/round" ] && [ "$(grep -c round "$W/round")" -ge "$1" ]; }
without_blocking() { # COMMAND... : in the background, instead of the subshell
    exec python3 -c 'import os, sys
os.set_blocking(9, False)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}
cut_rounds() { # TITLE [PREFIX...]: of the command
    local title=$1 one
    rm -f "$W"/{full,round,part1,part2}
    mkfifo "$W/full"
    exec 9<>"$W/full"
    dd if=/dev/zero bs=65536 count=1 >&9 2>/dev/null
    head -c 4096 <&9 >"$W/read"
    "${@:2}" holdfast run --again --status-fd 9 "$long" -- "$W/rounds" "$W" \
        2>"$W/err" &
    one=$!
    pids+=("$one")
    ok "$title: three rounds" wait_until 40 rounds 3
    kill -TERM $one
    wait $one
    is "$?:$(cat "$W/err")" 143: "$title: it ends by the signal alone"
    dd bs=65536 count=1 <&9 2>/dev/null >"$W/part2"
    exec 9>&-
    LC_ALL=C tr -d '\0' <"$W/part1" >"$W/lines"
    LC_ALL=C tr -d '\0' <"$W/part2" >>"$W/lines"
    ok "$title: one event was cut" grep -q '^{.*[^}]$' "$W/lines"
    is "$(grep -c '.{"event"' "$W/lines")" 0 "$title: no event follows on a half line"
    ok "$title: a whole one follows" grep -q '^{"event":"acquired".*}$' "$W/lines"
}
cut_rounds 'a full pipe'
cut_rounds 'a full pipe that does not block' without_blocking

# ---- A reader that goes away does not end the job
for how in '' without_blocking; do
    rm -f "$W"/{round,full}
    mkfifo "$W/reader.${#how}"
    $how holdfast run --again --status-fd 9 seat -- "$W/rounds" "$W" \
        9>"$W/reader.${#how}" 2>"$W/err" &
    one=$!
    pids+=("$one")
    head -n 1 "$W/reader.${#how}" >"$W/first"
    ok "no reader${how:+, non-blocking}: the rounds go on" wait_until 40 rounds 3
    kill -TERM $one
    wait $one
    is "$?:$(cat "$W/err")" 143: 'and only the signal ends it'
    like "$(cat "$W/first")" '^\{"event":"waiting".*\}$' 'the reader had one line'
done

export HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
# ---- A lock that is lost before the command begins is followed by a pause, too
# The keeper is stopped while it waits, and what it is handed is taken from it. That
# must be within the 6 s of a claim, so on a loaded machine it may take another try.
early='the lock was lost again as soon as it was taken'
lose_early() { # sets gap, from before the loss to the command
    local keeper resumed
    rm -f "$W"/{led,events,first}
    mkfifo "$W/first"
    holdfast run -t 60 early -- sh -c 'echo >"$0"; read -r _ <"$0"' "$W/first" &
    first=$!
    read -r _ <"$W/first"
    holdfast run --again -t 60 --status-fd 9 early -- \
        sh -c 'echo >"$0"; exec sleep 300' "$W/led" 9>"$W/events" 2>"$W/err" &
    one=$!
    pids+=("$first" "$one")
    wait_until 20 grep -q '"ahead":0}' "$W/events"
    keeper=$(pgrep -P $one)
    kill -STOP "$keeper"
    echo >"$W/first"
    wait $first
    holdfast break --now early >/dev/null
    resumed=$(now_ms)
    kill -CONT "$keeper"
    wait_until 40 test -e "$W/led"
    gap=$(($(now_ms) - resumed))
    kill -TERM $one
    wait $one
    [ "$(cat "$W/err")" = "holdfast: early: $early" ]
}
for ((tries = 1; tries < 5; tries++)); do
    lose_early && break
done
is "$(cat "$W/err")" "holdfast: early: $early" "lost early: said, once ($tries)"
ok "lost early: a pause of 1 to 2 s ($gap ms)" test "$gap" -ge 1000

# ---- An outage is waited through
rm -f "$W"/led "$W"/events.*
before=''
# Time for a loaded machine to end the command before the wrapper must.
campaign C --kill-grace 1s
ok 'outage: leads' wait_until 10 leads C
before=$(tail -n 1 "$W/led")
server_kill one
ok 'outage: the command is ended' wait_until 10 is_gone "$(cat "$W/pid.C")"
ok 'outage: which is said' \
    wait_until 10 grep -q 'could not be kept .*the command was ended' "$W/err.C"
server_restart one
ok 'outage: leads again when the store is back' wait_until 20 leads C
kill -TERM "$candidate"
wait "$candidate"
is $? 143 'outage: and ends'

# ---- At a terminal, where Ctrl-C reaches the command alone
export HOLDFAST_URL=local://$W/store
cat >"$W/script" <<'X'
expect ready-now
send \x03
expect code-130
X
# shellcheck disable=SC2016
ok 'Ctrl-C ends the command, and run --again' timeout 30 "$pty" sh -c \
    'trap : INT
     holdfast run --again seat -- sh -c "echo rea\"\"dy-now; exec sleep 300"
     echo code-$?' <"$W/script"
finish
