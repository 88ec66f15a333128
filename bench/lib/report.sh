# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Figures are lines of key=value in $W/data, with side=LABEL round=N before
# them. These functions print their medians, and compare.
#
#   title TEXT                         begins a row, forgets the figures before
#   figure SIDE ROUND COMMAND...       runs it and keeps each line it prints
#   table SIDE KEY...                  medians of KEYs
#   check_ratio KEY TOP BOTTOM le|ge TARGET   median of the rounds' ratios
#   note_ratio KEY TOP BOTTOM                 the same without a target
#   check_value KEY SIDE le|ge TARGET         median

title() {
    printf '\n%s\n' "$1"
    : >"$W/data"
}

figure() {
    local side=$1 round=$2 line
    shift 2
    if ! "$@" >"$W/lines" 2>"$W/err"; then
        # Each client that failed has a line; the last is of the whole.
        sed "s/^/  $side: /" "$W/err" | sort | uniq -c | sort -rn | head -n 4
        return 1
    fi
    while read -r line; do
        echo "side=$side round=$round $line" >>"$W/data"
    done <"$W/lines"
}

# Values of KEY on SIDE, one line per round: ROUND VALUE.
values() {
    awk -v key="$1=" -v side="side=$2" '
        $1 == side {
            for (i = 3; i <= NF; i++) {
                if (index($i, key) == 1) {
                    print substr($2, 7), substr($i, length(key) + 1)
                }
            }
        }' "$W/data"
}

median() {
    sort -g | awk '{ v[NR] = $1 }
        END {
            if (NR == 0) { print "nan"; exit }
            m = int((NR + 1) / 2)
            print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2
        }'
}

table() {
    local side=$1 key
    shift
    printf '  %-16s' "$side"
    for key in "$@"; do
        printf ' %s %-10s' "$key" "$(values "$key" "$side" |
            cut -d' ' -f2 | median)"
    done
    echo
}

verdict() {
    awk -v got="$1" -v op="$2" -v target="$3" 'BEGIN {
        if (got == "nan") { print "not measured"; exit }
        met = op == "le" ? got <= target : got >= target
        if (!met && target == 0) { print "MISSED"; exit }
        if (met) { print "met"; exit }
        by = op == "le" ? got / target - 1 : 1 - got / target
        printf "MISSED by %.0f%%\n", 100 * by
    }'
}

sign() {
    [ "$1" = le ] && echo '<=' || echo '>='
}

# Median of the rounds' ratios.
ratio() {
    join <(values "$1" "$2" | sort) <(values "$1" "$3" | sort) |
        awk '$3 > 0 { printf "%.3f\n", $2 / $3 }' | median
}

check_ratio() {
    local key=$1 top=$2 bottom=$3 op=$4 target=$5 got
    got=$(ratio "$key" "$top" "$bottom")
    printf '    %-44s %-8s target %s %-6s %s\n' "$key: $top / $bottom" "$got" \
        "$(sign "$op")" "$target" "$(verdict "$got" "$op" "$target")"
}

note_ratio() {
    printf '    %-44s %-8s (no target)\n' "$1: $2 / $3" \
        "$(ratio "$1" "$2" "$3")"
}

check_value() {
    local key=$1 side=$2 op=$3 target=$4 got
    got=$(values "$key" "$side" | cut -d' ' -f2 | median)
    printf '    %-44s %-8s target %s %-6s %s\n' "$key of $side" "$got" \
        "$(sign "$op")" "$target" "$(verdict "$got" "$op" "$target")"
}
