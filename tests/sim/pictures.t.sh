#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The pictures of docs/pictures are what hfsim draws today, to the byte, and
# well-formed; in these and in those of some seeds no two labels overlap. To draw
# them anew: HF_REDRAW=1 tests/sim/pictures.t.sh
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

# No text lies over another. A letter is 0.59 of its size wide (DejaVu, of which
# there are narrower ones), bold ones 0.65.
has_labels_apart() {
    awk -F '"' 'BEGIN {
            n = 0
            size["title"] = 20; size["caption"] = 13; size["who"] = 13
            size["what"] = size["small"] = 10.5; size["in"] = 11.5
        }
        /^<text / {
            split($6, classes, " ")
            px = size[classes[1]]
            text = $7
            gsub(/^>|<.*/, "", text)
            gsub(/&[a-z]+;/, "&", text)
            width = length(text) * px * (px > 11 && px != 13 ? 0.65 : 0.59)
            x = $6 ~ /mid/ ? $2 - width / 2 : $6 ~ /end/ ? $2 - width : $2
            left[n] = x; right[n] = x + width
            top[n] = $4 - px * 0.75; bottom[n] = $4 + px * 0.2
            says[n++] = text
        }
        END {
            for (i = 0; i < n; i++) {
                for (j = 0; j < i; j++) {
                    if (left[i] < right[j] && left[j] < right[i] &&
                        top[i] < bottom[j] && top[j] < bottom[i]) {
                        print "\"" says[j] "\" and \"" says[i] "\" overlap"
                        failed = 1
                    }
                }
            }
            exit n == 0 || failed
        }' "$1"
}

printf '<text x="%s" y="20.0" class="small">label</text>\n' 10.0 50.0 >"$W/apart"
printf '<text x="%s" y="20.0" class="small">label</text>\n' 10.0 30.0 >"$W/over"
ok "labels beside each other pass" has_labels_apart "$W/apart"
capture has_labels_apart "$W/over"
is "$code $out" '1 "label" and "label" overlap' "labels over each other do not"

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
    ok "$name: no label is over another" has_labels_apart "$W/$name.svg"
    ok "$name: is shown and explained" \
        grep -qF "($name.svg)" "$pictures/README.md"
done

# The server does not know the script yet: the first release is sent twice, and
# starts where the bar of its holder ends.
grep -c '>NOSCRIPT<' "$W/handover.svg" >"$W/count"
is "$(cat "$W/count")" 2 "handover: acquire and release are both asked twice"
bar_end=$(awk -F '"' '/class="bar c1"/ { printf "%.1f", $2 + $6; exit }' \
    "$W/handover.svg")
ok "handover: the first request to release leaves where the bar ends" \
    grep -qE "<path d=\"M$bar_end .*class=\"ask s1\"" "$W/handover.svg"

for seed in $(seq 1 25); do
    capture hfsim --seed "$seed" --svg "$W/seed.svg"
    [ "$code" = 0 ] && has_labels_apart "$W/seed.svg" >>"$W/overlaps" && continue
    echo "seed $seed" >>"$W/overlaps"
done
is "$(cat "$W/overlaps")" "" "seeds 1 to 25: no label is over another"

for picture in "$pictures"/*.svg; do
    name=$(basename "$picture" .svg)
    ok "$name: has a story" test -e "$HF_SOURCE/sim/scenarios/$name.story"
done

finish
