#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The shipped embedded store in the simulator, on a machine whose processes stop
# and die in any call, and whose host restarts.
. "$(dirname "$0")/../lib/tap.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"

seeds=600
! grep -q '^HF_SANITIZE:STRING=.' "$HF_BUILD/CMakeCache.txt" || seeds=60

capture hfsim --regime local --seeds $seeds --terse
is "$code" 0 "$seeds seeds: nothing breaks"
like "$out" "^$seeds seeds, [0-9]{4,} acquisitions" "… and locks are had"

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
