#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How often the first waiter polls while another library holds the name.
. "$(dirname "$0")/../lib/tap.sh"

command -v hfsim >/dev/null || skip_all "no Lua 5.1: hfsim is not built"

capture hfsim --trace "$HF_SOURCE/tests/sim/foreign-holder.story"
is "$code" 0 "nothing breaks"
like "$out" 'p2 +held +a' "the waiter acquires the name"
looks=$(grep -c 'p2 acquire or queue a' <<<"$out")
# At least every 40 ms, in 2.9 s; every half second it would be 15 polls.
ok "it has looked $looks times in 2.9 s" test "$looks" -ge 70 -a "$looks" -le 150
finish
