#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# alone
# Servers far beyond node_timeout, with the defaults: each command gets its answer at
# the first request, since the handshake has measured the round trip.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

# FAR is the URL of the servers NAME..., at the end of a way of MS.
delays=()
far() { # MS NAME...
    local ms=$1 name hosts=''
    shift
    for name; do
        "$HF_BUILD/bench/delay" --to "127.0.0.1:${SERVER_PORT[$name]}" \
            --us $((ms * 1000)) >"$W/$name.$ms" &
        delays+=($!)
        wait_until 20 grep -q port= "$W/$name.$ms"
        hosts+=,127.0.0.1:$(sed -n 's/port=//p' "$W/$name.$ms")
    done
    FAR=redis://${hosts#,}
}
near_end() {
    kill "${delays[@]}" && wait "${delays[@]}"
} 2>/dev/null
at_exit near_end

counts() { # NAME : scripts that it has run, or was asked to
    server_cli "$1" info commandstats |
        sed -n 's/^cmdstat_eval.*:calls=\([0-9]*\),.*/\1/p' |
        awk '{ n += $1 } END { print n + 0 }'
}

# Everything that is one request of a command.
serves() { # WHAT MS NAME...
    local what=$1 owner n
    shift
    far "$@"
    shift
    server_cli "$1" config resetstat >/dev/null
    capture timeout 60 holdfast run -n -u "$FAR" job -- echo ran
    is "$code:$out:$err" 0:ran: "$what: run -n"
    n=$(counts "$1")
    ok "$what: ... without a storm ($n scripts)" test "$n" -le 6
    owner=$(timeout 60 holdfast acquire -n -t 60s -u "$FAR" job | cut -d' ' -f1)
    like "$owner" '@[0-9]+/60000$' "$what: acquire -n"
    for n in 1 2 3; do
        capture timeout 60 holdfast extend -u "$FAR" job --owner "$owner"
        is "$code:$err" 0: "$what: extend, $n"
    done
    capture timeout 60 holdfast release -u "$FAR" job --owner "$owner"
    is "$code:$err" 0: "$what: release"
    is "$(server_cli "$1" exists lock:job)" 0 "$what: ... and it is free"
}
server_start one --tcp
for i in 1 2 3; do
    server_start s$i --tcp
done
servers_declare "${SERVER_URL[one]}"
servers_declare "redis://127.0.0.1:${SERVER_PORT[s1]},127.0.0.1:${SERVER_PORT[s2]}\
,127.0.0.1:${SERVER_PORT[s3]}"
serves 'one, 60 ms away' 60 one
serves 'three, 60 ms away' 60 s1 s2 s3

# Further than a try can go: a wait gets it, with one ACQUIRE and one RELEASE.
far 300 s1 s2 s3
server_cli s1 config resetstat >/dev/null
capture timeout 60 holdfast run -w 30 -u "$FAR" job -- echo ran
is "$code:$out:$err" 0:ran: 'three, 300 ms away: run -w'
n=$(counts s1)
ok "three, 300 ms away: ... without a storm ($n scripts)" test "$n" -le 6
finish
