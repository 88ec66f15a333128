# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# --once on a store that agrees by consensus: one run a period, judged by the clock
# of the servers, whatever becomes of the lock. Source after servers.sh and the file
# of the server, which a test has started; the test sets
#
#   KIND NODE HOLDFAST_URL   etcd, consul, zookeeper; the server's NAME
#   mark_path NAME           prints the key of its mark
#   mark_get PATH            prints what is stored there; fails if there is nothing
#   mark_put PATH TEXT       stores it there, mark_remove PATH: no more
#   keys_of NAME             prints all keys of a lock and its mark, one a line
#
# and calls what it wants of
#
#   once_period              what a mark is, and does
#   once_server              kill -9 of the server
#   once_withdrawn once_contest once_killed once_names
#   once_odd                 another program's text in the place of a mark
#   once_swept               marks that no session removes
#   once_faults              kill -9 of the server while a name is marked
#
# Names begin with the letters of the case, so that cases do not meet.

ran() { # NAME [OPTION...]
    local name=$1
    shift
    timeout 60 holdfast run --once 1h "$@" "$name" -- echo ran
}
mark_of() { mark_get "$(mark_path "$1")"; }
is_free() { holdfast run -n "$1" -- true; }
is_unmarked() { ! mark_of "$1" >/dev/null 2>&1; }

once_period() {
    local now start
    has_mark_alone() { [ "$(keys_of brief)" = "$(mark_path brief)" ]; }
    holdfast run --once 1s brief -- true
    ok 'of a run its mark is left' wait_until 20 has_mark_alone

    capture ran kept
    is "$code:$out$err" 0:ran 'runs'
    capture ran kept
    is "$code:$out$err" 0: 'and not again in this period'
    is "$(timeout 60 holdfast run -w 20 kept -- echo plain)" plain \
        'a plain run need not wait for it'
    is "$(ran kept)" '' '... and does not end it'
    like "$(mark_of kept)" '^[0-9]+ [0-9]{13} 3600000 [0-9a-f]{32}:' \
        'the mark: fence, start, length, owner'
    now=$(date +%s)
    start=$(mark_of kept | cut -d ' ' -f 2)
    ok 'it begins by the clock of the server' test "$((start / 1000 - now))" -le 1
    ok '... just now' test "$((now - start / 1000))" -le 60

    capture holdfast ls
    like "$out" 'kept +[^ ]+ .*ended' 'ls lists the mark'
    is "$(grep -c '^kept ' <<<"$out")" 1 '... once'
    capture holdfast ls --json kept
    like "$out" '"state":"ended"' 'ls NAME shows it, too'
    capture timeout 60 holdfast run -w 20 held -- holdfast ls
    like "$out" 'held +exclusive' '... beside a lock that is held'
    like "$out" 'kept +[^ ]+ .*ended' '... and that beside it'
}

once_server() {
    local began took
    again() { [ "$(timeout 60 holdfast run --once 6s again -- echo ran)" = ran ]; }
    began=$(now_ms)
    holdfast run --once 6s again -- true
    node_kill "$KIND" "$NODE"
    node_restart "$KIND" "$NODE" || fail 'the server starts again'
    capture timeout 60 holdfast run --once 6s again -- echo ran
    took=$(($(now_ms) - began))
    if [ $took -lt 5900 ]; then
        is "$code:$out$err" '0:' 'the server is killed: the period goes on'
    else
        diag "a start took $took ms: the period is over"
    fi
    is "$(ran kept)" '' '... the other one, too'
    ok 'it runs again' wait_until 20 again
    took=$(($(now_ms) - began))
    ok "not earlier than 6 s ($took ms)" test $took -ge 5950
    [ $took -ge 14000 ] || ok 'not later than some seconds after that' \
        test $took -lt 11000
    is "$(mark_of again | wc -l)" 1 'it is marked'
}

once_withdrawn() {
    capture timeout 60 holdfast run --once 1h failed -- false
    is "$code:$(ran failed)" 1: 'a failed run keeps the period'
    capture timeout 60 holdfast run --once 1h --on-fail release let -- false
    is "$code" 1 'a run fails that leaves it to others'
    like "$(mark_of let)" '^[0-9]+ [0-9]+ [0-9]+ $' '... by a tombstone'
    is "$(ran let --on-fail release)" ran '... which run'
    is "$(ran let)" '' 'one that succeeds keeps it'
    capture timeout 60 holdfast break kept
    is "$code" 0 'break'
    is "$(ran kept)" ran '... clears the mark'
}

once_names() {
    local long
    long=$(printf '%1024s' '' | tr ' ' '\377')
    is "$(ran 'a b' c 'd/e%f')" ran 'several names are marked'
    is "$(ran c)$(ran 'd/e%f')$(ran 'a b')" '' 'each of them'
    is "$(ran '..')$(ran "$long")" ranran 'odd names are marked'
    is "$(ran '..')$(ran "$long")" '' '... until their period is over'
    capture timeout 60 holdfast ls --json
    is "$(jq -r 'select(.name == "d/e%f") | .state' <<<"$out" | sort -u)" ended \
        '... and listed as they were given'
    is "$(ran 'kept#once')$(ran 'kept~once')$(ran 'kept%once')" ranranran \
        'a name like the key of a mark is another one'
    is "$(ran kept)" '' '... beside that'
    timeout 60 holdfast run -w 20 'kept#once' -- sleep 1000 &
    local holder=$!
    is_held() { holdfast ls -q 'kept#once'; }
    ok '... and can be held' wait_until 20 is_held
    is "$(ran kept)" '' '... which does not change the mark'
    kill "$holder"
    wait "$holder" 2>/dev/null
}

