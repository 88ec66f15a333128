# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# tests/chaos/run as a test. Source after tap.sh.
#
#   chaos SEED WHAT OPTION...    its cases are the test's own; a failure prints the
#                                command that repeats it

chaos_cases() { # OUTPUT WHICH
    local line
    while read -r line; do
        case $line in
        'ok - '*) pass "$2: ${line#ok - }" ;;
        'not ok - '*) fail "$2: ${line#not ok - }" ;;
        'skip - '*) line=${line#skip - } && skip "${line%%: *}" "${line#*: }" ;;
        '#'*) echo "$line" ;;
        esac
    done <"$1"
}

chaos() { # SEED WHAT OPTION...
    local seed=$1 which="$2, seed $1" dir=$W/$1-${2// /-} code
    local command=(tests/chaos/run --quick --seed "$seed" "${@:3}")
    mkdir -p "$dir"
    diag "$2: ${command[*]}"
    "$HF_SOURCE/${command[0]}" "${command[@]:1}" --report "$dir/report.md" \
        --keep "$dir/run" >"$dir/out" 2>"$dir/err"
    code=$?
    chaos_cases "$dir/out" "$which"
    is $code 0 "$which: the run says that all is well"
    is "$(cat "$dir/run/holdfast/clients.out")" "" \
        "$which: no client complains"
    ok "$which: there is a report" grep -q '^| seconds |' "$dir/report.md"
    diag "$(tail -n 1 "$dir/out")"
    diag "$(cat "$dir/err" "$dir/report.md")"
    [ $code = 0 ] || diag "again: HF_BUILD=$HF_BUILD ${command[*]}"
}
