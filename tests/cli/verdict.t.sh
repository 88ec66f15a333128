#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The verdict of doctor: how many servers have a vote, and the exit code for
# monitors.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

verdict() { # CODE LINE TITLE [OPTION...]
    local want=$1 line=$2 title=$3
    capture holdfast doctor -u "$three" "${@:4}"
    is "$code" "$want" "$title: exit $want"
    is "$(tail -n 1 <<<"$out")" "$line" "$title: the last line"
    is "$(sort <<<"$out" | uniq -d)" '' "$title: no finding twice"
    for name in s1 s2 s3; do
        ok "$title: $name has at most one finding that is not ok" test \
            "$(grep -v '^ok' <<<"$out" | grep -c "${SERVER_SOCK[$name]}")" -le 1
    done
}

servers_start 3
# On a loaded machine an answer may take longer than the 50 ms of the default,
# which is a finding of its own.
three="$URLS?max_ttl=10s&node_timeout=500ms"
verdict 2 'NOT fit for locks: 0 of 3 servers count, 2 are needed' 'new servers'
is "$(grep -c 'shows no trace' <<<"$out")" 1 'new servers: one line for all'
holdfast doctor --init -q -u "$three"
verdict 0 'fit for locks: 3 of 3 servers count, 2 are needed' 'all count'
is "$(grep -c 'after a restart' <<<"$out")" 1 'a finding on all servers is one line'
capture holdfast doctor -q -u "$three"
is "$code:$out" '0:fit for locks: 3 of 3 servers count, 2 are needed' \
    'quiet: the verdict alone'
capture holdfast doctor --json -u "$three"
is "$(tail -n 1 <<<"$out")" \
    '{"severity":"ok","text":"3 of 3 servers count, 2 are needed"}' 'as JSON'
server_kill s1
verdict 1 'fit for locks, with warnings: 2 of 3 servers count, 2 are needed' \
    'a dead minority'
like "$out" "warning: ${SERVER_SOCK[s1]}: cannot be examined: .*refused" \
    'a dead minority: is a warning'
capture holdfast doctor -q -u "$three"
like "$out" '^warning: [^'$'\n'']*'$'\n''fit for locks, with [^'$'\n'']*$' \
    'quiet: the errors, and the verdict'
capture holdfast run -n -t 5s -u "$three" job -- echo ran
is "$code:$out" 0:ran 'and locks can be acquired'
server_kill s2
verdict 2 'NOT fit for locks: 1 of 3 servers count, 2 are needed' 'a dead majority'
like "$out" "unfit: ${SERVER_SOCK[s1]}, ${SERVER_SOCK[s2]}: cannot be examined" \
    'a dead majority: unfit, each of them'
server_restart s1
verdict 2 'NOT fit for locks: 1 of 3 servers count, 2 are needed' \
    'one dead, one in quarantine'
server_restart s2
verdict 2 'NOT fit for locks: 1 of 3 servers count, 2 are needed' \
    'a majority in quarantine'
capture holdfast doctor --json -u "$three"
is "$code" 2 'as JSON: exit 2'
is "$(tail -n 1 <<<"$out")" \
    '{"severity":"unfit","text":"1 of 3 servers count, 2 are needed"}' \
    'as JSON: unfit'
holdfast doctor --init --force -q -u "$three"
server_cli s1 config set maxmemory 100mb >/dev/null
server_cli s1 config set maxmemory-policy allkeys-lru >/dev/null
verdict 2 'NOT fit for locks: 2 of 3 servers count, 2 are needed' \
    'a server that evicts, though a minority'
server_start lone
three="${SERVER_URL[lone]}?max_ttl=10s&quarantine=off"
verdict 1 'fit for locks, with warnings: 1 of 1 server counts, 1 is needed' \
    'one server'
three="local://$W/store"
verdict 0 'fit for locks: 1 of 1 server counts, 1 is needed' 'embedded'
finish
