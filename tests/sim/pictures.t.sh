#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The pictures of docs/pictures are what hfsim draws today, to the byte, and
# well-formed. To draw them anew: HF_REDRAW=1 tests/sim/pictures.t.sh
. "$(dirname "$0")/../lib/tap.sh"

command -v hfsim >/dev/null || skip_all "hfsim is not built (no Lua 5.1)"

pictures=$HF_SOURCE/docs/pictures

# Every element that is opened is closed, and no text has a bare < or &.
is_well_formed() {
    if command -v xmllint >/dev/null; then
        xmllint --noout "$1"
    else
        awk 'function bad() { exit failed = 1 }
            { text = text $0 "\n" }
            END {
                while (match(text, /<[^>]*>/)) {
                    before = substr(text, 1, RSTART - 1)
                    tag = substr(text, RSTART + 1, RLENGTH - 2)
                    text = substr(text, RSTART + RLENGTH)
                    gsub(/&(amp|lt|gt|quot);/, "", before)
                    if (before ~ /[&>]/) bad()
                    name = tag
                    sub(/^\//, "", name)
                    sub(/[ \/].*/, "", name)
                    if (tag ~ /^\//) {
                        if (depth == 0 || open[depth--] != name) bad()
                    } else if (tag !~ /\/$/) {
                        open[++depth] = name
                    }
                }
                exit failed || depth != 0 || text !~ /^[[:space:]]*$/
            }' "$1"
    fi
}

printf '<a><b x="1"/>&amp;</a>\n' >"$W/good"
printf '<a><b></a></b>\n' >"$W/bad"
ok "what is well-formed passes" is_well_formed "$W/good"
capture is_well_formed "$W/bad"
isnt "$code" 0 "what is not does not"

for story in "$HF_SOURCE"/sim/scenarios/*.story; do
    name=$(basename "$story" .story)
    capture hfsim --scenario "$name" --svg "$W/$name.svg"
    is "$code" 0 "$name: goes as it should"
    if [ -n "${HF_REDRAW:-}" ]; then
        cp "$W/$name.svg" "$pictures/$name.svg"
    fi
    ok "$name: the picture is the committed one" \
        cmp "$W/$name.svg" "$pictures/$name.svg"
    ok "$name: well-formed" is_well_formed "$W/$name.svg"
    ok "$name: is shown and explained" \
        grep -qF "($name.svg)" "$pictures/README.md"
done

for picture in "$pictures"/*.svg; do
    name=$(basename "$picture" .svg)
    ok "$name: has a story" test -e "$HF_SOURCE/sim/scenarios/$name.story"
done

finish
