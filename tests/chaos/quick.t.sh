#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every fault once, on real servers, with this library's clients:
# tests/chaos/run with a fixed seed, and with one drawn from the sources
# (tests/lib/drawn.sh), which gives another order and other victims.
# timeout: 1000
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/drawn.sh"

command -v redis-server >/dev/null || skip_all "redis-server is not installed"

told() { # OUTPUT SEED : as this test's own
    local line
    while read -r line; do
        case $line in
        'ok - '*) pass "seed $2: ${line#ok - }" ;;
        'not ok - '*) fail "seed $2: ${line#not ok - }" ;;
        'skip - '*) line=${line#skip - } && skip "${line%%: *}" "${line#*: }" ;;
        '#'*) echo "$line" ;;
        esac
    done <"$1"
}

chaos() { # SEED WHAT OPTION...
    local seed=$1 dir=$W/$1 code
    local command=(tests/chaos/run --quick --seed "$seed" "${@:3}")
    mkdir -p "$dir"
    diag "$2: ${command[*]}"
    "$HF_SOURCE/${command[0]}" "${command[@]:1}" --report "$dir/report.md" \
        --keep "$dir/run" >"$dir/out" 2>"$dir/err"
    code=$?
    told "$dir/out" "$seed"
    is $code 0 "seed $seed: the run says that all is well"
    is "$(cat "$dir/run/holdfast/clients.out")" "" \
        "seed $seed: no client complains"
    ok "seed $seed: there is a report" grep -q '^| seconds |' "$dir/report.md"
    diag "$(tail -n 1 "$dir/out")"
    diag "$(cat "$dir/err" "$dir/report.md")"
    [ $code = 0 ] || diag "again: HF_BUILD=$HF_BUILD ${command[*]}"
}

# A sanitized build is tested by the library's own tests: here only in part.
part=()
if is_sanitized "$HF_BUILD/tests/chaos/client"; then
    part=(--only 'cut,reset,swallow,stop-client,kill-client,empty-majority')
else
    chaos 1 "a fixed seed"
fi
chaos "$(drawn_seed)" "a seed drawn from these sources" "${part[@]}"
finish
