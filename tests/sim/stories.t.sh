#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Every story that once broke something, and those that show what is not
# promised: each says in its head what is expected ("# expect: C4"; else that
# all is well).
. "$(dirname "$0")/../lib/tap.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"

for story in "$HF_SOURCE"/tests/sim/*.story; do
    capture hfsim "$story"
    is "$code" 0 "$(basename "$story"): $(sed -n '1s/^# //p' "$story")"
    [ "$code" = 0 ] || diag "$out"
done
finish
