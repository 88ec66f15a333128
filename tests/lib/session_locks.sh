# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of locks that end with a session of a database have in common:
# lock=advisory, lock=named. Source after tap.sh.
#
#   says CODE PATTERN TITLE COMMAND...   cases: its code, and its message
#   hold NAME [ARG...]     a holder in the background: its command ends when
#                          $W/NAME.end exists. Its code is in $W/NAME.code
#   held NAME [ARG...]     the same; it has the lock
#   is_held NAME / has_ended NAME
#   let_end NAME           prints its code
#   outlasts_stop TITLE [CASE...]   what serves a holder stands still for longer than
#                          ten node_timeouts, while CASE... is run: the lock is renewed
#                          in the same session (hf_session_patience()). The test has
#                              session   prints the server's id of our session
#                              serving   prints the process to stop
#                              sent      it has not read a statement of ours yet
#                              is_taken NAME   another session does not get it

# A try ends after 0.9 s if the server does not answer, as where the machine stands
# still: that shows nothing, and it is made again.
is_late() {
    [[ $code = 69 && $err =~ 'no answer'|'no connection'|'did not answer' ]]
}
says() { # CODE PATTERN TITLE COMMAND...
    local want=$1 pattern=$2 title=$3
    shift 3
    for _ in 1 2 3 4 5; do
        capture timeout 60 "$@"
        [ "$want" != 69 ] && is_late || break
    done
    is "$code" "$want" "$title: exit $want"
    like "$err$out" "$pattern" "$title: the message"
}

runs=()
end_runs() {
    kill "${runs[@]}" 2>/dev/null
    wait "${runs[@]}" 2>/dev/null
}
at_exit end_runs

hold() { # NAME [ARG...]
    local name=$1
    shift
    rm -f "$W/$name."*
    {
        holdfast run "$@" "$name" -- sh -c 'touch "$0.held"; exec "$1" "$0.end"' \
            "$W/$name" "$HF_BUILD/tests/lib/await" \
            2>"$W/$name.err"
        echo $? >"$W/$name.code"
    } 2>/dev/null &
    runs+=($!)
}
is_held() { [ -e "$W/$1.held" ]; }
has_ended() { [ -s "$W/$1.code" ]; }
let_end() { # NAME
    touch "$W/$1.end"
    wait_until 20 has_ended "$1"
    cat "$W/$1.code"
}
held() { # NAME [ARG...]
    hold "$@"
    wait_until 20 is_held "$1" || fail "$1 is not acquired"
}

passed() { [ $(($(now_ms) - start)) -gt "$1" ]; } # MS
renewals() { grep -c '"event":"renewed"' "$W/events"; }
renews() { [ "$(renewals)" -gt "$n" ]; }

# Ten node_timeouts are a second here, and less than the lease.
outlasts_stop() {
    local title=$1 id pid start n
    shift
    held steady -u "${HOLDFAST_URL/node_timeout=3s/node_timeout=100ms}" -t 15 \
        --status-fd 9 9>"$W/events"
    id=$(session) pid=$(serving)
    kill -STOP "$pid"
    ok "$title stands still: a renewal waits in its socket" wait_until 20 sent
    start=$(now_ms)
    ok 'for longer than ten node_timeouts' wait_until 5 passed 1500
    n=$(renewals)
    "$@"
    kill -CONT "$pid"
    ok 'it goes on: the lock is renewed' wait_until 10 renews
    is "$(session)" "$id" 'in the same session'
    unlike "$(cat "$W/events")" '"event":"lost"' 'and was not lost'
    ok 'another session does not get it then' is_taken steady
    is "$(let_end steady)" 0 'we release'
}
