#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The shipped embedded store in the simulator, on a machine whose processes stop
# and die in any call, and whose host restarts. Half of the seeds are fixed; the
# others are drawn from the sources.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"

seeds=300
! is_sanitized "$HF_BUILD/hfsim" || seeds=30

drawn=$(drawn_seed)
for range in "1..$seeds" "$drawn..$((drawn + seeds - 1))"; do
    diag "hfsim --regime local --seeds $range"
    capture hfsim --regime local --seeds "$range" --terse
    is "$code" 0 "seeds $range: nothing breaks"
    like "$out" "^$seeds seeds, [0-9]{3,} acquisitions" "… and locks are had"
    diag "$out"
done

for seed in 2 5; do
    hfsim --seed $seed --regime local --trace >"$W/one"
    hfsim --seed $seed --regime local --trace >"$W/two"
    ok "seed $seed is the same twice, to the byte" cmp "$W/one" "$W/two"
    digest=$(sed -n 's/.*digest //p' "$W/one")
    hfsim --seed $seed --regime local --write "$W/$seed.story" >"$W/one"
    capture hfsim "$W/$seed.story"
    is "${out##*digest }" "$digest" "… and as a text, to the digest"
done

capture hfsim --trace "$HF_SOURCE/tests/sim/local-killed-inside.story"
is "$code" 0 "a process is killed inside the gate: all is well"
like "$out" 'p2 +held +a' "… and the next one gets the name"
finish
