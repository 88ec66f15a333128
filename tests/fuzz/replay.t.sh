#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each fuzz target over its corpus: inputs that once failed, and the inputs that
# reach all code that fuzzing has reached.
. "$(dirname "$0")/../lib/tap.sh"

# A target without a corpus, or a corpus without a target, is a mistake.
for program in "$HF_BUILD"/fuzz/replay-*; do
    name=${program##*/replay-}
    capture "$program" "$HF_SOURCE/fuzz/corpus/$name"
    is "$code" 0 "$name: $out"
    [ "$code" = 0 ] || diag "$(tail -n 30 <<<"$err")"
done
for corpus in "$HF_SOURCE"/fuzz/corpus/*; do
    [ -x "$HF_BUILD/fuzz/replay-${corpus##*/}" ] ||
        fail "${corpus##*/} has a target"
done
finish
