#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1500
# The simulator finds each planted bug, by the rule that its patch names: a third
# of them, drawn from the sources, and always those below; all with
# sim/mutants/run, or HF_TEST_ALL=1.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"

# The libraries that lie in their answers, and bugs that the simulator once did
# not see. Each costs less than a second.
always=(answers-30-s-late busy-after-150-ms refuses-everything release-lies
    deadline-of-first-lock names-unsorted short-claim
    ordered-break-waits-for-the-shortest ordered-moved-into-a-shorter-session
    ordered-shortened-session)

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"
if grep -q '^HF_SANITIZE:STRING=.' "$HF_BUILD/CMakeCache.txt"; then
    names=(counter-not-moved quorum-minus-one)
else
    mapfile -t all < <(grep -L '^Deep:' "$HF_SOURCE"/sim/mutants/*.patch |
        sed 's,.*/,,; s/\.patch$//')
    mapfile -t names < <(
        {
            printf '%s\n' "${always[@]}"
            for i in $(drawn_third ${#all[@]}); do
                echo "${all[i - 1]}"
            done
        } | sort -u)
fi

capture "$HF_SOURCE/sim/mutants/run" -b "$HF_BUILD" "${names[@]}"
is "$code" 0 "every mutant is caught, by the rule that it breaks"
diag "$out"
isnt "$(grep -c '[0-9]$' <<<"$out")" 0 "… and each is told"
finish
