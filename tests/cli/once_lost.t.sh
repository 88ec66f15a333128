#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The mark of --once over five servers: a minority that loses its data, or that
# is not reachable, neither repeats a run nor brings back a mark.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 60

servers_start 5
# ---- Servers that lose their data, a quarantine apart (here it is declared
# over)
lose() {
    server_kill "$1"
    server_restart "$1" && servers_declare "$URLS"
}
once() { # NAME
    local code=0 out
    out=$(holdfast run -u "$URLS" --once 1h "$1" -- echo ran) || code=$?
    echo "$code:$out"
}
has_mark() { # SERVER NAME
    [ "$(server_cli "$1" EXISTS "hf:{lock:$2}:once")" = 1 ]
}
servers_declare "$URLS"
is "$(once report)" 0:ran 'five servers: runs'
for s in s1 s2 s3; do
    ok "$s loses its data" lose "$s"
    is "$(once report)" 0: "$s lost its data: no second run"
    ok "$s lost its data: the mark is written back" has_mark "$s" report
done
server_cli s4 DEL 'hf:{lock:report}:once' >/dev/null
before=$(server_cli s5 PTTL 'hf:{lock:report}:once')
is "$(once report)" 0: 'a try whose mark is missing at one server'
after=$(server_cli s4 PTTL 'hf:{lock:report}:once')
ok "what is written back ends no later ($before, $after)" \
    test "$after" -le "$before"
ok 'and hardly earlier' test "$after" -ge $((before - 20000))

is "$(once audit)" 0:ran 'five servers: another one runs'
for s in s1 s2 s3; do
    ok "$s loses its data, with no try in between" lose "$s"
done
is "$(once audit)" 0: 'two servers that have it suffice'
server_cli s1 DEL 'hf:{lock:audit}:once' >/dev/null
server_cli s2 DEL 'hf:{lock:audit}:once' >/dev/null
server_cli s3 DEL 'hf:{lock:audit}:once' >/dev/null
server_cli s4 DEL 'hf:{lock:audit}:once' >/dev/null
is "$(once audit)" 0: 'one server that has it suffices'
for s in s1 s2 s3 s4; do
    ok "and $s has it again" has_mark "$s" audit
done

# A server without a vote counts as a witness, and is repaired too.
server_kill s1
server_restart s1
is "$(once audit)" 0: 'in quarantine: no second run'
ok 'in quarantine: the mark is written back' has_mark s1 audit
servers_declare "$URLS"

# A tombstone replaces the mark that one server still has.
pid=${SERVER_PID[s5]}
capture holdfast run -u "$URLS" --once 1h --on-fail release stale -- \
    sh -c 'kill -STOP "$0"; exit 1' "$pid"
is "$code" 1 'the command fails while a server is stopped'
server_resume s5
ok 'which has the mark' has_mark s5 stale
is "$(once stale)" 0:ran 'a mark that was withdrawn is not resurrected'
capture holdfast run -u "$URLS" --once 1h broken -- sh -c 'kill -STOP "$0"' \
    "$pid"
capture holdfast break -u "$URLS" broken
is "$code" 0 'break while a server is stopped'
server_resume s5
is "$(once broken)" 0:ran 'nor one that was broken'

# Without a majority for the mark the command does not start.
for s in s1 s2 s3; do
    server_cli "$s" HSET 'hf:{lock:unmarked}:once' a b >/dev/null
done
capture holdfast run -u "$URLS" --once 1h unmarked -- echo ran
is "$code:$out" 69: 'no majority takes the mark: 69, and no run'
is "$(printf '%s' "$err" | grep -c '^holdfast: unmarked: ')" 1 'one line'
ok 'and the lock is given back' holdfast run -u "$URLS" -n unmarked -- true
finish