once_contest() { # [N]: five at once, exactly one runs; N times
    local round i pids bad
    for ((round = 1; round <= ${1:-3}; round++)); do
        pids=() bad=0
        : >"$W/runs"
        : >"$W/said"
        for i in 1 2 3 4 5; do
            timeout 60 holdfast run --once 1h "cron$round" -- \
                sh -c 'echo ran >>"$0"' "$W/runs" 2>>"$W/said" &
            pids+=($!)
        done
        for i in "${pids[@]}"; do
            wait "$i" || bad=$((bad + 1))
        done
        is "$(wc -l <"$W/runs"):$bad:$(cat "$W/said")" 1:0: \
            "five contenders: one runs ($round)"
    done
}

# The keeper is the command's parent.
once_killed() {
    # On a busy machine 2 s may be too short to be granted.
    has_run() {
        # shellcheck disable=SC2016 # the command's own variables
        holdfast run --once 1h -t 2s killed -- \
            sh -c 'echo $PPID >"$0"; kill -9 $PPID; exec sleep 300' "$W/keeper" \
            2>"$W/.err"
        [ -s "$W/keeper" ]
    }
    ok 'a command begins' wait_until 60 has_run
    ok 'kill -9 of the keeper ends the lock' wait_until 50 is_free killed
    is "$(ran killed)" '' 'and not the period'
}

once_odd() {
    local path
    path=$(mark_path odd)
    mark_put "$path" hello
    capture ran odd
    isnt "$code" 0 'a key of another program in its place'
    like "$err" "is none of Holdfast's" '... is told'
    unlike "$out" ran '... and nothing runs'
    capture timeout 60 holdfast ls
    like "$out" 'odd +[^ ]+ +.another kind of client' '... and ls shows it'
    like "$out" 'kept +[^ ]+ .*ended' '... beside the others'
    is "$(mark_of odd)" hello '... and it stays'
    is "$(timeout 60 holdfast run -w 20 odd -- echo plain)" plain \
        'without --once it does not matter'
    mark_remove "$path"
}

# Fewer than a sweep looks at, under a prefix of their own.
once_swept() { # PREFIX
    local HOLDFAST_URL="$HOLDFAST_URL&prefix=$1" now owner
    export HOLDFAST_URL
    now=$(now_ms)
    owner=0123456789abcdef0123456789abcdef:h:1:1764000000
    mark_put "$(mark_path week | sed "s/lock:/$1/")" \
        "7 $((now - 700000000)) 604800000 $owner"
    mark_put "$(mark_path live | sed "s/lock:/$1/")" \
        "7 $((now - 400000000)) 604800000 $owner"
    mark_put "$(mark_path tomb | sed "s/lock:/$1/")" \
        "8 $((now - 100000000)) 10000 "
    mark_put "$(mark_path late | sed "s/lock:/$1/")" \
        "9 $((now - 80000000)) 10000 $owner"
    mark_put "$(mark_path else | sed "s/lock:/$1/")" hello
    at() { mark_get "$(mark_path "$1" | sed "s/lock:/$swept/")" 2>/dev/null; }
    swept=$1
    are_swept() { ! at week >/dev/null && ! at tomb >/dev/null; }
    is "$(ran live)" '' 'a mark of a week that lasts'
    ok 'nothing is removed without need' at week
    is "$(timeout 60 holdfast run --once 1h fresh -- sleep 2 && echo ran)" ran \
        'another name is marked'
    ok '... and marks that were over a day ago are removed' wait_until 20 are_swept
    like "$(at live)" '^7 .* 604800000 ' '... not one that lasts'
    like "$(at late)" '^9 .* 10000 ' '... nor one that has just ended'
    is "$(at else)" hello '... nor what is no mark'
    like "$(at fresh)" ' 3600000 ' '... nor the new one'
    is "$(ran late)" ran 'one that has just ended is replaced'
    like "$(at late)" ' 3600000 ' '... in its place'
}

# Whatever becomes of a write whose reply was lost, a job is not run twice.
once_faults() { # N
    local i j pids
    : >"$W/runs"
    for ((i = 1; i <= $1; i++)); do
        pids=()
        for j in 1 2 3; do
            # shellcheck disable=SC2016 # the command's own variables
            timeout 60 holdfast run --once 1h "fault$i" -- \
                sh -c 'echo ran-$1 >>"$0"' "$W/runs" "$i" 2>>"$W/said" &
            pids+=($!)
        done
        node_kill "$KIND" "$NODE"
        node_restart "$KIND" "$NODE" || fail 'the server starts again'
        for j in "${pids[@]}"; do
            wait "$j" 2>/dev/null
        done
        timeout 60 holdfast run --once 1h "fault$i" -- \
            sh -c 'echo ran-$1 >>"$0"' "$W/runs" "$i" 2>>"$W/said"
    done
    is "$(sort "$W/runs" | uniq -d)" '' 'the server is killed: none runs twice'
    ok "... and they run ($(wc -l <"$W/runs") of $1)" test -s "$W/runs"
}
