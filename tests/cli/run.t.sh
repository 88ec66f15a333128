#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast run: the arguments and environment of the command, and its result.
. "$(dirname "$0")/../lib/tap.sh"
export HOLDFAST_URL=${HF_TEST_URL:-local://$W/store}

code_of() {
    capture "$@"
    echo "$code"
}

# ---- Exit codes
is "$(code_of holdfast run x -- true)" 0 'success'
is "$(code_of holdfast run x -- sh -c 'exit 3')" 3 "the command's own code"
is "$(code_of holdfast run x -- sh -c 'exit 75')" 75 'whatever it is'
for signal in TERM KILL INT; do
    is "$(code_of holdfast run x -- sh -c "kill -$signal \$\$")" \
        $((128 + $(kill -l $signal))) "killed by SIG$signal: 128+N"
done
capture holdfast run x -- "$W/nosuch"
is "$code:$err" "127:holdfast: $W/nosuch: No such file or directory" \
    'command not found'
capture holdfast run x -- nosuchcommand
is "$code" 127 'command not on the path'
: >"$W/plain"
capture holdfast run x -- "$W/plain"
is "$code:$err" "126:holdfast: $W/plain: Permission denied" 'not executable'
capture holdfast run x -- "$W"
is "$code" 126 'a folder'

# ---- Silence, streams, arguments
capture holdfast run x -- true
is "$out$err" '' 'no output of ours on success'
out=$(printf 'one\ntwo' | holdfast run x -- cat)
is "$out" $'one\ntwo' 'stdin and stdout are untouched'
head -c 3000000 /dev/urandom >"$W/blob"
holdfast run x -- cat <"$W/blob" >"$W/copy"
ok 'three megabytes of bytes through it' cmp "$W/blob" "$W/copy"
out=$(holdfast run x -- printf '<%s>' 'a b' '' '*' $'c\nd')
is "$out" $'<a b><><*><c\nd>' 'arguments untouched, no shell'
printf 'first\nsecond\n' >"$W/lines"
out=$({ holdfast run x -- head -c 6 >/dev/null; cat; } <"$W/lines")
is "$out" second 'no byte of stdin is read ahead'

# ---- Environment
out=$(FOO='a b' holdfast run job -- env)
like "$out" $'(^|\n)FOO=a b(\n|$)' 'its environment as it was'
like "$out" "HOLDFAST_URL=$HOLDFAST_URL" 'HOLDFAST_URL too'
like "$out" 'HOLDFAST_NAME=job' 'HOLDFAST_NAME'
like "$out" 'HOLDFAST_FENCE=[1-9][0-9]*' 'HOLDFAST_FENCE'
like "$out" 'HOLDFAST_OWNER=[0-9a-f]{32}:[^@]*@[0-9]+' 'HOLDFAST_OWNER'
out=$(HOLDFAST_NAME=old HOLDFAST_FENCE=1 HOLDFAST_OWNER=old@1 \
    holdfast run job -- sh -c 'env | grep -c "^HOLDFAST_[NFO]"; env')
is "${out%%$'\n'*}" 4 'inherited values are replaced, not doubled'
unlike "$out" '=old|FENCE=1$' 'none of them is left'
last=0 rising=1
for _ in 1 2 3 4 5; do
    fence=$(holdfast run job -- sh -c 'echo $HOLDFAST_FENCE')
    [ "$fence" -gt "$last" ] || rising=0
    last=$fence
done
is $rising 1 'fences rise'

# ---- Descriptors, processes
exec 7>"$W/inherited"
before=$(ls /proc/self/fd)
after=$(holdfast run x -- ls /proc/self/fd)
is "$after" "$before" 'the command has the descriptors that we had'
exec 7>&-
out=$(holdfast run x -- grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status)
want=$(grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status)
is "$out" "$want" 'its signal mask and dispositions are as ours were'
out=$(trap '' HUP CHLD; exec holdfast run x -- grep SigIgn /proc/self/status)
want=$(trap '' HUP CHLD; exec grep SigIgn /proc/self/status)
is "$out" "$want" 'ignored signals stay ignored, SIGCHLD too'
is "$(sh -c 'trap "" CHLD; holdfast run x -- sh -c "exit 5"; echo $?')" 5 \
    'its code is known even if SIGCHLD was ignored'
out=$(holdfast run x -- sh -c 'exec 2>/dev/null; ls /proc/$PPID/fd >/dev/null &&
    cat /proc/$PPID/comm')
is "$out" holdfast-keeper 'its parent is the keeper'
is "$(code_of sh -c 'holdfast run x -- true <&- >&- 2>&-')" 0 \
    'closed stdin, stdout and stderr'
out=$(holdfast run x -- sh -c '[ -e /proc/$$/fd/0 ] || echo closed' <&-)
is "$out" closed 'a closed descriptor is closed for the command'

# ---- A daemon that the command leaves running is left alone
holdfast run x -- sh -c 'sleep 300 >/dev/null 2>&1 & echo $! >"$0"' "$W/daemon"
daemon=$(cat "$W/daemon")
ok 'a daemon that the command left running is left alone' kill -0 "$daemon"
ok 'and the lock is free' holdfast run -n x -- true
kill -9 "$daemon"
for _ in 1 2 3; do holdfast run x -- sh -c 'true & true & exit 0'; done
ps -s "$(ps -o sess= -p $$ | tr -d ' ')" -o stat,comm,ppid >"$W/ps"
unlike "$(cat "$W/ps")" 'Z[^ ]* +holdfast' 'no zombie of ours'

# ---- Held elsewhere
holdfast run held --label 'the first' -- sh -c 'touch "$0"; exec sleep 300' \
    "$W/started" &
holder=$!
holder_end() {
    kill "$holder" 2>/dev/null
}
at_exit holder_end
wait_until 10 test -e "$W/started"
capture holdfast run -n held -- true
is "$code" 75 '-n: exit 75'
like "$err" '^holdfast: held: held by .* pid [0-9]+ since .*the first' \
    '-n: names the holder, with its label'
start=$(now_ms)
capture holdfast run -w 300ms held -- true
took=$(($(now_ms) - start))
is "$code" 75 '-w: exit 75'
ok "-w: waited ($took ms)" test $took -ge 300 -a $took -lt 10000
is "$(code_of holdfast run -n -E 99 held -- true)" 99 '-E'
capture holdfast run -n -E 0 held -- echo no
is "$code:$out" 0: '-E 0 does not run it either'
capture holdfast run --once 1h held -- echo no
is "$code:$out:$err" '0::' '--once: nothing, exit 0'
is "$(code_of timeout 10 holdfast acquire -n held)" 75 'acquire -n'

# ---- A waiter gets it when it is given back
holdfast run -w 20 held -- sh -c 'echo got >"$0"' "$W/got" &
waiter=$!
kill "$holder"
wait "$holder"
is $? 143 'the wrapper ends with 128+15 when the command dies of SIGTERM'
wait "$waiter"
is "$?:$(cat "$W/got")" 0:got 'the waiter got it'

# ---- --once, --min-hold, --max-hold
capture holdfast run --once 1h -q nightly -- echo ran
is "$code:$out:$err" '0:ran:' '--once runs the first time'
capture holdfast run --once 1h nightly -- echo ran
is "$code:$out:$err" '0::' '--once does not run again within the time'
is "$(code_of holdfast run -n nightly -- true)" 0 'only --once waits for it'
capture holdfast run --once 1h failing -- sh -c 'exit 4'
is "$code" 4 '--once returns a failure'
capture holdfast run --once 1h failing -- echo again
is "$code:$out" 0: 'a failed run counts as started'
capture holdfast run --once 1h absent -- "$W/nosuch"
is "$code" 127 '--once of a missing command'
capture holdfast run --once 1h absent -- echo ran
is "$out" ran 'which did not start does not count'
start=$(now_ms)
holdfast run --min-hold 4s short -- true
took=$(($(now_ms) - start))
ok "--min-hold returns at once ($took ms)" test $took -lt 3900
is "$(code_of holdfast run -n short -- true)" 75 '--min-hold keeps the name'
ok '--min-hold frees it in time' holdfast run -w 20 short -- true
took=$(($(now_ms) - start))
ok "--min-hold: not earlier ($took ms)" test $took -ge 3950
capture holdfast run --max-hold 300ms --kill-grace 200ms -t 10s long -- \
    sleep 300
is "$code:$err" \
    '124:holdfast: long: the command was ended after 300ms (--max-hold)' \
    '--max-hold: exit 124'
ok '--max-hold: free at once' holdfast run -n long -- true
capture holdfast run --max-hold 200ms --kill-grace 200ms long -- \
    sh -c 'trap "" TERM; while :; do sleep 0.05; done'
is "$code" 124 '--max-hold against a deaf command'
is "$(code_of holdfast run --max-hold 10 quick -- sh -c 'exit 2')" 2 \
    '--max-hold not reached'

# ---- --status-fd
holdfast run --status-fd 9 -t 3s status -- sh -c \
    'until grep -q renewed "$0"; do sleep 0.02; done' "$W/events" 9>"$W/events"
events=$(sed 's/^{"event":"\([a-z-]*\)".*/\1/' "$W/events" | uniq | xargs)
is "$events" 'waiting acquired renewed released' '--status-fd: the events'
like "$(cat "$W/events")" \
    '"acquired","name":"status","fence":[0-9]+,"owner":"[^"]+","deadline_ms":[0-9]+' \
    '--status-fd: their members'
out=$(holdfast run --status-fd 9 status -- ls /proc/self/fd 9>/dev/null |
    grep -c '^9$')
is "$out" 0 '--status-fd is not the command'"'"'s'
is "$(code_of sh -c 'holdfast run --status-fd 1 status -- true | true')" 0 \
    '--status-fd without a reader'
mkfifo "$W/full"
exec 9<>"$W/full"
dd if=/dev/zero bs=65536 count=1 >&9 2>/dev/null
capture timeout 10 holdfast run --status-fd 9 -t 3s status -- sleep 1.3
is "$code" 0 '--status-fd that is full delays no renewal'
# One page is left, and this event is longer; later the reader reads again, up to the
# event that was cut.
head -c 4096 <&9 >"$W/read"
long=$(printf '%01000d' 0 | tr 0 '\377')
capture timeout 10 holdfast run --status-fd 9 -t 3s "$long" -- sh -c \
    'sleep 1.3 && dd bs=4096 count=15 <"$0" >"$0.read" 2>/dev/null' "$W/full"
is "$code" 0 '... nor does an event that is longer than the rest of the pipe'
dd bs=65536 count=1 <&9 2>/dev/null | LC_ALL=C tr -d '\0' >"$W/events"
like "$(sed -n '$p' "$W/events")" '^\{"event":"released",.*\}$' \
    'after an event that was cut the next one has a line of its own'
exec 9>&-

# ---- Ancestors
capture timeout 10 holdfast run a -- holdfast run a -- echo inner
is "$code" 64 'a name held by the parent'
like "$err" '^holdfast: a: held by the `holdfast run` that this one runs under' \
    'is refused at once'
capture timeout 10 holdfast run a -- holdfast run b -- sh -c \
    'holdfast acquire a'
is "$code" 64 'a name held by a grandparent'
capture timeout 10 holdfast run a -- holdfast run b -- echo inner
is "$code:$out" 0:inner 'another name is fine'
capture timeout 10 holdfast run a -- holdfast run -u "local://$W/other" a -- \
    echo inner
is "$code:$out" 0:inner 'the same name in another store is fine'
capture timeout 10 holdfast run a -- holdfast run -n a -- true
is "$code" 64 'with -n too'
capture timeout 10 holdfast run a -- holdfast run --once 1h a -- true
is "$code" 64 'with --once too'
capture timeout 10 holdfast run a -- env -i PATH="$PATH" \
    HOLDFAST_URL="$HOLDFAST_URL" holdfast run -n a -- true
is "$code" 75 'without the environment it is just taken'
finish
