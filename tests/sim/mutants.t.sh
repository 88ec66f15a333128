#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1500
# The simulator finds each planted bug, by the rule that its patch names: a third
# of them, drawn from the sources; all with sim/mutants/run, or HF_TEST_ALL=1.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"
if grep -q '^HF_SANITIZE:STRING=.' "$HF_BUILD/CMakeCache.txt"; then
    names=(counter-not-moved quorum-minus-one)
else
    mapfile -t all < <(grep -L '^Deep:' "$HF_SOURCE"/sim/mutants/*.patch |
        sed 's,.*/,,; s/\.patch$//')
    names=()
    for i in $(drawn_third ${#all[@]}); do
        names+=("${all[i - 1]}")
    done
fi

capture "$HF_SOURCE/sim/mutants/run" -b "$HF_BUILD" "${names[@]}"
is "$code" 0 "every mutant is caught, by the rule that it breaks"
diag "$out"
isnt "$(grep -c '[0-9]$' <<<"$out")" 0 "… and each is told"
finish
