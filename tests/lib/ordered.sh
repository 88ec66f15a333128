# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Commands on a store that agrees by consensus: what all of these promise. Source
# after holders.sh and the file of the server, which a test has started; the test
# sets
#
#   KIND NODE            etcd, consul, zookeeper: its functions; the server's NAME
#   entries [NAME]       prints the entries of a lock, or of all, one a line
#   first_entry          of those that it reads: the one with the least number
#   session_of ENTRY     its session
#   session_end SESSION  ends it, by hand
#   entry_remove ENTRY   removes it, by hand
#
# and calls what it wants of
#
#   ordered_refuses CODE PATTERN WHAT URL
#   ordered_one ordered_order ordered_lost ordered_top ordered_names ordered_permits
#   ordered_list ordered_break ordered_handed
#   ordered_watched WHICH                       a holder's session, or entry, is removed
#   ordered_dead_begin, ordered_dead_end        a holder is killed; between them is
#                                               time, in which others may run
#   ordered_foreign_begin WHAT COMMAND...       another program holds the name that
#                                               COMMAND is given, until `foreign_end`
#   ordered_foreign_wait WHAT                   a waiter behind it, `after`, which holds
#                                               the name in the end
#   ordered_server                              the server stands still, is killed
#   ordered_endpoints URL                       one of its servers answers
#
# Names begin with the letters of the case, so that cases do not meet.

counts() { # N [NAME]: for wait_until
    [ "$(entries "${2:-}" | wc -l)" = "$1" ]
}
is_over() { is_gone "$1"; }

declare -A begun_of=()
holder() { # NAME ARG...: as `begin`
    begin "$@"
    begun_of[$1]=$begun
}

# A holder whose command is ended, for a reason that the test has made.
ordered_ends() { # NAME SECONDS WHAT
    local pid=${begun_of[$1]}
    ok "$3: its command is ended" wait_until "$2" is_over "$pid"
    is_over "$pid" || return
    wait "$pid"
    is "$?" 76 '... with exit 76'
}

ordered_refuses() { # CODE PATTERN WHAT URL
    capture timeout 60 holdfast run -n -u "$4" job -- echo ran
    is "$code" "$1" "$3: exit $1"
    like "$err" "$2" "$3: the message"
    unlike "$err" $'\n' "$3: one line"
    unlike "$err$out" 'secret|^ran' "$3: no password is shown, and nothing runs"
}

ordered_one() { # VERSION: doctor's words
    local first key
    # shellcheck disable=SC2016 # the command's own variables
    capture timeout 60 holdfast run one -- sh -c 'echo "$HOLDFAST_FENCE"; exit 7'
    is "$code" 7 'the exit code of the command'
    first=$out
    like "$first" '^[1-9][0-9]*$' 'it has a fence'
    ok 'nothing is left' wait_until 5 counts 0
    gives 0 'doctor: fit' doctor
    like "$out$err" "$1" 'doctor names the version'
    capture timeout 20 holdfast doctor --init
    isnt "$code" 0 'doctor --init is refused'
    like "$err$out" 'there is nothing to declare' '... with the reason'

    begin one one
    ok 'a holder' wait_until 20 holds one
    key=$(entries one)
    is "$(wc -l <<<"$key")" 1 'it has one entry'
    gives 75 'a try while it is held' run -n one -- true
    like "$err" 'held by .* pid [0-9]+' 'it names the holder'
    is "$(entries)" "$key" 'a failed try has left nothing'
    gives 75 'a shared try' run -n -s one -- true
    is "$(entries)" "$key" 'it has left nothing'
    gives 75 'a wait that ends' run -w 3 one -- true
    ok 'it has left nothing' wait_until 5 counts 1
    gives 0 'its queue is shown' ls one
    like "$out" 'held by .* pid [0-9]+' 'with the holder'
    gives 0 'ls -q: it is held' ls -q one
    capture timeout 20 holdfast ls -q another
    isnt "$code" 0 '... and another name is not'
    gives 78 'unfair is refused' run -n --unfair one -- true
    like "$err" 'would reverse fences' '... with the reason'
    end one
    ok 'nothing is left' wait_until 20 counts 0
}

