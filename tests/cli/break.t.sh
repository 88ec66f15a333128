#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# break: when it frees a name at once, for how long it waits, and how it is
# cancelled.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 600

command -v jq >/dev/null || skip_all 'no jq'

await=$HF_BUILD/tests/lib/await

waits() { [ "$(holdfast ls --json job | jq .waiting)" = 1 ]; }
readers() { [ "$(holdfast ls --json read | jq .sharers)" = "$1" ]; }
ran() { holdfast run --once 1h "$1" -- echo ran; }

# Broken while a client waits: the waiter is granted it. break's options follow.
passed_on() { # TITLE OPTION...
    local title=$1 waiter pid
    shift
    touch "$W/go"
    holdfast run job -- "$await" -g "$W/go" &
    waiter=$!
    ok "$title: one waits" wait_until 20 waits
    capture holdfast break "$@" job
    pid=$(holdfast ls --json job | jq .pid)
    like "$code:$out" "^0:job was taken from [^ ]+ pid [0-9]+ and goes to [^ ]+ pid $pid(;.*)?\$" \
        "$title: names the waiter that got it"
    rm "$W/go"
    wait "$waiter"
    is $? 0 "$title: which runs"
}

test_store() { # TITLE
    local title=$1 owner fence breaker waiter start took refusal
    # Only reserved.
    holdfast run --min-hold 1h reserved -- true
    start=$(now_ms)
    capture timeout 60 holdfast break reserved
    took=$(($(now_ms) - start))
    like "$code:$out" '^0:reserved was kept taken after the end of .* and is free$' \
        "$title: a reserved name is free at once"
    ok "$title: at once ($took ms)" test "$took" -lt 10000
    is "$(holdfast run -n reserved -- echo ran)" ran "$title: and can be taken"
    is "$(ran both)" ran "$title: --once"
    holdfast run --min-hold 1h both -- true
    capture timeout 60 holdfast break -n both
    is "$code" 0 "$title: a mark and a reservation together, also with -n"
    is "$(ran both)" ran "$title: --once may run again"

    # A refusal has the words of that of run.
    read -r owner fence _ < <(holdfast acquire --label 'a\b (c)' -t 25s label)
    capture holdfast break -n label
    refusal=$(sed -E 's/[0-9]+\.[0-9] s$/N s/' <<<"$err")
    capture holdfast run -n label -- true
    is "$refusal" "$(sed -E 's/[0-9]+\.[0-9] s$/N s/' <<<"$err")" \
        "$title: -n refuses as run -n does"
    like "$refusal" ' \(a\\b \(c\)\), lease ends in N s$' "$title: with the label"
    holdfast release label --owner "$owner"

    # A cancelled break leaves the holder as it was.
    read -r owner fence _ < <(holdfast acquire -t 25s job)
    start=$(now_ms)
    capture holdfast break -n job
    like "$code:$err" '^75:holdfast: job: held by [^ ]+ pid [0-9]+ ' \
        "$title: -n does not wait"
    capture holdfast break -w 2s job
    like "$code:$err" '^75:holdfast: job: held by [^ ]+ pid [0-9]+ ' \
        "$title: -w less than the lease: at once"
    rm -f "$W/err" # of the store before: it is read once it is not empty
    holdfast break job >"$W/out" 2>"$W/err" &
    breaker=$!
    ok "$title: it says that it waits" wait_until 20 test -s "$W/err"
    like "$(cat "$W/err")" \
        "^waiting for the lease of job's holder \([^ ]+ pid [0-9]+\) to end, at most until [0-9:]+\$" \
        "$title: and until when"
    kill -TERM "$breaker"
    wait "$breaker"
    is $? 143 "$title: SIGTERM: 143"
    like "$(tail -n 1 "$W/err")" '^holdfast: job: stopped by SIGTERM while waiting$' \
        "$title: and says so"
    is "$(wc -c <"$W/out")" 0 "$title: nothing is broken"
    capture holdfast extend -t 3s job --owner "$owner"
    is "$code" 0 "$title: the holder has it still, and renews"
    is "$(cut -d' ' -f2 <<<"$out")" "$fence" "$title: with its fence"
    ok "$title: no step waited for a full lease" test $(($(now_ms) - start)) -lt 24000
    capture holdfast release job --owner "$owner"
    is "$code" 0 "$title: and can release it"
    capture holdfast break -n job
    is "$code:$out" '0:job is free' "$title: nothing is left of the breaks"

    # The mark of a run in progress stays.
    touch "$W/end"
    holdfast run --once 1h -t 10s marked -- "$await" -g "$W/end" &
    breaker=$!
    ok "$title: a marked run" wait_until 20 holdfast ls -q marked
    capture holdfast break -n marked
    is "$code" 75 "$title: -n: it goes on"
    rm "$W/end"
    wait "$breaker"
    is $? 0 "$title: to its end"
    is "$(ran marked)" '' "$title: and its mark is kept"

    # Readers would not get their locks back.
    touch "$W/end"
    holdfast run -s -t 20s read -- "$await" -g "$W/end" &
    waiter=$!
    holdfast run -s -t 20s read -- "$await" -g "$W/end" &
    breaker=$!
    ok "$title: two readers" wait_until 20 readers 2
    capture holdfast break -n read
    like "$code:$err" '^75:holdfast: read: held by .*lease ends in ' \
        "$title: -n leaves readers"
    capture holdfast break -w 2s read
    is "$code" 75 "$title: and so does -w"
    rm "$W/end"
    wait "$waiter"
    is $? 0 "$title: one runs to its end"
    wait "$breaker"
    is $? 0 "$title: and the other"
    capture holdfast run -n read -- echo ran
    is "$code:$out" 0:ran "$title: and the name is free"

    # The old holder's message names the breaker.
    rm -f "$W/began"
    holdfast run -t 5s job -- sh -c 'touch "$0"; exec sleep 60' "$W/began" 2>"$W/lost" &
    waiter=$!
    ok "$title: held" wait_until 20 test -e "$W/began"
    capture holdfast break job
    is "$code" 0 "$title: broken"
    wait "$waiter"
    like "$?:$(cat "$W/lost")" \
        '^76:holdfast: job: broken by `holdfast break` on [^ ]+ \(pid [0-9]+\) at [0-9:]+; the command was ended$' \
        "$title: the old holder names the breaker"
    rm -f "$W/began"
    holdfast run -t 6s job -- sh -c 'touch "$0"; exec sleep 60' "$W/began" 2>"$W/lost" &
    waiter=$!
    ok "$title: held" wait_until 20 test -e "$W/began"
    touch "$W/go"
    holdfast run -t 20s job -- "$await" -g "$W/go" &
    breaker=$!
    ok "$title: one waits" wait_until 20 waits
    capture holdfast break --now -q job
    wait "$waiter"
    like "$?:$(cat "$W/lost")" \
        '^76:holdfast: job: the lock was broken, or the store lost it; [^ ]+ pid [0-9]+ has it now; the command was ended$' \
        "$title: --now: it names the new holder"
    rm "$W/go"
    wait "$breaker"

    # Handed over to the next waiter.
    read -r owner fence _ < <(holdfast acquire -t 5s job)
    passed_on "$title: break"
    read -r owner fence _ < <(holdfast acquire -t 25s job)
    passed_on "$title: --now" --now
    read -r owner fence _ < <(holdfast acquire -t 5s job)
    capture holdfast break -q --json job
    is "$code:$(jq -r '.from + " " + (.to | tostring)' <<<"$out"):$err" \
        "0:${owner%@*} null:" "$title: --json names both"
}

