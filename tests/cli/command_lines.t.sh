#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random command lines: the options that `holdfast help COMMAND` lists, with values
# and words that are right, at a limit or wrong, in any order, and odd variables. Each
# ends soon with a listed code; an error is one plain line; what is refused prints and
# runs nothing. HF_TEST_SEED=N repeats a run, HF_TEST_ALL=1 tries many more.
. "$(dirname "$0")/../lib/tap.sh"
# timeout: 300
export HOLDFAST_URL W
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
mkdir "$W/store" "$W/here"
cd "$W/here" || exit 1
mkfifo "$W/pipe"
seed=${HF_TEST_SEED:-1}
lines=30 # of each command
[ -z "${HF_TEST_ALL:-}" ] || lines=200
RANDOM=$((seed % 32768))

# These run until a signal, or leave a process: by hand, in other tests.
endless=' --again --follow --while-pid '
commands=(run acquire extend release ls top break get put update guard doctor help)
long=$(printf 'n%.0s' {1..1024})
odd=('' $'\e[31m' $'two\nlines' $'\xff' $'\xc2\x9b31m' '%s%n' "$long" "n$long" '-' '--' '*' '[a-'
    "it's" 'a b' -5 0 1 9223372036854775807 99999999999999999999)
durations=(1s 250ms 1h30m 30s 31d 32d 10ms 9ms 36600d 36601d 1x -1s ' 1s' 0x10 "${odd[@]}")
numbers=(0 1 2 255 256 257 1048576 4194304 9007199254740991 1.5 +1 ' 1' "${odd[@]}")
urls=(OWN OWN "OWN&max_ttl=5s" "OWN&max_ttl=1m" "local://$W/pipe"
    local:relative redis://[::1 redis://h:99999 "redis://h?prefix=%zz" 'redis://a,b'
    $'postgres://h/d?lock=advisory&key=\e' mysql: nosuch:x '://' "redis://$long$long"
    $'redis+unix:///a%0a%1bb?tls_ca=\e' "${odd[@]}")
variables=(HOME TMPDIR XDG_CONFIG_HOME COLUMNS LC_ALL TZ HOLDFAST_OWNER HOLDFAST_NAME
    HOLDFAST_NAMES HOLDFAST_FENCE HOLDFAST_PASSWORD_FILE)

one_of() { # WORD...: in $word; no process, which would have a RANDOM of its own
    local all=("$@")
    word=${all[RANDOM % $#]}
}
chance() { # PERCENT
    ((RANDOM % 100 < $1))
}

# The options of a command, one a line: "--wait DUR", "--try".
list_options() {
    holdfast help "$1" | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\)\( [^ ]*\)\{0,1\}\($\|  .*\)/\2\3/p'
}

add_word() {
    case $command in
    help) one_of "${commands[@]}" stores "${odd[@]}" ;;
    guard) one_of postgres mysql sqlite redis "${odd[@]}" ;;
    *) one_of job "${odd[@]}" ;;
    esac
    line+=("$word")
}

add_option() {
    local option meta choices
    one_of "${options[@]}"
    read -r option meta <<<"$word"
    [[ $endless != *" $option "* ]] || return
    case $meta in
    '') line+=("$option") && return ;;
    DUR) one_of "${durations[@]}" ;;
    N) one_of "${numbers[@]}" ;;
    URL) one_of "${urls[@]}" && word=${word/#OWN/$HOLDFAST_URL} ;;
    *\|*) IFS='|' read -ra choices <<<"$meta" && one_of "${choices[@]}" "${odd[@]}" ;;
    *) one_of "${odd[@]}" 'account-{id}' a@1 ;;
    esac
    if chance 50; then line+=("$option=$word"); else line+=("$option" "$word"); fi
    chance 95 || line+=("${option%?}")
}

# A line has names of its own, so that none waits for a lock that another acquired.
draw() {
    local n
    HOLDFAST_URL="local://$W/store?prefix=$command$i:"
    line=() environment=()
    chance 90 || { one_of -v -q --json --try '' -x && line+=("$word"); }
    line+=("$command")
    n=$((RANDOM % 4))
    chance 70 && add_word
    while ((n-- > 0)); do add_option; done
    chance 30 && add_word
    if [[ $command == run || $command == update ]] && chance 90; then
        line+=(-- sh -c 'echo x >>"$W/ran"')
    fi
    while chance 25; do
        local name
        one_of "${variables[@]}"
        name=$word
        one_of "${odd[@]}" "$W/pipe" /dev/full /nonexistent
        environment+=("$name=$word")
    done
}

# What is wrong with a run, in $wrong.
judge() {
    local own='' text n=0 others='' ran=0
    wrong=''
    [ ! -e "$W/ran" ] || ran=$(wc -l <"$W/ran")
    case $command:$code in
    *:0 | ls:1 | get:1 | doctor:[12]) ;;
    *:64 | *:69 | *:70 | *:7[5-8] | run:124) own=1 ;;
    run:12[67] | update:12[67]) own=1 ;; # a drawn word is the command
    *) wrong+=" exit $code," ;;
    esac
    while IFS= read -r text; do
        case $text in
        'holdfast: '*) n=$((n + 1)) ;;
        '' | 'holdfast['*) ;;
        *) others+=$text ;;
        esac
    done <<<"$err"
    [ -z "$own" ] || [ $n = 1 ] || wrong+=" $n lines,"
    [ -z "$others" ] || wrong+=" others than holdfast's,"
    [[ ${err//$'\n'/} != *[[:cntrl:]]* ]] || wrong+=" control characters,"
    [ "$code" != 64 ] || [ -z "$out" ] || wrong+=" stdout although it is refused,"
    ((ran == 0 || (ran == 1 && code != 64 && code != 78))) || wrong+=" ran $ran times,"
}

try() {
    rm -f "$W/ran"
    capture env "${environment[@]}" timeout -s KILL $((10 * busy)) holdfast "${line[@]}" </dev/null
}

for command in "${commands[@]}"; do
    mapfile -t options < <(list_options "$command")
    ok "$command: has options" test "${#options[@]}" -ge 5
    bad=''
    for ((i = 0; i < lines; i++)); do
        draw
        try
        judge
        [ -z "$wrong" ] || bad+="$wrong: ${environment[*]@Q} holdfast ${line[*]@Q}"$'\n'"$err"$'\n'
    done
    is "$bad" '' "$command: $lines command lines, seed $seed"
done
finish
