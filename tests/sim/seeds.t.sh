#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 560
# Thousands of runs of the simulator: nothing breaks that is promised, and what
# is not promised does break, or the judge would be blind.
. "$(dirname "$0")/../lib/tap.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"

seeds=5000
! is_sanitized "$HF_BUILD/hfsim" || seeds=200

rare=--rare # hundreds do not reach all of them
[ $seeds = 5000 ] || rare=''
# shellcheck disable=SC2086
capture hfsim --seeds $seeds --jobs 2 --terse $rare
is "$code" 0 "$seeds seeds, and every rare state"
diag "$out"

! is_sanitized "$HF_BUILD/hfsim" || finish # the rest is about the judge

broken=$(hfsim --seeds 300 --jobs 2 --terse --regime wild-clocks)
like "$broken" 'outside promises:.* C4 ' "clocks that jump break exclusion"
broken=$(hfsim --seeds 100 --jobs 2 --terse --regime amnesia-wild)
for rule in C1 C2 E1; do
    like "$broken" "outside promises:.* ?$rule " \
        "lost memory and clocks that jump break $rule"
done
finish