ordered_order() {
    local i
    : >"$W/held"
    begin w0 order
    ok 'a holder' wait_until 20 holds w0
    for i in 1 2 3; do
        begin "w$i" -w 60 order
        ok "waiter $i" wait_until 20 counts $((i + 1)) order
    done
    for i in 1 2 3; do
        end "w$((i - 1))"
        ok "waiter $i is next" wait_until 20 holds "w$i"
    done
    is "$(awk '{print $1}' "$W/held" | tr '\n' ' ')" 'w0 w1 w2 w3 ' \
        'first come, first served'
    ok 'fences rise' sort -nCu -k2 "$W/held"
    end w3
    ok 'nothing is left' wait_until 20 counts 0

    begin r1 -s doc
    ok 'a reader' wait_until 20 holds r1
    begin r2 -s doc
    ok 'another one beside it' wait_until 20 holds r2
    begin w -w 60 doc
    ok 'a writer waits' wait_until 20 counts 3 doc
    gives 75 'a reader behind it is refused' run -n -s doc -- true
    begin r3 -s -w 60 doc
    ok '... or waits' wait_until 20 counts 4 doc
    end r1
    end r2
    ok 'then the writer holds' wait_until 20 holds w
    is "$(holds r3 && echo held)" '' '... alone'
    end w
    ok 'then the reader' wait_until 20 holds r3
    end r3

    begin several -t 5s b a c
    ok 'several names' wait_until 20 holds several
    ok '... are three entries' wait_until 20 counts 3
    gives 75 'each excludes' run -n a -- true
    end several
    ok 'all are gone' wait_until 20 counts 0
}

ordered_dead_begin() {
    begin dead -t 3s dead
    ok 'a holder' wait_until 20 holds dead
    dead_fence=$(sed -n 's/^dead //p' "$W/held")
    # The wrapper alone would not do: its keeper releases.
    mapfile -t children < <(pgrep -P "$begun" && pgrep -P "$(pgrep -d, -P "$begun")")
    # Those that are killed later must not act on the end of the first.
    are_stopped() {
        local pid
        for pid in "${children[@]}" "$begun"; do
            [[ $(sed 's/.*) //' "/proc/$pid/stat") == T* ]] || return
        done
    }
    kill -STOP "${children[@]}" "$begun"
    ok 'its processes stand still' wait_until 5 are_stopped
    dead_killed=$(now_ms)
    # The keeper first: the kernel continues stopped processes whose parent's end
    # leaves them without a shell.
    kill -9 "${children[@]}" "$begun"
    begin_timed dead -t 3s -w 90 dead
    dead_after=$begun
}

ordered_dead_end() { # LEAST MOST: ms
    judge_timed dead "$dead_after" "$dead_fence" "$dead_killed" 'a killed holder is followed'
    # shellcheck disable=SC2154 # holders.sh's
    ok "not before its session has ended ($timed_ms ms)" [ "$timed_ms" -ge "$1" ]
    ok '... and soon after that' [ "$timed_ms" -le "$2" ]
}

# A renewal would tell it of the loss 7 s later, at the earliest: a watch does so at
# once, after the first renewal.
ordered_watched() { # session | entry: which of them is removed by hand
    local began took entry
    is_renewed() { grep -q '"event":"renewed"' "$W/events.watched"; }
    begin watched -v -t 24s watched
    ok 'a holder' wait_until 20 holds watched
    ok 'it renews' wait_until 15 is_renewed
    began=$(now_ms)
    entry=$(entries watched)
    case $1 in
    session) session_end "$(session_of "$entry")" ;;
    entry) entry_remove "$entry" ;;
    esac
    ok "its $1 is removed: its command is ended" wait_until 8 is_over "$begun"
    took=$(($(now_ms) - began))
    ok "... at once ($took ms)" [ "$took" -le 5000 ]
    wait "$begun"
    is "$?" 76 '... with exit 76'
}

ordered_lost() {
    holder revoked -t 6s lost
    ok 'a holder' wait_until 20 holds revoked
    begin next -w 60 lost
    ok 'a waiter' wait_until 20 counts 2 lost
    session_end "$(session_of "$(entries_of_holder lost)")"
    ordered_ends revoked 8 'its session is ended'
    ok 'the waiter is next' wait_until 20 holds next
    end next

    holder removed -t 6s lost2
    ok 'a holder' wait_until 20 holds removed
    entry_remove "$(entries lost2)"
    ordered_ends removed 8 'its entry is removed'

    begin holder lost3
    ok 'a holder' wait_until 20 holds holder
    begin waiter -t 6s -w 60 lost3
    ok 'a waiter' wait_until 20 counts 2 lost3
    queued=$(entries lost3 | grep -vxF "$(entries_of_holder lost3)")
    session_end "$(session_of "$queued")"
    is_queued_again() { counts 2 lost3 && ! entries lost3 | grep -qxF "$queued"; }
    ok 'its session is ended: it waits again' wait_until 20 is_queued_again
    is "$(has_said waiter acquired && echo held)" '' '... and does not hold'
    end holder
    ok 'it is granted the lock in its turn' wait_until 20 holds waiter
    end waiter
    ok 'nothing is left' wait_until 20 counts 0
}

