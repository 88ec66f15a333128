#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every fault once, on real servers, with this library's clients:
# tests/chaos/run with a fixed seed, and with one drawn from the sources
# (tests/lib/drawn.sh), which gives another order and other victims.
# timeout: 1000
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/chaos.sh"

command -v redis-server >/dev/null || skip_all "redis-server is not installed"

# A sanitized build is tested by the library's own tests: here only in part.
part=()
if is_sanitized "$HF_BUILD/tests/chaos/client"; then
    part=(--only 'cut,reset,swallow,stop-client,kill-client,empty-majority')
else
    chaos 1 "a fixed seed"
fi
chaos "$(drawn_seed)" "a seed drawn from these sources" "${part[@]}"
finish
