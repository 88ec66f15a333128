#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first command of README prints the output that README shows.
# timeout: 300
. "$(dirname "$0")/../lib/tap.sh"

capture "$HF_SOURCE/scripts/try"
is "$code" 0 "it succeeds"
is "$(grep -c 'report: running' <<<"$out")" 1 "once an hour: one run"
like "$out" "number [1-9][0-9]* to hold nightly-report" "which is told its fence"
is "$(grep -E '(starts|ends)$' <<<"$out" | awk '{ print $2 }' | tr '\n' ' ')" \
    "starts ends starts ends starts ends " "three take turns"
like "$out" "exit code 75" "a try at what is held says so"
is "$err" "" "nothing on stderr"
finish