# The entry of the first session: the one that is not of a later waiter.
entries_of_holder() { # NAME
    entries "$1" | first_entry
}

ordered_top() {
    local pty=$HF_BUILD/tests/lib/pty
    [ -x "$HF_BUILD/holdfast-top" ] && [ -x "$pty" ] || {
        skip 'top' 'no ncurses: top is not built'
        return
    }
    begin topped --label 'on top' topped
    ok 'a holder' wait_until 20 holds topped
    cat >"$W/script" <<'S'
drawn 1 name
drawn topped
send q
expect code-0
S
    # shellcheck disable=SC2016
    ok 'top shows it' timeout 60 env TERM=xterm "$pty" bash --norc -c \
        'holdfast top; echo "code-$?"' <"$W/script"
    end topped
    ok 'nothing is left' wait_until 20 counts 0
}

ordered_names() {
    local name long
    long=$(printf '%1024s' '' | tr ' ' '\377')
    for name in 'with space' 'a/b' '%2F' $'\001\002é' '..' 'x?y#z&w=+;:@' "$long"; do
        begin odd "$name"
        ok "a name: ${name:0:12}" wait_until 20 holds odd
        gives 75 'it excludes' run -n "$name" -- true
        is "$(entries | wc -l)" 1 '... by one entry'
        gives 0 'it is listed' ls --json
        is "$(jq -r '.name // .names[0]?.name' <<<"$out" | head -c 12)" \
            "$(jq -rn --arg name "$name" '$name' | head -c 12)" '... as it was given'
        end odd
        ok 'it is gone' wait_until 20 counts 0
    done
    begin below a/b
    ok 'a/b is held' wait_until 20 holds below
    gives 0 '... and a is free' run -n a -- true
    gives 0 '... and a%2Fb is another name' run -n 'a%2Fb' -- true
    end below
    ok 'it is gone' wait_until 20 counts 0
}

ordered_permits() {
    begin p1 -p 2 sem
    ok 'a permit' wait_until 20 holds p1
    begin p2 -p 2 sem
    ok 'another one' wait_until 20 holds p2
    gives 75 'there are two' run -n -p 2 sem -- true
    gives 64 'not three' run -n -p 3 sem -- true
    like "$err" 'semaphore of 2 permits, not of 3' '... with the reason'
    gives 75 'no exclusive lock beside them' run -n sem -- true
    begin p3 -w 60 -p 2 sem
    has_third() { [ "$(entries | wc -l)" -ge 6 ]; }
    ok 'a third one waits' wait_until 20 has_third
    is "$(holds p3 && echo held)" '' '... and does not hold'
    end p1
    ok 'it gets the permit that is free' wait_until 20 holds p3
    end p2
    end p3
    ok 'nothing is left' wait_until 20 counts 0
}

ordered_list() {
    gives 0 'ls of nothing' ls
    is "$out" '' '... is empty'
    begin one 'x/y'
    begin two plain
    ok 'a holder' wait_until 20 holds one
    ok 'another one' wait_until 20 holds two
    gives 0 'ls' ls
    like "$out" '(^|.)plain +exclusive' 'has a name'
    like "$out" 'x/y +exclusive' '... as it was given'
    end one
    end two
    ok 'nothing is left' wait_until 20 counts 0
}

ordered_break() {
    holder broken -t 4s broken
    ok 'a holder' wait_until 20 holds broken
    holdfast break broken 2>"$W/break.err" &
    breaker=$!
    pids+=("$breaker")
    ordered_ends broken 8 'it is broken'
    wait "$breaker"
    is "$?" 0 'then the break ends'
    gives 0 'the name is free' run -n broken -- true
    holder broken2 -t 6s broken2
    ok 'a holder' wait_until 20 holds broken2
    gives 0 'break --now' break --now broken2
    gives 0 'frees the name at once' run -n broken2 -- true
    ordered_ends broken2 20 'its entry is gone'
    ok 'nothing is left' wait_until 20 counts 0
}

