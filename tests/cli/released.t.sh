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
finish
