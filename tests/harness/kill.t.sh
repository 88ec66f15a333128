#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A test kills its own processes only, whatever numbers it has.
. "$(dirname "$0")/../lib/tap.sh"

lasting() { # COMMAND...: sets $pid
    "$@" setsid -f sh -c 'echo $$ >"$0/pid" && exec sleep 300' "$W"
    wait_until 10 test -s "$W/pid"
    pid=$(cat "$W/pid")
    rm "$W/pid"
}

sleep 300 &
ok "a child is alive" kill -0 $!
# The trap of the shell would swallow a TERM that comes before the exec.
ok "and is killed" kill -KILL $!
wait $! 2>/dev/null

lasting
ok "one that was reparented" kill -KILL "$pid"
ok "is gone" wait_until 10 is_gone "$pid"
lasting
ok "a group" kill -KILL -- "-$pid"
ok "is gone" wait_until 10 is_gone "$pid"
cd "$W" || exit
lasting env -i
ok "one without the environment, below the folder" kill -s KILL "$pid"
ok "is gone" wait_until 10 is_gone "$pid"

cd / || exit
lasting env -i
stranger=$pid
at_exit builtin kill "$stranger"
for how in "-KILL" "-9" "-s KILL" "-0" "-9 --"; do
    # shellcheck disable=SC2086 # words
    capture kill $how "$stranger"
    isnt "$code" 0 "kill $how of another test's process"
    like "$err" "kill: $stranger is no process of this test" "it says so"
done
capture kill -9 -- "-$stranger"
isnt "$code" 0 "its group"
sleep 300 &
capture kill -9 "$stranger" $!
is "$code" 1 "beside one of this test's"
ok "which is killed" wait_until 10 is_gone $!
ok "the other is not" builtin kill -0 "$stranger"
finish
