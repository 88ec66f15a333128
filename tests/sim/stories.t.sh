#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Every story that once failed, and those that show the limits of the
# guarantees. The head of each has its expected result ("# expect: C4"; without
# it: no violation).
. "$(dirname "$0")/../lib/tap.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"

for story in "$HF_SOURCE"/tests/sim/*.story; do
    capture hfsim "$story"
    is "$code" 0 "$(basename "$story"): $(sed -n '1s/^# //p' "$story")"
    [ "$code" = 0 ] || diag "$out"
done
finish
