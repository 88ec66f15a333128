#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Drawn seeds: one tree has the same ones everywhere, another tree has others.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"

seed=$(drawn_seed)
like "$seed" '^[0-9]{5,9}$' "a number above the fixed seeds: $seed"
is "$(drawn_seed)" "$seed" "the same each time"

mkdir -p "$W/tree/tests"
cp -r "$HF_SOURCE/src" "$HF_SOURCE/sim" "$W/tree"
cp -r "$HF_SOURCE/tests/sim" "$W/tree/tests"
is "$(HF_SOURCE=$W/tree drawn_seed)" "$seed" "a copy without git has the same"
is "$(LC_ALL=C.UTF-8 HF_SOURCE=$W/tree drawn_seed)" "$seed" \
    "whatever order the locale sorts in"
touch "$W/tree/src/core/core.swp"
is "$(HF_SOURCE=$W/tree drawn_seed)" "$seed" "what is no source does not count"

echo >>"$W/tree/src/core/lease_step.c"
isnt "$(HF_SOURCE=$W/tree drawn_seed)" "$seed" "another source, other seeds"
cp "$HF_SOURCE/src/core/lease_step.c" "$W/tree/src/core/lease_step.c"
echo >>"$W/tree/src/store/postgres/schema/50-acquire.sql"
isnt "$(HF_SOURCE=$W/tree drawn_seed)" "$seed" "other SQL, too"
cp "$HF_SOURCE"/src/store/postgres/schema/*.sql "$W/tree/src/store/postgres/schema"
mv "$W/tree/tests/sim/late-yield.story" "$W/tree/tests/sim/later-yield.story"
isnt "$(HF_SOURCE=$W/tree drawn_seed)" "$seed" "another name, too"

# A half and a third of what is alike; all of it when asked.
halves() {
    local i
    for i in 0 1; do
        ! drawn_half $i || echo $i
    done
}
is "$(unset HF_TEST_ALL && halves)" $((seed % 2)) "one of two"
is "$(HF_TEST_ALL=1 halves)" $'0\n1' "HF_TEST_ALL: both"
finish
