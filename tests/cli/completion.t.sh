#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completion: the suggestions, and how bash, zsh and fish use them.
. "$(dirname "$0")/../lib/tap.sh"
# timeout: 200
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
other=local://$W/other
for option in "--url=$other" "-u$other" "-qu$other" "-qvu$other"; do
    offers '' "no names of another store: $option" break "$option" ni
    offers '' "nor before the command: $option" "$option" break ni
done
for option in --url -u -qu; do
    offers '' "nor with the URL as a word of its own: $option" break "$option" "$other" ni
done
HOLDFAST_URL=$other offers 'night shift|nightly' 'names of the store of --url=' \
    break "--url=local://$W/store" ni
offers 'night shift|nightly' 'a word like an option, as the value of one' \
    release --owner -u ni
offers 'night shift|nightly' 'a bundle without a value' release -qv ni
offers 'doctor' 'commands for help' help d
offers 'postgres' 'the databases of guard' guard p
offers 'postgres|mysql|sqlite|redis' 'all of them' guard ''
offers '' 'no database after one' guard sqlite --install ''
offers '--reset' 'its options' guard postgres --r
offers '--print-schema' 'those of doctor' doctor --pr
capture timeout 20 holdfast complete -- ls -u redis://192.0.2.1 n
is "$out" '' 'a store that is away: nothing'
isnt "$code" 124 'soon'

# Names that a terminal must not get: the C1 control sequence introducer, an
# override of the direction, an invisible character, and bytes that are no text.
for name in $'evil\xc2\x9b31m' $'evil\xe2\x80\xaetxt' $'evil\xe2\x80\x8bx' \
    $'evil\x9b1m' 'evil\x' $'evil\xc3\xa9'; do
    holdfast acquire -t 50s "$name" >"$W/log" || fail "acquire $name"
done
offers $'evil\\x|evil\xc3\xa9' 'names that a terminal may get alone' ls evil

# bash, at a terminal, where readline splits the line at COMP_WORDBREAKS.
cat >"$W/rc" <<X
PS1='ready> ' HISTFILE=
source '$HF_SOURCE/completions/holdfast.bash'
X
typed() { # TEXT: the words of that line when Tab was pressed, one a line
    rm -f "$W/words"
    INPUTRC=/dev/null TERM=dumb timeout 60 "$HF_BUILD/tests/lib/pty" \
        bash --noprofile --rcfile "$W/rc" -i <<X
expect ready>
send $1\x09\x01printf '%s\\\\n' \x05 >'$W/words'; echo en''ded\n
expect ended
X
    sed '1,2 d' "$W/words"
}
for name in job:nightly job:weekly job:a job:b= nf ng shard=1/a shard=2/b mail@home 'x:y z'; do
    holdfast acquire -t 50s "$name" >"$W/log" || fail "acquire $name"
done
is "$(typed 'holdfast ls nig')" night 'bash: what several names begin with'
is "$(typed 'holdfast release nightl')" nightly 'bash: a name'
is "$(typed 'holdfast break job:ne')" job:ne 'bash: not a name of the last piece'
is "$(typed 'holdfast break job:n')" job:nightly 'bash: a name with a colon'
is "$(typed 'holdfast break job:')" job: 'bash: several behind the colon'
is "$(typed 'holdfast break jo')" job: 'bash: before the colon'
is "$(typed 'holdfast break job:b')" 'job:b=' 'bash: a name that ends with a sign'
is "$(typed 'holdfast break shard=2')" shard=2/b 'bash: a name with an equals sign'
is "$(typed 'holdfast break mail@')" mail@home 'bash: a name with an at sign'
is "$(typed 'holdfast break x:')" 'x:y z' 'bash: quoted behind the colon'
is "$(typed 'holdfast break : n')" $':\nn' 'bash: a colon of its own'
is "$(typed "holdfast ls -u local://$W/store job:w")" \
    $'-u\n'"local://$W/store"$'\njob:weekly' 'bash: names of the store of -u'
is "$(typed "holdfast ls -u 'local://$W/store' job:w")" \
    $'-u\n'"local://$W/store"$'\njob:weekly' 'bash: a URL in quotes'
HOLDFAST_URL=local://$W/other
is "$(typed "holdfast ls -u \"local://$W/store\" job:w")" \
    $'-u\n'"local://$W/store"$'\njob:weekly' 'bash: in double quotes'
is "$(typed "holdfast ls --url='local://$W/store' job:w")" \
    "--url=local://$W/store"$'\njob:weekly' 'bash: in quotes behind the option'
is "$(typed "holdfast ls -u local:'//$W/'st\\\\ore job:w")" \
    $'-u\n'"local://$W/store"$'\njob:weekly' 'bash: in quotes in part'
is "$(typed "holdfast ls -u '\$(touch $W/ran)' job:w")" \
    $'-u\n$(touch '"$W/ran)"$'\njob:w' 'bash: no command in quotes'
ok 'bash: it is not run' test ! -e "$W/ran"
HOLDFAST_URL=local://$W/store
is "$(typed 'holdfast ls -u redis://u:p@127.0.0.1:1?a=b --verb')" \
    $'-u\nredis://u:p@127.0.0.1:1?a=b\n--verbose' 'bash: options after a URL'
is "$(typed 'A=b holdfast release nightl')" $'release\nnightly' \
    'bash: after an assignment'
cd "$W" || exit
touch bank.db a:bank.db
is "$(typed 'holdfast guard sqlite --install ban')" $'sqlite\n--install\nbank.db' \
    'bash: files after --install'
is "$(typed 'holdfast guard sqlite --install a:b')" $'sqlite\n--install\na:bank.db' \
    'bash: with a colon'
is "$(typed 'holdfast run --on-lo')" --on-lost 'bash: options'
is "$(typed 'holdfast run a:b -- holdfas')" $'a:b\n--\nholdfast' \
    'bash: commands after --'
is "$(typed 'holdfast run job -- cat ban')" $'job\n--\ncat\nbank.db' \
    'bash: files after the command'
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
    cat >"$W/zsh" <<'X'
compadd() { print -l -- "${found[@]}"; }
words=(holdfast release -u "'$2'" ni) CURRENT=5
source "$1"
words=(holdfast release "--url=\"$2\"" "'night s") CURRENT=4
source "$1"
X
    is "$(HOLDFAST_URL=local://$W/other zsh -f "$W/zsh" \
        "$HF_SOURCE/completions/_holdfast" "local://$W/store")" \
        $'night shift\nnightly\nnight shift' 'zsh: words in quotes'
else
    skip 'zsh' 'not installed'
fi
if command -v fish >/dev/null; then
    is "$(HOME=$W fish --no-config -c "source '$HF_SOURCE/completions/holdfast.fish'
        complete -C 'holdfast release ni'")" $'night shift\nnightly' 'fish: names'
    is "$(HOME=$W HOLDFAST_URL=local://$W/other fish --no-config -c \
        "source '$HF_SOURCE/completions/holdfast.fish'
        complete -C \"holdfast release -u 'local://$W/store' ni\"")" \
        $'night shift\nnightly' 'fish: words in quotes'
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
