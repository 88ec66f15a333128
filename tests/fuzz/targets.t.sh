#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# Each fuzz target over its corpus: inputs that once failed, and the inputs that
# reach all code that fuzzing has reached. With libFuzzer (HF_FUZZ) it goes on
# from there with inputs of its own: of one tree always the same ones.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"

runs=10000 # 14 s of CPU for all targets
seed=$(drawn_seed)

fuzz() { # NAME
    local repeat="fuzz/run --runs $runs --seed $seed $1"
    capture "$HF_SOURCE/fuzz/run" --built "$HF_BUILD" --keep "$W/found" \
        --runs $runs --seed "$seed" "$1"
    is "$code" 0 "${out%%$'\n'*}"
    [ "$code" = 0 ] || diag "$out"$'\n'"to repeat it: $repeat"
}

replay() { # NAME
    capture "$HF_BUILD/fuzz/replay-$1" "$HF_SOURCE/fuzz/corpus/$1"
    is "$code" 0 "$1: $out"
    [ "$code" = 0 ] || diag "$(tail -n 30 <<<"$err")"
}

diag "seed $seed"
for corpus in "$HF_SOURCE"/fuzz/corpus/*; do
    name=${corpus##*/}
    if [ -x "$HF_BUILD/fuzz/$name" ]; then
        fuzz "$name"
    elif [ -x "$HF_BUILD/fuzz/replay-$name" ]; then
        replay "$name"
    else
        fail "$name has a target"
    fi
done
for program in "$HF_BUILD"/fuzz/*; do
    name=${program##*/}
    name=${name#replay-}
    [ -d "$HF_SOURCE/fuzz/corpus/$name" ] || fail "$name has a corpus"
done
finish