# Of stores whose locks can go to another process.
ordered_handed() {
    local owner fence left
    read -r owner fence left < <(holdfast acquire -t 20s handed)
    like "$owner $fence $left" '^[0-9a-f]{32}:.*@[0-9]+/20000 [0-9]+ 1[0-9]\.' \
        'acquire prints an owner'
    gives 75 'it is held' run -n handed -- true
    gives 0 'extend' extend handed --owner "$owner" -t 30s
    gives 76 'another owner' release handed --owner \
        "$(tr 0-9a-f 1-9a-f0 <<<"${owner:0:32}")${owner:32}"
    gives 0 'release' release handed --owner "$owner"
    gives 76 'it is released once' release handed --owner "$owner"
    gives 0 'the name is free' run -n handed -- true
}

# The other program is `sh -c SCRIPT` of its own lock, which ends with foreign_end.
foreign_script="echo in >'$W/foreign'; read -r x <'$W/until'"
has_foreign() { [ -s "$W/foreign" ]; }
ordered_foreign() { # COMMAND...: begins it, in the background
    [ -p "$W/until" ] || mkfifo "$W/until"
    rm -f "$W/foreign"
    "$@" foreign &
    foreign=$!
}
foreign_end() {
    echo x >"$W/until"
}

ordered_foreign_begin() { # WHAT COMMAND...
    ordered_foreign "${@:2}"
    ok "$1 holds" wait_until 20 has_foreign
    gives 75 'a try is refused' run -n foreign -- true
    gives 0 'it is listed' ls foreign
    gives 75 'it is not broken' break foreign
    like "$err" 'only with --now' '... with the reason'
}

ordered_foreign_wait() { # WHAT
    begin after -w 60 foreign
    ok 'a waiter' wait_until 20 counts 2 foreign
    is "$(holds after && echo held)" '' 'it waits'
    foreign_end
    ok "it is granted the lock when $1 has ended" wait_until 20 holds after
    wait "$foreign" 2>/dev/null
}

ordered_endpoints() { # URL
    local i
    for i in 1 2 3 4; do
        gives 0 "an endpoint that answers is found ($i)" run -n -u "$1" job -- true
    done
}

ordered_server() {
    local before after
    # Its entry stays until its session ends: it must not meet other cases.
    # shellcheck disable=SC2016 # the command's own variables
    holdfast run -u "$HOLDFAST_URL&prefix=still:" -t 4s still -- \
        sh -c 'echo $$ >"$0"; exec sleep 1000' "$W/stalled" 2>"$W/err.stalled" &
    begun=$!
    pids+=("$begun")
    ok 'a holder' wait_until 20 [ -s "$W/stalled" ]
    before=$(now_ms)
    node_pause "$KIND" "$NODE"
    ok 'the server stands still: its command is ended' wait_until 10 \
        is_over "$(cat "$W/stalled")"
    after=$(($(now_ms) - before))
    ok "... within the ttl ($after ms)" [ "$after" -le 4000 ]
    wait "$begun"
    is "$?" 76 '... with exit 76'
    capture timeout 60 holdfast run -n still -- echo ran
    is "$code" 69 'a try without a server'
    unlike "$err" $'\n' '... one line'
    node_continue "$KIND" "$NODE"
    fence() { # shellcheck disable=SC2016 # the command's own variables
        timeout 90 holdfast run -w 60 "$1" -- sh -c 'echo "$HOLDFAST_FENCE"'
    }
    begin restart -t 20s restart
    ok 'a holder' wait_until 20 holds restart
    before=$(fence rising)
    node_kill "$KIND" "$NODE"
    ok 'the server is killed, and restarts' node_restart "$KIND" "$NODE"
    after=$(fence rising)
    ok "fences rise across its restart ($before, $after)" \
        [ "${after:-0}" -gt "${before:-0}" ]
    gives 75 'a lock is still held' run -n restart -- true
    renewals() { grep -c '"event":"renewed"' "$W/events.restart"; }
    n=$(renewals)
    renews() { [ "$(renewals)" -gt "$n" ]; }
    ok '... and renewed' wait_until 20 renews
    end restart
    ok 'nothing is left' wait_until 20 counts 0
}
