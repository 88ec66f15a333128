#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# Three servers, and the clock of one is far off. That costs one vote, and never
# the majority, also after the clock was set right.
. "$(dirname "$0")/../lib/tap.sh"
. "$HF_SOURCE/tests/lib/servers.sh"

runs_that_fail() { # NAME
    local failed=0
    for ((i = 0; i < 30; i++)); do
        holdfast run -w 10 "$1" -- true 2>"$W/said" ||
            { failed=$((failed + 1)); cat "$W/said" >&2; }
    done
    echo "$failed"
}

servers_start 3 --clock --aof always
export HOLDFAST_URL="$URLS?node_timeout=1s"
servers_declare "$HOLDFAST_URL"

while read -r offset ahead; do
    server_clock s3 "$offset"
    is "$(runs_that_fail "job$offset")" 0 "30 runs beside a clock $ahead the others"
    server_stop s1
    begin=$(date +%s%N)
    # Another name: the last run may be unreleased at s2.
    capture holdfast run -n "alone$offset" -- true
    took=$((($(date +%s%N) - begin) / 1000000))
    is "$code" 69 "… with a good node down as well there is no majority"
    is "$((took < 4500))" 1 "… which a try says, not as late as a wait (4.8 s)"
    diag "$took ms: $err"
    like "$err" "its clock is $ahead the others; it does not count until" \
        "… and names the clock"
    unlike "$err" HFBOUND "… in words"
    server_restart s1
    server_clock s3 0
    is "$(runs_that_fail "job$offset")" 0 "… 30 runs after it was set right"
done <<END
4320 72 min ahead of
94700000 3 years ahead of
-7300 2 h behind
END
finish
