#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The table of bench/results: docs/stores.md has it as the script prints it, with a row
# for each store that the command knows, and times where something is measured.
. "$(dirname "$0")/../lib/tap.sh"

results=$HF_SOURCE/bench/results

# Rows alone, with the columns that are measured apart.
facts_of() { # in a table of stores columns 2 to 4, of commands 2 and 3
    awk -F'|' '/^\|/ { print (NF > 6 ? $2 "|" $6 "|" $7 "|" $8 "|" $9 : $2) }'
}
times_of() {
    awk -F'|' '/^\| `/ { print $3; print $4; if (NF > 6) print $5 }' | sed 's/^ //; s/ $//'
}
are_times() { # FILE
    [ -s "$1" ] &&
        ! grep -qvE '^[0-9]+(\.[0-9]+)? (ms|s)( \(its (process|connection)\))?$|^–$' "$1"
}

capture "$results" --facts
is "$code$err" 0 'what is not measured'
facts_of <<<"$out" >"$W/facts"
ok '... of ten stores and more' test "$(grep -c '^ `.*|' "$W/facts")" -ge 10
sed -n '/^<!-- bench\/results -->$/,/^<!-- end of bench\/results -->$/p' \
    "$HF_SOURCE/docs/stores.md" >"$W/docs"
is "$(facts_of <"$W/docs")" "$(cat "$W/facts")" 'docs/stores.md has these rows and no others'
times_of <"$W/docs" >"$W/times"
ok '... and what was measured' are_times "$W/times"
holdfast help stores | sed -n '/^  store  *ends with/,$p' | tail -n +2 |
    awk '{ print "`" $1 "`" }' >"$W/stores"
is "$(awk '/^\| `.*\|.*\|.*\|.*\|.*\|/ { print $2 }' "$W/docs")" "$(cat "$W/stores")" \
    '... of each store that the command knows'

capture timeout 120 "$results" --quick local:
is "$code" 0 'a short run of one store'
[ "$code" = 0 ] || diag "$err"
is "$(facts_of <<<"$out")" "$(sed -n '1,2p;/^ `local:`/p' "$W/facts")" '... has its row'
times_of <<<"$out" >"$W/times"
ok '... with times' are_times "$W/times"
capture "$results" none://
is "$code" 64 'a store that is none'
like "$err" 'no store none://' '... by its name'
finish