export HOLDFAST_URL=local://$W/store
test_store embedded
capture holdfast break -n -w 1 x
like "$code:$err" '^64:.*--try does not wait: leave out --wait$' '-n and -w'
capture holdfast break --now -w 1 x
like "$code:$err" '^64:.*--now does not wait: leave out --try and --wait$' \
    '--now and -w'

server_start one
HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
test_store redis
server_cli one SET lock:foreign theirs PX 3600000 >/dev/null
rm -f "$W/err"
holdfast break foreign >"$W/out" 2>"$W/err" &
breaker=$!
ok 'a key of another library is waited for' wait_until 20 test -s "$W/err"
kill -TERM "$breaker"
wait "$breaker"
is "$(server_cli one GET lock:foreign)" theirs 'and is as it was, given up'

# A break that would not wait does not take the name for a moment.
writes() { # how often SET was called, in scripts too
    server_cli one INFO commandstats | tr -d '\r' | grep '^cmdstat_set:'
}
holdfast acquire -t 60s live >/dev/null
before=$(writes)
for option in -n '-w 1s'; do
    for name in live foreign; do
        # shellcheck disable=SC2086 # words
        capture holdfast break $option "$name"
        like "$code:$err" "^75:holdfast: $name: held by .*, lease ends in " \
            "break $option of $name: not yet"
    done
