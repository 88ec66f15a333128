#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# hfsim as a tool: options, exit codes, replay to the byte, many seeds by any
# number of workers, and shrinking.
. "$(dirname "$0")/../lib/tap.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"

capture hfsim --help
is "$code" 0 "--help succeeds"
like "$out" '--seed N' "… and tells of the options"
capture hfsim --list
like "$out" 'regimes: calm network' "--list names regimes"
like "$out" 'rules: C1 C2' "… and rules"
like "$out" 'faults: cut silence' "… and faults"

while IFS='|' read -r args want; do
    # shellcheck disable=SC2086
    capture hfsim $args
    is "$code" 64 "hfsim $args: usage"
    like "$err" "$want" "… says why"
done <<'END'
--seed x|--seed: "x" is not a number
--seed 1x|"1x" is not a number
--seeds 1-5|not A..B
--regime netwrok|did you mean "network"
--expect C9|no rule is called "C9"
--scenario none|no scenario is called
--jobs 0|from 1 to 64
--frobnicate|hfsim --help
--trace|of one story
END
capture hfsim "$W/none.story"
is "$code" 64 "a story that is not there: usage"
printf 'nodes 1\nprocesses 1\nrubbish\n' >"$W/bad.story"
capture hfsim "$W/bad.story"
is "$code" 64 "a story that makes no sense: usage"
like "$err" 'bad.story: line 3' "… names the line"

# ---- To the byte -------------------------------------------------------------

for seed in 3 9 15; do
    hfsim --seed $seed --trace >"$W/one"
    hfsim --seed $seed --trace >"$W/two"
    ok "seed $seed is the same twice, to the byte" cmp "$W/one" "$W/two"
    capture hfsim --seed $seed --write "$W/$seed.story"
    digest=${out##*digest }
    capture hfsim "$W/$seed.story"
    is "${out##*digest }" "$digest" "… and as a text, to the digest"
done
is "$(hfsim --seed 3 --trace --regime calm | grep -c fault)" 0 \
    "nothing goes wrong in a calm world"

# ---- Many --------------------------------------------------------------------

counts() { sed -E 's/in [0-9.]+ s of CPU \([0-9]+ a second\)//'; }
hfsim --seeds 1..24 --terse | counts >"$W/one"
hfsim --seeds 1..24 --terse --jobs 3 | counts >"$W/three"
ok "three workers find what one finds" cmp "$W/one" "$W/three"
like "$(cat "$W/one")" '^24 seeds, [0-9]+ acquisitions' "… and count"

# Without --terse and --rare it lists the rare states that were not reached: not
# all of them, and the same as with --rare.
rare() { hfsim --seeds 1..24 "$@" | grep '^never reached: '; }
listed=$(rare)
like "$listed" 'never reached: ' "a batch lists what it did not reach"
unlike "$listed" 'handed over by a push' "… and nothing that it reached"
is "$(rare --rare)" "$listed" "… as --rare does"

# A batch that never reached the states that it is for has not passed.
capture hfsim --seeds 1..3 --terse
is "$code" 0 "three seeds pass"
capture hfsim --seeds 1..3 --terse --rare
is "$code" 1 "… but do not reach every rare state"
like "$out" 'never reached: ' "… which are told"

# Keys disappear: guarantees that hold only "later" are broken, others are not.
row=$(hfsim --outside --seeds 60 --regime evict --jobs 2 | grep '^evict')
like "$row" '^evict +60( +([0-9]+|-))+ *$' "what is promised for later is no \"!\""
like "$row" '^evict +60 .*[1-9]' "… and is counted"

# ---- A violation is shrunk ---------------------------------------------------

# A client trusts a clock that jumps: C4, reported as a broken guarantee.
cat >"$W/wild.story" <<'END'
# Two clients believe at once
# expect: C4
nodes 1
processes 2
regime network
turn p1 name a ttl 2s hold 5s
turn p2 name a ttl 2s think 50ms hold 2s
turn p1.2 name b ttl 1s hold 10ms writes 1
turn p2.2 name c ttl 1s hold 10ms
at 100ms node-clock n1 by 3s
at 120ms pause p1 for 1.5s
at 300ms slow p1 n1 by 1ms for 1s
calm 6s
END
capture hfsim "$W/wild.story"
is "$code" 0 "a story that breaks what it says it breaks"
like "$out" 'C4: ' "… says so"
capture hfsim --expect LIVE "$W/wild.story"
is "$code" 1 "… but not something else"
sed -i '/expect/d' "$W/wild.story"
capture hfsim --write "$W/short.story" --shrink "$W/wild.story"
is "$code" 1 "a broken promise"
like "$out" 'shrunk in [0-9]+ runs' "… is shrunk"
is "$(grep -c ^turn "$W/short.story")" 2 "… to the two that believe"
unlike "$(cat "$W/short.story")" slow "… without what does not matter"
capture hfsim --expect C4 "$W/short.story"
is "$code" 0 "… which breaks the same"

finish
