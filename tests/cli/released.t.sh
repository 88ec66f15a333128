#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 60
# A command that ends leaves its name free on every server that still answers,
# not only on the majority that its exit code needs: one more server away, and
# a name that is taken on the third has no majority until its lease is over.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

servers_start 3
export HOLDFAST_URL="$URLS?node_timeout=5s"
servers_declare "$HOLDFAST_URL"

is_taken() { # SERVER NAME
    [ "$(server_cli "$1" exists "lock:$2")" = 1 ]
}

is_free() { # SERVER NAME
    [ "$(server_cli "$1" exists "lock:$2")" = 0 ]
}

# ---- A server that is slow to answer, and has not the script any more ------

cat >"$W/job" <<'JOB'
touch "$1"
while [ ! -e "$2" ]; do sleep 0.01; done
JOB

holdfast run --status-fd 3 job -- sh "$W/job" "$W/runs" "$W/end" 3>"$W/status" &
command=$!
ok 'a job runs' wait_until 5 test -e "$W/runs"
ok '… and holds its lock on s2 as well' wait_until 5 is_taken s2 job
server_cli s2 script flush sync >/dev/null
server_pause s2
touch "$W/end"
ok 'it ends, and has released its lock' \
    wait_until 5 grep -q released "$W/status"
ok '… on s1' is_free s1 job
ok '… and s3' is_free s3 job
server_resume s2
wait "$command"
is $? 0 'the exit code is that of the job'
ok 's2 answered that it has no such script, and was sent it again' is_free s2 job

# ---- A server that does not answer any more -------------------------------

rm "$W/runs" "$W/end"
holdfast run -u "$URLS?node_timeout=200ms" job -- \
    sh "$W/job" "$W/runs" "$W/end" &
command=$!
ok 'another job runs' wait_until 5 test -e "$W/runs"
server_pause s2
touch "$W/end"
ok 'it does not wait long for a server that hangs' \
    wait_until 5 is_gone "$command"
wait "$command"
is $? 0 '… and ends well'
server_resume s2

# ---- No server answers: the command is ended in time -----------------------

rm "$W/runs" "$W/end"
holdfast run --status-fd 3 -t 3s job -- sh "$W/job" "$W/runs" "$W/end" \
    3>"$W/status" 2>"$W/err" &
command=$!
ok 'a third job runs' wait_until 5 test -e "$W/runs"
for server in s1 s2 s3; do server_pause $server; done
ok 'it is ended' wait_until 15 is_gone "$command"
wait "$command"
is $? 76 '… with exit 76'
like "$(tail -n 1 "$W/status")" '"event":"lost"' '… and reports its lock as lost'
unlike "$(cat "$W/status")" released '… and not as released, which nothing confirmed'
for server in s1 s2 s3; do server_resume $server; done

# ---- A server that lost its data knows no owner, and proves no loss --------

cat >"$W/emptied" <<'JOB'
for server in "$@"; do
    redis-cli -s "$server" flushall >/dev/null || exit 9
done
JOB

server_start one
one=${SERVER_URL[one]}
for options in '' -s '--min-hold 1s'; do
    servers_declare "$one"
    # shellcheck disable=SC2086 # the words of the options
    capture holdfast run -q -u "$one" -t 30s $options job -- \
        sh "$W/emptied" "${SERVER_SOCK[one]}"
    is "$code" 0 "the only server was emptied: exit 0 ($options)"
done
servers_declare "$one"
rm -f "$W/runs" "$W/end"
holdfast run -u "$one" -t 30s job -- sh "$W/job" "$W/runs" "$W/end" &
command=$!
ok 'a job on one server runs' wait_until 5 test -e "$W/runs"
server_restart one
touch "$W/end"
wait "$command"
is $? 0 'the only server was restarted: exit 0'
servers_declare "$one"
owner=$(holdfast acquire -u "$one" job | cut -d' ' -f1)
server_restart one
capture holdfast release -u "$one" job --owner "$owner"
is "$code" 69 'no server with a vote denies the release: exit 69'

cat >"$W/taken" <<'JOB'
redis-cli -s "$1" flushall >/dev/null || exit 9
holdfast doctor -u "$2" --init --force >/dev/null || exit 8
holdfast acquire -u "$2" job >/dev/null || exit 7
JOB
servers_declare "$one"
capture holdfast run -u "$one" -t 30s job -- \
    sh "$W/taken" "${SERVER_SOCK[one]}" "$one"
is "$code:$err" \
    '76:holdfast: job: the lock was no longer ours when the command ended' \
    'the server counts again, and another has the lock: 76'

cat >"$W/in_turn" <<'JOB'
redis-cli -s "$1" flushall >/dev/null || exit 9
holdfast doctor --init --force >/dev/null || exit 8
redis-cli -s "$2" flushall >/dev/null || exit 7
JOB
for server in s1 s2 s3; do server_cli $server flushall >/dev/null; done
servers_declare "$HOLDFAST_URL"
capture holdfast run -t 30s job -- \
    sh "$W/in_turn" "${SERVER_SOCK[s1]}" "${SERVER_SOCK[s2]}"
is "$code:$err" 0: 'two of three, one after the other: exit 0'
ok '… and the third is free' is_free s3 job
finish