done
is "$(writes)" "$before" '... and it was never taken'
# 300 years, which no span holds.
server_cli one SET lock:foreign theirs PX 9300000000000000 >/dev/null
capture timeout 60 holdfast break -w 5s foreign
like "$code:$err" '^75:holdfast: foreign: held by ' \
    'a key with a lease of centuries is not broken'
is "$(server_cli one GET lock:foreign)" theirs 'and is as it was'

# What could not be written again is left alone, but by --now.
unreturned() { # TITLE KEY
    server_cli one PEXPIRE "lock:$2" 3600000 >/dev/null
    local before
    before=$(server_cli one DUMP "lock:$2")
    for option in -n '-w 1s' -q '-w 2h'; do
        # shellcheck disable=SC2086 # words
        capture timeout 20 holdfast break $option "$2"
        like "$code:$err" '^75:.*(lease ends in|in a form that cannot be written again: only with --now$)' \
            "break $option of $1: refused"
        is "$(server_cli one DUMP "lock:$2")" "$before" '... and it is as it was'
    done
    capture holdfast break --now "$2"
    is "$code" 0 "break --now of $1"
    is "$(server_cli one EXISTS "lock:$2")" 0 '... removes it'
}
server_cli one HSET lock:hash uuid:1 1 >/dev/null
unreturned 'a hash' hash
server_cli one SADD lock:set one >/dev/null
unreturned 'a set' set
server_cli one SET lock:empty '' >/dev/null
unreturned 'an empty string' empty
server_cli one SET lock:long "$(printf '%512s' '')" >/dev/null
unreturned '512 bytes' long
server_cli one SET lock:fits "$(printf '%511s' '')" PX 3600000 >/dev/null
capture holdfast break -n fits
like "$code:$err" '^75:.*held by' '511 bytes are returned'
is "$(server_cli one STRLEN lock:fits)" 511 '... as they were'

for s in a b c; do server_start "$s"; done
HOLDFAST_URL="${SERVER_URL[a]} ${SERVER_URL[b]} ${SERVER_URL[c]}?node_timeout=1s"
servers_declare "$HOLDFAST_URL"
test_store 'three servers'

# Two servers reply, and one of them has lost its data: its leases are unknown.
read -r owner fence _ < <(holdfast acquire -t 30s known)
server_cli a FLUSHALL >/dev/null
server_kill b
server_cli c DEL lock:known >/dev/null
capture holdfast break -n known
like "$code:$err" '^75:holdfast: known: a server in quarantine may have lost its lease$' \
    'a server in quarantine does not say that a name is free'
capture holdfast break --now known
like "$code:$out" '^0:.*; two may run until ' 'nor that it was'

# The result is not lost with the output.
export HOLDFAST_URL=local://$W/full
holdfast acquire -t 60s full >/dev/null
for option in --now --json; do
    capture sh -c "holdfast break $option full >/dev/full"
    like "$code:$err" '^70:holdfast: full (was taken from [^ ]+ pid [0-9]+ and )?is free.*; not reported: stdout: No space' \
        "break $option: a full stdout"
done
finish
