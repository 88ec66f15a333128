#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The line that shows a wait on a terminal: its text at any width; Ctrl-C and
# Ctrl-Z remove it, and fg restores it; and its text while a store is down.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 180
pty=$HF_BUILD/tests/lib/pty
export LC_ALL=C.UTF-8
unset COLUMNS
host=$(uname -n)

pids=()
end_runs() {
    [ ${#pids[@]} != 0 ] || return 0
    kill "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    pids=()
}
at_exit end_runs
hold() { # ARG...
    holdfast run "$@" -- sleep 300 2>/dev/null &
    pids+=($!)
}
state() { # NAME STATE WAITING
    [ "$(holdfast ls --json "$1" | jq -r '.state, .waiting' | xargs)" = \
        "$2 $3" ]
}
# Steps on stdin; the terminal has 24 rows. $out: the text that `screen` wrote.
terminal() { # TITLE COLS COMMAND...
    local title=$1 columns=$2
    shift 2
    {
        echo "size 24 $columns"
        cat
    } >"$W/steps"
    ok "$title" timeout 100 "$pty" "$@" <"$W/steps"
    out=$(cat "$W/screen" 2>/dev/null)
}

export HOLDFAST_URL=local://$W/store
who="held by ${host//./\\.} pid [0-9]+ since [0-9:]{8}"
# Renewed soon, and not lost if the machine stands still for some seconds.
hold --label 'night shift' -t 10s job
wait_until 10 state job held 0
hold -t 10s redis://u:sesame@h
wait_until 10 state redis://u:sesame@h held 0
terminal 'a URL as the name' 200 holdfast run redis://u:sesame@h -- true <<S
shows for redis://u:******@h: next
send \x03
shows stopped by SIGINT
S
for command in 'run job -- true' 'acquire job' "acquire --while-pid $$ job"; do
    # shellcheck disable=SC2086
    terminal "$command: shown after a second" 200 holdfast $command <<S
shows waiting
screen $W/screen
S
    like "$out" \
        "^waiting [1-9]s for job: next, $who \(night shift\), lease until [0-9:]{8}\$" \
        "$command: name, place, holder, lease"
    # shellcheck disable=SC2086
    terminal "$command: Ctrl-C" 200 holdfast $command <<S
shows for job:
send \x03
shows stopped by SIGINT while waiting
screen $W/screen
S
    is "$out" 'holdfast: job: stopped by SIGINT while waiting' \
        "$command: Ctrl-C: the line is gone"
    terminal "$command: Ctrl-Z, fg, Ctrl-Z, fg, Ctrl-C" 200 \
        env PS1='$' bash --norc --noprofile -i <<S
expect $
send holdfast $command\n
shows for job: next
send \x1a
shows Stopped
hides for job:
screen $W/screen
send fg\n
shows for job: next
send \x1a
hides for job:
send fg\n
shows for job: next
send \x03
shows stopped by SIGINT
hides for job:
send exit\n
S
    unlike "$out" 'waiting [0-9]' "$command: Ctrl-Z: the line is gone"
done
# Learned by the heartbeat of the queue.
terminal 'a lease that is renewed' 200 holdfast run job -- true <<S
shows (night shift), lease until
shows (renewed)
screen $W/screen
S
like "$out" ', lease until [0-9:]{8} \(renewed\)$' 'a lease that is renewed'
# Renewals between two polls, each of which moves the end by less than a second.
# A lease of minutes; and a second of the wait may not be shown.
jobs=$HOLDFAST_URL
export HOLDFAST_URL="local://$W/slow?max_ttl=20m"
slow=$(holdfast acquire -t 10m slow)
slow=${slow%% *}
slow_end=$(($(date +%s%3N) + 600000))
move_end() { # MS FILE: then, once FILE is there
    ok "its end moves by $1 ms" wait_until 30 test -e "$2"
    ok "its end moves by $1 ms: extended" holdfast extend slow \
        --owner "$slow" -t $((slow_end + $1 - $(date +%s%3N)))ms
}
cat >"$W/script" <<S
size 24 200
like waiting ([2-9]|[1-9][0-9])s for slow
touch $W/looked
like waiting ([6-9]|[1-9][0-9])s for slow
touch $W/looked-again
shows (renewed)
S
timeout 60 "$pty" holdfast run -t 3s slow -- true <"$W/script" &
watcher=$!
move_end 700 "$W/looked"
move_end 1400 "$W/looked-again"
wait $watcher
is $? 0 'a lease that is renewed bit by bit'
holdfast release slow --owner "$slow"
export HOLDFAST_URL=$jobs

terminal 'quiet: no line' 200 sh -c 'holdfast run -q -w 2s job -- true; echo "co"de $?' <<S
shows code 75
screen $W/screen
S
unlike "$out" 'for job' 'quiet: no line'

# A lease that is not renewed: its holder has died.
holdfast run -w 10s --min-hold 2m kept -- true
terminal 'kept taken' 200 holdfast run kept -- true <<S
shows for kept:
screen $W/screen
S
like "$out" ': next, ended, and kept taken, by .*, frees by [0-9:]+$' \
    'kept taken: frees by then'

# A date, too, if that is not today; the run begins at noon.
holdfast run --min-hold 14h tomorrow -- true
like "$(holdfast ls tomorrow)" ", frees by $(date -d tomorrow +%F) [0-9:]{8}," \
    'kept taken until tomorrow: the date'

# The label is cut first, then "since" and "(renewed)" are left out.
hold --label "$(printf 'l%.0s' {1..100})" labelled
wait_until 10 state labelled held 0
who="held by ${host//./\\.} pid [0-9]+"
for columns in 200 120; do
    terminal "a long label in $columns columns" $columns \
        holdfast run labelled -- true <<S
shows for labelled:
screen $W/screen
S
    like "$out" "next, $who( since [0-9:]{8})? \(l+…?\), lease until [0-9:]{8}( \(renewed\))?\$" \
        "a long label in $columns columns: is cut, and the lease is not"
done
terminal 'a long label in few columns' $((75 + ${#host})) \
    holdfast run labelled -- true <<S
shows for labelled:
screen $W/screen
S
like "$out" "^waiting [0-9]s for labelled: next, $who, lease until [0-9:]{8}\$" \
    'a long label in few columns: name, place, holder and lease'

# Place in the queue, and widths.
long=$(printf 'x%.0s' {1..300})
hold "$long"
wait_until 10 state "$long" held 0
hold "$long"
ok 'one waits' wait_until 10 state "$long" held 1
for columns in 80 40 20 5 1; do
    rm -f "$W/screen"
    terminal "a long name in $columns columns" $columns \
        sh -c 'holdfast run "$0" -- true 2>"$1"' "$long" /dev/stderr <<S
like \[K.*\[K
screen $W/screen
S
    is "$(wc -l <"$W/screen")" $((columns > 1)) \
        "a long name in $columns columns: no second line"
    # The name is cut before the holder, and the lease last.
    [ $columns -lt 80 ] || like "$out" \
        ' for x+…: 1 ahead, held by .*, lease until [0-9:]{8}( \(renewed\))?$' \
        "a long name in $columns columns: holder and lease"
    [ $columns -lt 40 ] || like "$out" "s for x+…: 1 ahead" \
        "a long name in $columns columns: and the place"
    [ $columns -lt 20 ] || [ $columns -ge 80 ] || like "$out" '…$' \
        "a long name in $columns columns: cut with an ellipsis"
done
for bad in 0 1 10000; do
    terminal "COLUMNS=$bad" 80 env COLUMNS=$bad sh -c \
        'holdfast run -w 2s "$0" -- true; echo "co"de-$?' "$long" <<S
shows code-75
S
done
end_runs

# ---- A store that is away
server_start one
export HOLDFAST_URL="${SERVER_URL[one]}?node_timeout=20s"
terminal 'quarantine' 300 holdfast run job -- true <<S
like waiting [1-3]s
shows for job: ${SERVER_SOCK[one]} counts in
screen $W/screen
S
like "$out" '/s counts in [0-9]+s: ' 'quarantine: which server, and why'
like "$out" '^waiting [1-9]s ' 'quarantine: after a second'
servers_declare "$HOLDFAST_URL"
hold job
wait_until 10 state job held 0
server_pause one
terminal 'no answer' 300 holdfast run job -- true <<S
like waiting [1-3]s
shows for job: ${SERVER_SOCK[one]} down: accepted the connection
send \x03
shows stopped by SIGINT
hides for job:
S
server_resume one

# The server is killed while the client has a place in the queue.
export HOLDFAST_URL="${SERVER_URL[one]}?node_timeout=1s"
lose() {
    wait_until 20 test -e "$W/up" && server_kill one
}
cat >"$W/script" <<S
size 24 300
shows for job: next
touch $W/up
shows for job: ${SERVER_SOCK[one]} down: cannot connect
S
timeout 60 "$pty" holdfast run job -- true <"$W/script" &
watcher=$!
lose
wait $watcher
is $? 0 'a store that is lost from the queue'
end_runs

servers_start 3
server_kill s2
server_kill s3
export HOLDFAST_URL="$URLS?node_timeout=1s&quarantine=off"
terminal 'no majority' 300 holdfast run -w 60s job -- true <<S
shows for job: ${SERVER_SOCK[s2]}, ${SERVER_SOCK[s3]} down: cannot connect
screen $W/screen
S
like "$out" '^waiting [1-9]s for job: ' 'no majority: after a second'
server_restart s2
hold -w 60s job
ok 'a majority' wait_until 10 state job held 0
terminal 'a minority that is away is not mentioned' 300 \
    holdfast run job -- true <<S
shows for job: next, held by
S
finish
