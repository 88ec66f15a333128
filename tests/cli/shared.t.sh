#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Readers and writers from the shell (--shared), clients that pass the queue
# (--unfair), and waits that end without leaving a place in a queue.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
# timeout: 180

ahead() { # NAME N
    grep -q "\"ahead\":$2}" "$W/events.$1"
}
fence_of() {
    sed -n "s/^$1 //p" "$W/held" | tail -n 1
}

readers_and_writers() { # URL TITLE
    local title=$2 one two writer three
    export HOLDFAST_URL=$1
    rm -f "$W/held"
    begin r1 -s book
    one=$begun
    begin r2 --shared book
    two=$begun
    ok "$title: two read at once" wait_until 10 eval 'holds r1 && holds r2'
    gives 0 "$title: a try reads, too" run -n -s book -- true
    gives 75 "$title: a try does not write" run -n book -- true
    like "$err" '^holdfast: book: [^'$'\n'']*share' "$title: and says why"
    gives 0 "$title: --once: 0" run --once 1h book -- echo no
    is "$out$err" '' "$title: --once: and nothing is said"

    # A writer waits, and a reader after it, although others read.
    begin w book
    writer=$begun
    ok "$title: a writer waits" wait_until 10 ahead w 0
    begin r3 -s book
    three=$begun
    ok "$title: a reader after it waits" wait_until 10 ahead r3 1
    gives 75 "$title: a try does not overtake the writer" run -n -s book -- true
    gives 0 "$title: --unfair reads beside the readers" \
        run -n -s --unfair book -- true
    end r1
    wait "$one"
    ok "$title: the writer waits for the last reader" \
        test ! -e "$W/on.w" -a ! -e "$W/on.r3"
    end r2
    ok "$title: then it writes" wait_until 10 holds w
    wait "$two"
    ok "$title: alone" test ! -e "$W/on.r3"
    gives 75 "$title: no reader beside it" run -n -s book -- true
    end w
    ok "$title: the reader after it is next" wait_until 10 holds r3
    wait "$writer"
    end r3
    wait "$three"
    is $? 0 "$title: all end well"
    ok "$title: the writer's fence is above its readers'" test \
        "$(fence_of w)" -gt "$(fence_of r1)" -a \
        "$(fence_of w)" -gt "$(fence_of r2)"
    ok "$title: and below the next one's" test \
        "$(fence_of r3)" -gt "$(fence_of w)"

    # From one process to another.
    local line owner
    line=$(holdfast acquire -s book)
    owner=${line%% *}
    gives 0 "$title: acquire -s twice" acquire -n -s book
    HOLDFAST_OWNER=${out%% *} holdfast release book
    is $? 0 "$title: release of the second"
    gives 75 "$title: the first one's still stands" acquire -n book
    HOLDFAST_OWNER=$owner capture holdfast extend book
    is "$code" 0 "$title: extend"
    HOLDFAST_OWNER=$owner capture holdfast release book
    is "$code" 0 "$title: release"
    gives 0 "$title: free" run -n book -- true

    # Nested runs.
    gives 64 "$title: shared by an ancestor, and shared again" \
        run -s a -- holdfast run -s a -- true
    like "$err" '^holdfast: a: held by .* runs under: sharing it twice' \
        "$title: is refused, with the reason"
    gives 64 "$title: shared by an ancestor, and wanted alone" \
        run -s a -- holdfast run a -- true
    gives 64 "$title: held alone by an ancestor, and shared" \
        run a -- holdfast run -s a -- true
    gives 0 "$title: another name is fine" \
        run -s a -- holdfast run -s b -- echo in

    # --unfair passes a queue while the name is free for a moment; it never
    # takes a held name.
    begin r1 book
    one=$begun
    wait_until 10 holds r1
    gives 75 "$title: --unfair takes nothing that is held" \
        run -n --unfair book -- true
    gives 75 "$title: acquire --unfair too" acquire -n --unfair book

    # A lock that acquire got from the queue has the full lease, as without a
    # wait.
    holdfast acquire -t 50s book >"$W/line" &
    two=$!
    pids+=("$two")
    ok "$title: acquire waits in the queue" wait_until 10 is_waited_for book
    end r1
    wait "$one" "$two"
    is $? 0 "$title: acquire is handed it over"
    read -r owner _ line <"$W/line"
    ok "$title: with the whole lease ($line s)" test "${line%.*}" -ge 40
    HOLDFAST_OWNER=$owner holdfast release book
    is $? 0 "$title: and gives it back"
}
is_waited_for() { # NAME
    holdfast ls --json "$1" | grep -q '"waiting":1,'
}

# A waiter that gives up leaves no place in the queue: the next one moves up.
give_up() { # URL TITLE
    local title=$2 holder waiter next signal
    export HOLDFAST_URL=$1
    begin w held
    holder=$begun
    wait_until 10 holds w
    for signal in INT TERM HUP; do
        set -m # else a background job ignores SIGINT
        begin r1 held
        waiter=$begun
        set +m
        wait_until 10 ahead r1 0
        begin r2 held
        next=$begun
        ok "$title: the second has one ahead" wait_until 10 ahead r2 1
        kill -$signal $waiter
        wait "$waiter"
        is $? $((128 + $(kill -l $signal))) "$title: SIG$signal while waiting"
        ok "$title: the next one moves up" wait_until 10 ahead r2 0
        kill -TERM "$next"
        wait "$next"
    done
    gives 75 "$title: -w ends" run -w 100ms held -- true
    begin r1 held
    waiter=$begun
    wait_until 10 ahead r1 0
    kill -KILL "$waiter"
    wait "$waiter" 2>/dev/null
    end w
    wait "$holder"
    ok "$title: a killed waiter does not block the queue" \
        holdfast run -w 20 held -- true
    ok "$title: nor gets it" test ! -e "$W/on.r1"
}

readers_and_writers "local://$W/store" embedded
give_up "local://$W/store" embedded
server_start one
url="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
readers_and_writers "$url" 'one redis'
give_up "$url" 'one redis'
no_queue() {
    [ -z "$(server_cli one --scan | grep -vE ':fence$|^hf:node')" ]
}
ok 'one redis: no key of queues, readers or locks is left' \
    wait_until 10 no_queue

# ---- Five nodes
servers_start 5
readers_and_writers "$URLS?quarantine=off&node_timeout=1s" 'five redis'

# ---- The line at a terminal: cut where it ends, gone when it is over
export HOLDFAST_URL=local://$W/store
pty=$HF_BUILD/tests/lib/pty
begin w held
wait_until 10 holds w
# \r and an erase sequence: before each state, and at the end.
clear=$'\r\e[K' match=$'\r\e\\[K'
cat >"$W/script" <<X
like ${match}waiting [0-9]+s for held: next, held by
expect , lease until
like ${match}waiting [0-9]+s for held
send \x03
expect ${clear}holdfast: held: stopped by SIGINT while waiting
expect code-130
X
# shellcheck disable=SC2016
ok 'the line names the holder and the place' timeout 30 "$pty" sh -c \
    'trap : INT; stty cols 120; holdfast run held -- true; echo code-$?' <"$W/script"
cat >"$W/script" <<X
like waiting [0-9]+s for held: next,[^,]*${match}waiting [0-9]+s for held: next,[^,]*$match
send \x03
expect code-130
X
# shellcheck disable=SC2016
ok 'on a narrow terminal it is cut, not wrapped' timeout 30 "$pty" sh -c \
    'trap : INT; stty cols 30; holdfast run held -- true; echo code-$?' <"$W/script"
end w
finish
