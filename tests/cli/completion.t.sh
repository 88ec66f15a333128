#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completion: the suggestions, and how bash, zsh and fish use them.
. "$(dirname "$0")/../lib/tap.sh"
# timeout: 60
export HOLDFAST_URL=local://$W/store
for name in nightly 'night shift' never 'a*b' 'a1b' $'two\nlines'; do
    holdfast acquire -t 50s "$name" >"$W/log" || fail "acquire $name"
done

offers() { # WANT TITLE WORD...
    local want=$1 title=$2
    shift 2
    capture holdfast complete -- "$@"
    is "$code:${out//$'\n'/|}" "0:$want" "$title"
}
offers 'release' 'a command' rel
offers 'run|acquire|extend|release|ls|top|break|get|put|update|guard|doctor|help' 'all commands' ''
offers '--wait' 'an option' run --wa
offers '--while-pid' 'of this command alone' acquire --wh
offers '--verbose' 'an option of every command' break --verb
offers '--wait' 'an option of break' break --wa
offers 'kill|warn' 'the values of a choice' run --on-lost ''
offers '' 'not of a duration' run -w ''
offers 'night shift|nightly' 'names from the store' release ni
offers 'nightly' 'after options with values' run -w 5s --ttl 30s nightl
offers 'a*b' 'a character of patterns stands for itself' break 'a*'
offers '' 'no name of two lines' ls tw
offers '' 'nothing after --' run job -- ni
offers '' 'no names of another store' ls -u "local://$W/other" ni
offers 'doctor' 'commands for help' help d
offers 'postgres' 'the databases of guard' guard p
offers 'postgres|mysql|sqlite|redis' 'all of them' guard ''
offers '' 'no database after one' guard sqlite --install ''
offers '--reset' 'its options' guard postgres --r
offers '--print-schema' 'those of doctor' doctor --pr
capture timeout 20 holdfast complete -- ls -u redis://192.0.2.1 n
is "$out" '' 'a store that is away: nothing'
isnt "$code" 124 'soon'

# bash, as its completion calls it.
in_bash() { # WORD...
    # shellcheck disable=SC2016 # of the shell within
    bash -c 'source "$1" && shift && COMP_WORDS=(holdfast "$@") &&
        COMP_CWORD=$# && _holdfast holdfast && printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$HF_SOURCE/completions/holdfast.bash" "$@"
}
is "$(in_bash release ni)" $'night\\ shift\nnightly' 'bash: names, quoted'
cd "$W" || exit
: >bank.db
is "$(in_bash guard sqlite --install ban)" bank.db 'bash: files after --install'
is "$(in_bash run --on-lo)" --on-lost 'bash: options'
like "$(in_bash run job -- holdfas)" holdfast 'bash: commands after --'
if command -v zsh >/dev/null; then
    cat >"$W/zsh" <<'X'
_normal() { print "normal $words"; }
compadd() { print -l -- "${found[@]}"; }
words=(holdfast release ni) CURRENT=3
source "$1"
words=(holdfast run job -- l) CURRENT=5
source "$1"
X
    is "$(zsh -f "$W/zsh" "$HF_SOURCE/completions/_holdfast")" \
        $'night shift\nnightly\nnormal l' 'zsh: names, and commands after --'
else
    skip 'zsh' 'not installed'
fi
if command -v fish >/dev/null; then
    is "$(HOME=$W fish --no-config -c "source '$HF_SOURCE/completions/holdfast.fish'
        complete -C 'holdfast release ni'")" $'night shift\nnightly' 'fish: names'
else
    skip 'fish' 'not installed'
fi

# Installed.
DESTDIR=$W/root cmake --install "$HF_BUILD" --prefix /usr >"$W/log" 2>&1
for file in bash-completion/completions/holdfast zsh/site-functions/_holdfast \
    fish/vendor_completions.d/holdfast.fish; do
    ok "$file is installed" test -s "$W/root/usr/share/$file"
done
finish
