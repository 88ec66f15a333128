#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Output for people has no control characters, no invisible ones, and none that
# change the direction of writing, whichever client they come from. Output for
# programs has every byte.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

esc=$'\ec' c1=$'\xc2\x9b31m' rtl=$'\xe2\x80\xae' zero=$'\xe2\x80\x8b'
line=$'\xe2\x80\xa8' isolate=$'\xe2\x81\xa6' bom=$'\xef\xbb\xbf' latin=$'\xe9\x9b'
tag=$'\xf3\xa0\x81\x81'
evil=a$esc$c1$rtl$zero$line$isolate$bom$tag$'\x7f'z

is_plain() { # TEXT: newlines apart
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xf3\xa0[\x80\x81]|(?<![\xc2-\xf4])(?<![\x80-\xbf])[\x80-\xbf]' \
        <<<"$1"
}
plain() { # TITLE COMMAND...: says something, in visible characters only
    local title=$1
    shift
    capture "$@"
    isnt "$out$err" '' "$title: says something"
    ok "$title: plain" is_plain "$out$err"
    is_plain "$out$err" || diag "$(cat -v <<<"$out$err")"
}

ok 'the check sees an escape' eval '! is_plain "$esc"'
for bytes in "$c1" "$rtl" "$zero" "$line" "$isolate" "$bom" "$tag"; do
    ok "and $(printf %s "$bytes" | od -An -tx1 | xargs)" eval '! is_plain "x$bytes"'
done
ok 'and lets others pass' is_plain 'plain é 漢字 🔒 \xe2'

# ---- Names, owners, hosts and labels of others
server_start one
export HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
holdfast run --label "$evil" "$evil" -- sleep 300 2>/dev/null &
holder=$!
end_holder() {
    kill $holder
    wait $holder
} 2>/dev/null
at_exit end_holder
held() {
    ! holdfast run -n "$evil" -- true
}
wait_until 10 held 2>/dev/null
plain 'a try' holdfast run -n "$evil" -- true
plain 'a wait' holdfast run -w 100ms "$evil" -- true
plain 'ls' holdfast ls
plain 'ls NAME' holdfast ls "$evil"
plain 'ls --json' holdfast ls --json
plain 'ls --json NAME' holdfast ls --json "$evil"
plain 'events' holdfast run --status-fd 2 "b$evil" -- true
server_cli one set "lock:foreign" "$evil" >/dev/null
plain "another client's text" holdfast run -n foreign -- true
plain 'in ls' holdfast ls foreign
owner=$(server_cli one get "lock:$evil")
server_cli one set "lock:host" "$(sed -E "s/^([0-9a-f]{32}:)[^:.]*/\\1$evil/" <<<"$owner")" \
    >/dev/null
plain 'a host' holdfast run -n host -- true
plain 'a host in ls' holdfast ls host
plain 'a host in JSON' holdfast ls --json host

# ---- The input
plain 'a command' holdfast "$evil"
plain 'an option' holdfast run "--$evil" x -- true
plain 'a value' holdfast run -t "$evil" x -- true
plain 'no dashes' holdfast run x "$evil"
plain 'a program' holdfast run -q "c$evil" -- "/none/$evil"
plain 'an owner' holdfast release x --owner "$evil"
for url in "redis://$evil" "$evil://x" "redis://h?$evil=1" "redis://h?prefix=$evil&x=1" \
    "redis+unix:///none/$evil" "local://$evil" "redis://h/$evil"; do
    plain "-u $(cat -v <<<"$url")" holdfast run -n -u "$url" x -- true
    HOLDFAST_URL=$url plain 'HOLDFAST_URL' holdfast run -n x -- true
    plain '-v' holdfast run -v -n -u "$url" x -- true
    plain 'doctor' holdfast doctor -u "$url"
done
mkdir -p "$W/$evil/holdfast"
echo "url = $evil" >"$W/$evil/holdfast/config"
plain 'a file' env -u HOLDFAST_URL "XDG_CONFIG_HOME=$W/$evil" \
    holdfast run -n x -- true

# ---- Suggestions can be pasted
capture holdfast run x "echo $esc'\\"
suggested=${err#*meant: holdfast run x -- }
# shellcheck disable=SC2154
is "$(eval "printf %s $suggested")" "echo $esc'\\" 'a suggestion repeats the input'

# ---- JSON: every byte of a name
names() { # KEY: of all names listed, in hexadecimal
    holdfast ls --json | jq -r "select(.name_hex) | .name_hex"
}
latin_hex=$(printf %s "n$latin" | od -An -tx1 | tr -d ' \n')
server_cli one set "lock:n$latin" x >/dev/null
is "$(names)" "$latin_hex" 'a name that is not UTF-8: name_hex has all of it'
is "$(holdfast ls --json "n$latin" | jq -r .name_hex)" "$latin_hex" \
    'also of one name'
is "$(holdfast ls --json "$evil" | jq -j .name | od -An -tx1 | xargs)" \
    "$(printf %s "$evil" | od -An -tx1 | xargs)" 'a name in UTF-8: name has all of it'
is "$(holdfast ls --json "$evil" | jq -r '.name_hex // "none"')" none \
    'and there is no second form'
back=$(printf '%b' "$(sed 's/../\\x&/g' <<<"$latin_hex")")
capture holdfast run -n "$back" -- true
is "$code" 75 'a name can be given back as it was read'
finish
