#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No line on a terminal is wider than the terminal: columns are dropped in order
# of importance, sentences are wrapped between words. Programs get whole lines.
. "$(dirname "$0")/../lib/tap.sh"
# timeout: 120
pty=$HF_BUILD/tests/lib/pty
export HOLDFAST_URL=local://$W/store LC_ALL=C.UTF-8
unset COLUMNS
host=$(uname -n)

pids=()
end_runs() {
    kill "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
}
at_exit end_runs
run() { # ARG...
    holdfast run "$@" -- sleep 300 2>/dev/null &
    pids+=($!)
}
count() { # N : so many rows
    [ "$(holdfast ls | wc -l)" = $(($1 + 1)) ]
}
long=$(printf 'x%.0s' {1..200})
wide=$(printf '名%.0s' {1..60})
run --label 'night shift' nightly
run --label "$(printf 'é%.0s' {1..60})" "$long"
run -s "$wide"
run -p 3 gpu
# A slot is not a row. A control character is shown in four columns.
run "$(printf 'bell\a%s' "$long")"
ok 'there is something to see' wait_until 10 count 5

# The screen of a terminal of COLS columns, replayed with 300: a line that would
# wrap is longer there. $out
screen() { # COLS COMMAND [VARIABLE=...]
    rm -f "$W/screen"
    cat >"$W/script" <<S
shows the-end
screen $W/screen
S
    timeout 60 "$pty" env "${@:3}" sh -c "stty rows 190 cols $1
        $2 2>&1; echo the-'end'" <"$W/script" >"$W/log" || cat "$W/log"
    out=$(grep -v '^the-end$' "$W/screen")
}
# The same without wrapping: the terminal is wide, COLUMNS is not.
narrow() { # COLS COMMAND [VARIABLE=...]
    screen 400 "$2" "COLUMNS=$1" "${@:3}"
}
columns_of() { # the widest line of $out, as wcwidth() has it
    "$HF_BUILD/tests/lib/columns" <<<"$out"
}
fits() { # COLS TITLE
    local widest
    widest=$(columns_of)
    ok "$2: no line is wider ($widest)" \
        test "$widest" -le "$1" -a "$widest" -gt 0
}
titles() {
    head -n 1 <<<"$out" | tr -s ' '
}

declare -A shown=(
    [160]='NAME MODE HOLDER SINCE LEFT FENCE WAITING LABEL'
    [80]='NAME MODE HOLDER SINCE LEFT WAITING LABEL'
    [40]='NAME HOLDER LEFT WAITING'
    [20]='NAME LEFT')
for columns in 160 80 40 20; do
    narrow $columns 'holdfast ls'
    fits $columns "ls in $columns columns"
    is "$(titles)" "${shown[$columns]}" "ls in $columns columns: the main columns"
    is "$(wc -l <<<"$out")" 6 "ls in $columns columns: one line for a row"
    like "$out" $'\n''xxx*…  ' "ls in $columns columns: a name is cut"
    like "$out" $'\n''名名名*… ' "ls in $columns columns: between characters"
    like "$out" $'\n''bell\\x07*x*… ' "ls in $columns columns: and escaped"
    rows=$out
    screen $columns 'holdfast ls'
    is "$(tr -d '0-9. ' <<<"$out")" "$(tr -d '0-9. ' <<<"$rows")" \
        "ls on a terminal of $columns columns: the same"
done
narrow 80 'holdfast ls'
like "$out" "nightly +exclusive +${host:0:8}[^ ]* .* night" 'label and holder'
is "$(grep -c … <<<"$out")" 3 'a row that fits is not cut'
narrow 300 'holdfast ls "n*"'
unlike "$out" '…' 'a wide terminal: nothing is cut'

# Values that are no width, and widths that no terminal has.
for bad in 0 10000 -1 x '' 99999999999999999999; do
    screen 80 'holdfast ls' "COLUMNS=$bad"
    fits 80 "COLUMNS='$bad'"
    is "$(titles)" "${shown[80]}" "COLUMNS='$bad': as wide as the terminal"
done
printf 'expect WAITING  LABEL\r\nexpect LEFT  WAITING\r\n' >"$W/script"
ok 'a terminal that does not say: 80, or COLUMNS' timeout 60 "$pty" \
    sh -c 'stty cols 0; holdfast ls; COLUMNS=40 holdfast ls' <"$W/script"
for columns in 1 2 5; do
    narrow $columns 'holdfast ls'
    fits $columns "ls in $columns columns"
    is "$(wc -l <<<"$out")" 6 "ls in $columns columns: one line for a row"
done
LC_ALL=C narrow 80 'holdfast ls'
like "$out" 'xxx~ ' 'no UTF-8: another sign of a cut'

# Sentences.
holdfast run --label second -w 300s nightly -- true 2>/dev/null &
pids+=($!)
waits() {
    [[ $(holdfast ls nightly) == *second* ]]
}
ok 'one waits' wait_until 10 waits
letters() { # of a sentence, but for when it is
    tr -d ' \n' <<<"$1" | sed -E 's/[0-9]{2}:[0-9]{2}:[0-9]{2}/T/g'
}
whole=$(holdfast ls nightly)
for columns in 80 40 20; do
    narrow $columns 'holdfast ls nightly'
    fits $columns "ls NAME in $columns columns"
    is "$(letters "$out")" "$(letters "$whole")" \
        "ls NAME in $columns columns: every word"
    screen $columns 'holdfast ls nightly'
    fits $columns "ls NAME on a terminal of $columns columns"
done
narrow 80 "holdfast ls $long"
fits 80 'ls of a long name'
like "$out" "^x{80}"$'\n'" {4}x{76}"$'\n'" {4}x{44}: held by " 'a long word is broken'
narrow 80 'holdfast doctor'
fits 80 doctor
like "$out" $'\n''fit for locks' 'doctor: the verdict is a line of its own'
for columns in 1 10; do
    narrow $columns 'holdfast ls nightly'
    like "$out" '^nightly: held by .*, 1 waiting'$'\n' \
        "ls NAME in $columns columns: left to the terminal"
done

# The output after it, until Ctrl-C.
for columns in 80 40 20; do
    rm -f "$W/screen"
    cat >"$W/script" <<S
shows waiting 1
send \x03
shows the-end
screen $W/screen
S
    timeout 60 "$pty" env COLUMNS=$columns sh -c "stty rows 190 cols 400
        trap : INT; holdfast ls --follow '*'; echo; echo the-'end'" \
        <"$W/script" >"$W/log" || cat "$W/log"
    out=$(grep -v '^\(the-end\|^C\)$' "$W/screen")
    fits $columns "ls --follow in $columns columns"
    like "$(tr -d ' \n' <<<"$out")" 'nightlyheldby.*\(nightshift\),fence[0-9]+' \
        "ls --follow in $columns columns: every word"
done

# Without a terminal.
capture holdfast ls
plain=$(tr -d '0-9. ' <<<"$out")
for columns in 1 20 80 10000; do
    COLUMNS=$columns capture holdfast ls
    is "$(tr -d '0-9. ' <<<"$out")" "$plain" \
        "a program reads: COLUMNS=$columns changes nothing"
done
like "$out" "$long" 'a program reads: names are whole'
is "$(wc -l <<<"$(COLUMNS=20 holdfast ls nightly)")" 3 \
    'a program reads: nothing is folded'
finish
