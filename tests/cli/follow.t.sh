#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ls --follow: each change as a line, outages, and its end.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

declare -A pids=()
judge() { # ARG... : by jq's answer
    jq -e "$@" >/dev/null
}
end_runs() {
    [ ${#pids[@]} != 0 ] || return 0
    kill "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    pids=()
}
at_exit end_runs

follow() { # FILE ARG...
    local file=$1
    shift
    holdfast ls --follow --interval 20ms "$@" >>"$W/$file" 2>"$W/$file.err" &
    pids[follow]=$!
}
run() { # NAME ARG... : until end NAME
    local who=$1
    shift
    holdfast run --label "$who" "$@" -- sleep 300 2>/dev/null 9<&- &
    pids[$who]=$!
}
end() { # NAME
    kill "${pids[$1]}"
    wait "${pids[$1]}" 2>/dev/null
    unset "pids[$1]"
}
said() { # FILE REGEX : a line has it after its time
    grep -qE "^[0-9:]{8}\.[0-9]{3}  $2" "$W/$1"
}
says() { # FILE REGEX TITLE
    ok "$3" wait_until 10 said "$1" "$2"
}
is_listed() { # NAME
    holdfast ls | grep -q "^$1 "
}

watch() { # URL TITLE
    local title=$2 who
    who="$(uname -n) pid [0-9]+"
    export HOLDFAST_URL=$1
    rm -f "$W"/{f,name,j}
    run old before
    ok "$title: held before" wait_until 10 is_listed before
    follow f
    says f "before +held by $who since [0-9:]+ \(old\), fence [0-9]+\$" \
        "$title: locks held at first"
    run A job
    says f "job +acquired by $who \(A\), fence [0-9]+\$" "$title: acquired"
    run B job
    says f 'job +waiting 1 \(\+1\)$' "$title: one waits"
    run C job
    says f 'job +waiting 2 \(\+1\)$' "$title: another one"
    end C
    says f 'job +waiting 1 \(-1\)$' "$title: and gives up"
    end A
    says f "job +handed over: $who \(A\) -> $who \(B\), fence [0-9]+\$" \
        "$title: handed over"
    says f 'job +waiting 0 \(-1\)$' "$title: and no client waits"
    end B
    says f "job +released by $who \(B\)\$" "$title: released"
    is "$(grep -c ' job ' "$W/f")" 7 "$title: and no line more"

    # A lease that is not renewed.
    HOLDFAST_OWNER=$(holdfast acquire -t 1s gone) && unset HOLDFAST_OWNER
    says f "gone +acquired by $who, fence [0-9]+\$" "$title: taken, and left"
    says f "gone +expired: $who\$" "$title: its lease is over"
    # shellcheck disable=SC2016
    holdfast run --min-hold 3s kept -- \
        sh -c 'until grep -q "kept .*acquired" "$0"; do :; done' "$W/f"
    says f "kept +ended, and kept taken, by $who\$" "$title: ended"
    says f "kept +(expired|released by|expired:)" "$title: and free in the end"

    # Readers, and a semaphore.
    run R1 -s book
    says f 'book +acquired by 1 reader, fence [0-9]+$' "$title: a reader"
    run R2 -s book
    says f 'book +readers 2 \(\+1\)$' "$title: another one"
    end R1
    says f 'book +readers 1 \(-1\)$' "$title: one less"
    run W book
    says f 'book +waiting 1 \(\+1\)$' "$title: a writer waits"
    end R2
    says f "book +handed over: 1 reader -> $who \(W\), fence" \
        "$title: and is handed it"
    end W
    run G1 -p 1 gpu
    says f "gpu#0 +acquired by $who \(G1\)" "$title: a permit"
    run G2 -p 1 gpu
    says f 'gpu +waiting 1 \(\+1\)$' "$title: one waits for it"
    end G1
    says f "gpu#0 +handed over: $who \(G1\) -> $who \(G2\)" "$title: and gets it"
    end G2
    says f "gpu#0 +released by $who \(G2\)" "$title: and gives it back"
    unlike "$(grep ' gpu ' "$W/f")" 'acquired|readers' \
        "$title: the semaphore itself has no holders"
    kill -TERM "${pids[follow]}"
    wait "${pids[follow]}"
    is "$?:$(cat "$W/f.err")" 0: "$title: SIGTERM ends it"

    # One name, and its slots.
    follow name gpu
    run X gpux
    run G1 -p 1 gpu
    says name "gpu#0 +(acquired|held) by $who .*\(G1\)" "$title: NAME: its slots"
    end follow
    unlike "$(cat "$W/name")" 'gpux' "$title: NAME: no other name"

    # For programs.
    follow j --json 'job*'
    run before job
    wait_until 10 grep -qE 'acquired|held' "$W/j"
    end before
    wait_until 10 grep -q released "$W/j"
    : >"$W/j" # it appends: the locks held at first do not matter
    run A job
    wait_until 10 grep -q acquired "$W/j"
    run B job
    wait_until 10 grep -q '"waiting":1' "$W/j"
    end A
    ok "$title: --json: handed over" wait_until 10 grep -q handed-over "$W/j"
    end B
    wait_until 10 grep -q released "$W/j"
    is "$(jq -r .event "$W/j" | xargs)" \
        'acquired waiting handed-over waiting released' "$title: --json: events"
    is "$(jq -r 'select(.event == "handed-over") |
        .name, .label, .from.label' "$W/j" | xargs)" 'job B A' \
        "$title: --json: the old and the new holder"
    is "$(jq -r 'select(.event == "waiting") | .waiting, .delta' "$W/j" |
        xargs)" '1 1 0 -1' "$title: --json: how many wait"
    # shellcheck disable=SC2016
    ok "$title: --json: when" judge --argjson now "$(now_ms)" \
        '$now - .time_ms < 60000' "$W/j"
    end_runs
}

watch "local://$W/store" embedded
server_start one
watch "${SERVER_URL[one]}?quarantine=off&node_timeout=1s" 'one redis'

# ---- The store is away, and back
follow away
run A job
says away 'job +(acquired|held) by' 'outage: followed'
server_kill one
says away '\(unreachable: .+\)$' 'outage: said'
before=$(wc -l <"$W/away")
server_restart one
says away '\(back\)$' 'outage: and that it is over'
# On a busy machine the server may be late once more after that.
is "$(sed '/(back)/q' "$W/away" | grep -c unreachable)" 1 'outage: once'
ok 'outage: it was the last line' test "$before" -gt 0
end_runs
# A server that is of no use for a while, as in a fail-over: no end of it.
follow demoted
run A job
says demoted 'job +(acquired|held) by' 'a replica: followed before'
server_cli one replicaof 127.0.0.1 1 >/dev/null
server_cli one client kill type normal >/dev/null
# The line has the reason that was noticed first, which may be the connection.
says demoted '\(unreachable: .+\)$' 'a replica: said'
capture timeout 30 holdfast ls
like "$err" 'is a replica of ' 'a replica: ls names the reason'
server_cli one replicaof no one >/dev/null
says demoted '\(back\)$' 'a primary again: said'
end_runs
# A marker that is too long to compare is none, and each look finds that. It does not
# make the client identify the server again, which asks for CONFIG.
server_cli one hset hf:node v "$(printf '%060d' 0)" >/dev/null
calls() { # COMMAND
    server_cli one info commandstats | sed -n "s/^cmdstat_$1:calls=\([0-9]*\),.*/\1/p"
}
follow long
looks=$(calls hgetall)
asked() { [ "$(calls hgetall)" -ge "$((looks + $1))" ]; }
ok 'a long marker: it is looked at' wait_until 20 asked 2
identified=$(calls 'config|get')
ok 'a long marker: again and again' wait_until 20 asked 12
ok 'a long marker: and the server not identified each time' \
    test "$(calls 'config|get')" -le "$((identified + 5))"
end_runs
# Servers in quarantine answer: the rest is no majority, and locks may be missing.
servers_start 3
export HOLDFAST_URL="$URLS?node_timeout=1s&max_ttl=10s"
servers_declare "$HOLDFAST_URL"
follow few
pids[few]=${pids[follow]}
follow few-json --json
run A job
says few 'job +(acquired|held) by' 'quarantine: followed before'
has_event() { # EVENT [MEMBER]
    jq -se "any(.[]; .event == \"$1\" and (${2:-true}))" "$W/few-json" >/dev/null
}
server_cli s1 flushall >/dev/null
run B other
says few 'other +(acquired|held) by' 'quarantine: one of three'
is "$(grep -c incomplete "$W/few")" 0 'quarantine: no line while a majority counts'
server_cli s2 flushall >/dev/null
for name in s1 s2; do
    server_cli $name client kill type normal >/dev/null
done
says few '\(incomplete: too few servers count \(.*/s1/s: .*; .*/s2/s: .*\)$' \
    'quarantine of two: said'
ok 'quarantine of two: in JSON' wait_until 10 has_event incomplete '.text != ""'
ok 'quarantine: and that it is over' wait_until 40 said few '\(complete\)$'
ok 'quarantine: in JSON' wait_until 10 has_event complete
is "$(grep -c '(incomplete' "$W/few")" 1 'quarantine: once'
end_runs
# A server that is emptied, and keeps its connections: that is said before the locks
# seem to have ended.
server_start emptied
export HOLDFAST_URL="${SERVER_URL[emptied]}?node_timeout=1s&max_ttl=60s"
servers_declare "$HOLDFAST_URL"
follow list
pids[list]=${pids[follow]}
follow name --name job
run A -t 60 job
says list 'job +(acquired|held) by' 'emptied: followed before'
says name 'job +(acquired|held) by' 'emptied: the name, too'
server_cli emptied flushall >/dev/null
for which in list name; do
    says $which 'job +released by' "emptied, $which: its locks seem to have ended"
    like "$(grep -B1 'released by' "$W/$which" | head -n 1)" \
        '\(incomplete: too few servers count \(.*\)$' "emptied, $which: said before"
done
end_runs
HOLDFAST_URL=redis+unix://$W/absent follow never
says never '\(unreachable: .+\)$' 'never reached: said, and goes on'
ok 'never reached: still there' kill -0 "${pids[follow]}"
end_runs

# ---- The reader of its output is gone
export HOLDFAST_URL=local://$W/store
mkfifo "$W/pipe"
holdfast ls --follow --interval 20ms >"$W/pipe" 2>"$W/err" &
pids[follow]=$!
exec 9<"$W/pipe"
run A job
IFS= read -r -t 10 line <&9
like "$line" 'job +(acquired|held) by' 'a pipe gets each line at once'
exec 9<&-
ok 'without a reader it ends' \
    wait_until 10 is_gone "${pids[follow]}"
wait "${pids[follow]}"
is "$?:$(cat "$W/err")" 0: 'and says nothing'
unset "pids[follow]"
capture sh -c 'holdfast ls --follow >/dev/full'
is "$code" 70 'stdout full: exit 70'

# ---- At a terminal
cat >"$W/script" <<'S'
expect job
send \x03
expect code-0
S
# shellcheck disable=SC2016
ok 'Ctrl-C ends it' timeout 30 "$HF_BUILD/tests/lib/pty" sh -c \
    'trap : INT; holdfast ls --follow; echo code-$?' <"$W/script"
end_runs

# ---- It asks no more than it must
server_cli one config resetstat >/dev/null
export HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
follow asks --interval 100ms job
looks() {
    [ "$(server_cli one info commandstats |
        sed -nE 's/^cmdstat_evalsha:calls=([0-9]+),.*/\1/p')" -ge 5 ]
}
ok 'a name is looked at again and again' wait_until 10 looks
unlike "$(server_cli one info commandstats)" 'cmdstat_scan' \
    'and for it no other name is'
end_runs
# `timeout` sends its signal twice, and an impatient user more often: it may come while
# the client is being closed.
export HOLDFAST_URL=local://$W/ended
catches() { # the command, not the shell before it
    local caught
    [ "$(<"/proc/${pids[follow]}/comm")" = holdfast ] || return
    caught=$(sed -n 's/^SigCgt:\t*//p' "/proc/${pids[follow]}/status")
    (((0x$caught & 0x4000) != 0))
}
codes=''
for i in {1..10}; do
    follow "ended$i"
    wait_until 10 catches
    pid=${pids[follow]} began=$EPOCHSECONDS
    # Not until kill fails: to a zombie that bash has not reaped it never does.
    until is_gone "$pid" || [ $((EPOCHSECONDS - began)) -gt $((30 * busy)) ]; do
        kill -TERM $pid $pid $pid $pid $pid $pid 2>/dev/null
    done
    wait "$pid"
    codes+="$? "
done
is "$codes" '0 0 0 0 0 0 0 0 0 0 ' 'SIGTERM ends it, however often it is sent'
finish
