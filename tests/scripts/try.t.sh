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

# It ends without a holdfast in PATH, and README goes on with one.
line=$(grep -oE '^ *PATH=.*' <<<"$out")
# shellcheck disable=SC2016 # of sh
ok "the line that it prints finds holdfast: $line" env -i PATH=/usr/bin:/bin \
    sh -c 'eval "$1" && holdfast --version && command -v holdfast' sh "$line"
# shellcheck disable=SC2016 # as README has it
ok "README has it, too" \
    grep -qF 'each with `PATH=$PWD/build:$PATH`' "$HF_SOURCE/README.md"
finish
