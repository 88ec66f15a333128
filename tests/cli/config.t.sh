#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where the store comes from: -u, HOLDFAST_URL, the file, this machine.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/users.sh"
export HOME=$W/home XDG_STATE_HOME=$W/state
unset XDG_CONFIG_HOME
mkdir -p "$HOME/.config/holdfast"
file=$HOME/.config/holdfast/config

# Which store is in use? The one where its name is held.
uses() { # URL TITLE [OPTION...]
    local url=$1 title=$2
    shift 2
    capture holdfast run "$@" here -- holdfast run -nu "$url" here -- true
    like "$code:$err" '^64:|held by' "$title"
}

refused() { # REGEX TITLE
    capture holdfast run x -- true
    is "$code" 78 "$2: exit 78"
    like "$err" "^holdfast: [^"$'\n'"]*$1[^"$'\n'"]*$" "$2: one line"
}

echo "url = local://$W/file" >"$file"
uses "local://$W/file" 'the file'
HOLDFAST_URL=local://$W/env uses "local://$W/env" 'HOLDFAST_URL before the file'
HOLDFAST_URL=local://$W/env uses "local://$W/opt" '-u before HOLDFAST_URL' \
    -u "local://$W/opt"
HOLDFAST_URL='' uses "local://$W/file" 'an empty HOLDFAST_URL is none'
mkdir -p "$W/xdg/holdfast"
echo "url = local://$W/xdgstore" >"$W/xdg/holdfast/config"
XDG_CONFIG_HOME=$W/xdg uses "local://$W/xdgstore" 'XDG_CONFIG_HOME'
XDG_CONFIG_HOME=xdg uses "local://$W/file" 'a relative XDG_CONFIG_HOME counts as unset'
XDG_CONFIG_HOME='' uses "local://$W/file" 'an empty one too'
capture holdfast run x -- true
is "$err" '' 'a configured store needs no notice'

printf '# comment\n\n  url=local://%s  \n\tmax_ttl = 5s\r\n' "$W/params" >"$file"
uses "local://$W/params" 'blanks, comments, tabs, CR' -t 5s
capture holdfast run -t 6s x -- true
is "$code" 64 'a parameter of the file counts'
like "$err" '6.*5' 'and is named with the asked one'
printf 'url = local://%s?max_ttl=10s\nnode_timeout = 20ms\n' "$W/params2" >"$file"
ok 'parameters in the URL and in the file' holdfast run -t 10s x -- true
# Parameters of the file follow the last of several URLs, which may have none.
servers_start 3
printf 'url = %s?quarantine=off %s %s\nmax_ttl = 5s\n' "${SERVER_URL[s1]}" \
    "${SERVER_URL[s2]}" "${SERVER_URL[s3]}" >"$file"
capture holdfast run -t 5s x -- true
is "$code:$err" 0: 'several URLs, the first with parameters'
capture holdfast run -t 6s x -- true
like "$code:$err" '64:.*5s' 'and a parameter of the file counts'

echo 'url = ' >"$file"
refused "$file: has no .url" 'no url'
echo 'max_ttl = 5s' >"$file"
refused "$file: has no .url" 'parameters only'
printf '# store\nurll = local://%s\n' "$W/x" >"$file"
refused "$file:2: unknown key \"urll\": did you mean \"url\"?" 'url misspelled'
printf 'max_ttl = 5s\nUrl = local:\nuri = local:\n' >"$file"
refused "$file:2: not a .key = value. line" 'a key in capitals'
printf 'max_ttl = 5s\nuri = local:\n' >"$file"
refused "$file:2: unknown key \"uri\": did you mean \"url\"?" 'after a parameter'
printf 'url = local://%s\nmax_tll = 5s\n' "$W/x" >"$file"
refused "$file:2: .*max_ttl" 'unknown parameter: the nearest'
printf 'url = local://%s\nnonsense\n' "$W/x" >"$file"
refused "$file:2: not a" 'not a line'
printf '# store\nurl = redsi://x\n' >"$file"
refused "$file:2: unknown store" 'unknown scheme: with its line'
printf 'url = local://%s\n\nmax_tll = 5s\n' "$W/x" >"$file"
refused "$file:3: .*max_ttl" 'unknown parameter: with its line'
printf 'url = local://%s\nmax_ttl = 5s\nprefx = a\n' "$W/x" >"$file"
refused "$file:3: .*prefix" 'and not that of a key in the list of known ones'
printf 'url = "local://%s"\n' "$W/x" >"$file"
refused "$file:1: no quotes around values$" 'a value in quotes'
printf "max_ttl = '5s'\n" >"$file"
refused "$file:1: no quotes around values$" 'of a parameter'
printf 'url = local://%s # here\n' "$W/x" >"$file"
refused "$file:1: a comment needs a line of its own$" 'a comment after a value'
printf 'url = local://%s\nmax_ttl = 5s\t# short\n' "$W/x" >"$file"
refused "$file:2: a comment needs a line of its own$" 'after a parameter'
printf 'url = local://%s\nmax_ttl = 5s\nurl = local://%s\n' "$W/x" "$W/y" >"$file"
refused "$file:3: url is given twice, first in line 1$" 'two URLs'
printf 'url = local://%s\nurl =\n' "$W/x" >"$file"
refused "$file:2: url is given twice, first in line 1$" 'and if one is empty'
printf 'url = local://%s\nmax_ttl = 5s\nmax_ttl = 6s\n' "$W/x" >"$file"
refused "$file:2: .*max_ttl.* twice" 'a parameter twice'
printf 'url = local://%s\nmax_ttl = 5s\0\nfence_keep = 1h\n' "$W/x" >"$file"
refused "$file:2: has a NUL byte$" 'a NUL byte'
printf '\xef\xbb\xbfurl = local://%s\n' "$W/x" >"$file"
refused "$file:1: begins with a byte order mark \(BOM\): save it as UTF-8 without one$" \
    'a byte order mark'
printf 'url = local://%s\n\0' "$W/x" >"$file"
refused "$file:2: has a NUL byte$" 'a NUL byte at the end'
printf 'url = local://%s/a#b\n' "$W" >"$file"
capture holdfast run x -- true
unlike "$err" comment 'a # inside a value is none'
head -c 20000 /dev/zero | tr '\0' x >"$file"
refused "$file: File too large" 'a huge file'
rm "$file"
mkdir "$file"
refused "$file: Is a directory" 'a folder'
rmdir "$file"
mkfifo "$file"
refused "$file: not a regular file$" 'a pipe does not hang'
rm "$file"
ln -s "$W/nowhere" "$file"
refused "$file: is a symbolic link to nothing$" 'a symbolic link to nothing'
rm "$file"
mv "$HOME/.config/holdfast" "$W/moved"
ln -s "$W/nowhere" "$HOME/.config/holdfast"
refused "$file: its folder is a symbolic link to nothing$" 'nor is its folder one'
rm "$HOME/.config/holdfast"
mv "$W/moved" "$HOME/.config/holdfast"
far=/$(printf 'far/%.0s' {1..150})
HOME=$far refused '/far.*: File name too long$' 'a HOME whose file cannot be named'
XDG_CONFIG_HOME=$far refused '/far.*: File name too long$' \
    'an XDG_CONFIG_HOME whose file cannot be named'

# ---- Passwords
server_start pw -- --requirepass 'se c#ret%'
url=${SERVER_URL[pw]}
echo "url = $url?quarantine=off" >"$file"
capture holdfast run x -- true
is "$code" 77 'no password: 77'
is "$(printf '%s\n' "$err" | wc -l)" 1 'one line'
printf 'se c#ret%%\n' >"$W/secret"
chmod 600 "$W/secret"
printf 'url = %s?quarantine=off\npassword_file = %s\n' "$url" "$W/secret" >"$file"
chmod 644 "$file"
ok 'password_file' holdfast run x -- true
echo "password_file = $W/secret" >>"$file"
refused "$file:3: password_file is given twice, first in line 2$" 'two of them'
sed -i '$ d' "$file"
chmod 644 "$W/secret"
holds='holds a password and all users may read or write it; chmod o= it'
refused "$W/secret: $holds" 'world-readable password_file'
chmod 602 "$W/secret"
refused "$W/secret: $holds" 'world-writable password_file'
chmod 600 "$W/secret"
: >"$W/empty"
chmod 600 "$W/empty"
printf 'url = %s\npassword_file = %s\n' "$url" "$W/empty" >"$file"
refused "$file:2: $W/empty: holds no password" 'empty password_file'
printf 'url = %s\npassword_file = %s\n' "$url" "$W/none" >"$file"
refused "$file:2: $W/none: No such file" 'no password_file'
cp -p "$W/secret" "$HOME/.config/holdfast/secret"
printf 'url = %s?quarantine=off\npassword_file = secret\n' "$url" >"$file"
ok 'a relative password_file: beside the configuration' \
    sh -c 'cd / && holdfast run x -- true'
(cd "$W" && HOLDFAST_PASSWORD_FILE=secret holdfast run x -- true)
is $? 0 'HOLDFAST_PASSWORD_FILE: relative to the current folder'
rm "$HOME/.config/holdfast/secret"
refused "$file:2: $HOME/.config/holdfast/secret: No such file" \
    'a relative one that is not there'
echo wrong >"$W/wrong"
chmod 600 "$W/wrong"
printf 'url = %s?quarantine=off\npassword_file = %s\n' "$url" "$W/wrong" >"$file"
capture holdfast run x -- true
is "$code" 77 'wrong password: 77'
unlike "$err" wrong$ 'and it is not said'

server_start tcp --tcp -- --requirepass secret
echo "url = redis://:secret@127.0.0.1:${SERVER_PORT[tcp]}?quarantine=off" >"$file"
chmod 644 "$file"
refused "$file:1: $holds" 'world-readable file with a password'
unlike "$err" secret 'and it is not said'
echo 'url = redis://u:open secret@h' >"$file"
refused "$file:1: $holds" 'the same of a password with a blank, which a URL cannot have'
unlike "$err" secret 'and it is not said'
echo "url = redis://:secret@127.0.0.1:${SERVER_PORT[tcp]}?quarantine=off" >"$file"
chmod 602 "$file"
refused "$file:1: $holds" 'world-writable file with a password'
chmod 640 "$file"
ok 'readable by the group is the admin'"'"'s choice' holdfast run x -- true
capture holdfast run -v x -- true
unlike "$err" secret '-v does not say it'
out=$(holdfast run x -- sh -c 'cat /proc/$PPID/environ /proc/$PPID/cmdline' |
    tr '\0' '\n')
unlike "$out" secret 'nor does ps show it'

# Parameters of PostgreSQL.
pg='postgres://u@/d?host=/nowhere'
chmod 644 "$file"
for name in password sslpassword; do
    printf 'url = %s&%s=sesame&sslmode=prefer\n' "$pg" "$name" >"$file"
    refused "$file:1: $holds" "$name= in the URL of a file that all users may read"
    unlike "$err" sesame 'and it is not said'
    printf 'url = %s\n%s = sesame\n' "$pg" "$name" >"$file"
    refused "$file:2: $holds" "$name in a line of it"
    unlike "$err" sesame 'and it is not said'
done
printf 'url = %s\npassword = sesame\n' "$pg" >"$file"
chmod 640 "$file"
capture holdfast run -n x -- true
unlike "$err" "$holds" 'readable by the group: not refused for that'
chmod 644 "$file"
printf 'url = %s&passfile=/x\npassword =\n' "$pg" >"$file"
capture holdfast run -n x -- true
unlike "$err" "$holds" 'nor is the name of a file, or an empty password'
chmod 640 "$file"

# ---- Where a password stays: in the keeper, which connects again
in_memory() { # PID
    echo 'long-and-secret' | "$HF_BUILD/tests/lib/memsearch" "$1"
}
not_in() { # PID TITLE
    # ASan keeps a copy of the environment of its own.
    [ -z "${HOLDFAST_URL:-}" ] || ! is_sanitized "$HF_BUILD/holdfast" || return 0
    in_memory "$1"
    is $? 1 "$2"
}
is_started() {
    [ -s "$W/started" ]
}
remains() { # TITLE ENVIRONMENT ARG... : a run, and where its password is
    local title=$1 environment=$2 wrapper keeper command
    shift 2
    rm -f "$W/started"
    # shellcheck disable=SC2016
    holdfast run "$@" x -- sh -c 'echo $$ $PPID >"$1" && exec sleep 60' sh \
        "$W/started" &
    wrapper=$!
    wait_until 10 is_started
    read -r command keeper <"$W/started"
    ok "$title: the keeper has it" in_memory "$keeper"
    not_in "$wrapper" "$title: the wrapper has no copy"
    unlike "$(tr '\0' '\n' <"/proc/$keeper/cmdline")" long-and-secret \
        "$title: ps does not show it"
    if [ "$environment" = clean ]; then
        wait_until 5 grep -q sleep "/proc/$command/comm"
        not_in "$command" "$title: nor has the command"
    else
        ok "$title: the command has the environment that it was given" \
            in_memory "$command"
    fi
    kill $wrapper
    wait $wrapper
} 2>/dev/null
server_start hidden --tcp -- --requirepass long-and-secret
port=${SERVER_PORT[hidden]}
echo long-and-secret >"$W/hidden.pw"
chmod 600 "$W/hidden.pw"
printf 'url = redis://127.0.0.1:%s?quarantine=off\npassword_file = %s\n' \
    "$port" "$W/hidden.pw" >"$file"
remains 'a file and its password_file' clean
rm "$file"
export HOLDFAST_URL="redis://127.0.0.1:$port?quarantine=off"
capture holdfast run x -- true
is "$code" 77 'HOLDFAST_URL alone: no password'
export HOLDFAST_PASSWORD_FILE=$W/hidden.pw
remains 'HOLDFAST_URL and HOLDFAST_PASSWORD_FILE' clean
remains '-u and HOLDFAST_PASSWORD_FILE' clean -u "$HOLDFAST_URL"
HOLDFAST_PASSWORD_FILE=$W/none refused "$W/none: No such file" 'one that is not there'
HOLDFAST_PASSWORD_FILE=/dev/fd/9 refused '/dev/fd/9: not a regular file$' \
    'a pipe, which could not be read again' 9< <(echo long-and-secret)
chmod 604 "$W/hidden.pw"
refused "$W/hidden.pw: .*all users may read" 'one that all users may read'
chmod 600 "$W/hidden.pw"
printf 'url = redis://127.0.0.1:%s?quarantine=off\npassword_file = %s\n' \
    "$port" "$W/wrong" >"$file"
HOLDFAST_URL='' capture holdfast run x -- true
is "$code" 0 'it comes before the password_file of a file'
unset HOLDFAST_URL HOLDFAST_PASSWORD_FILE
remains 'a password in -u' clean \
    -u "redis://:long-and-secret@127.0.0.1:$port?quarantine=off"
export HOLDFAST_URL="redis://:long-and-secret@127.0.0.1:$port?quarantine=off"
remains 'a password in HOLDFAST_URL' given
unset HOLDFAST_URL

# ---- A password that changes while a command runs
server_start rotated -- --requirepass first
echo first >"$W/rotated.pw"
chmod 600 "$W/rotated.pw"
export REDISCLI_AUTH=first HOLDFAST_PASSWORD_FILE=$W/rotated.pw
rm -f "$W/started"
holdfast run -u "${SERVER_URL[rotated]}?quarantine=off" -t 6s job -- \
    sh -c 'echo >"$1/started"; until [ -e "$1/stop" ]; do sleep 0.05; done' \
    sh "$W" &
job=$!
wait_until 10 is_started
server_cli rotated CONFIG SET requirepass second >/dev/null
echo second >"$W/rotated.pw"
export REDISCLI_AUTH=second
server_cli rotated CLIENT KILL TYPE normal >/dev/null
last=$(server_cli rotated PTTL lock:job)
is_renewed() {
    local left
    left=$(server_cli rotated PTTL lock:job)
    [ "$left" -gt "$last" ] && return
    last=$left
    return 1
}
ok 'a changed password_file is read again to connect' wait_until 10 is_renewed
rm "$W/rotated.pw"
server_cli rotated CLIENT KILL TYPE normal >/dev/null
last=$(server_cli rotated PTTL lock:job)
ok 'without the file, the password of before' wait_until 10 is_renewed
touch "$W/stop"
wait $job
is $? 0 'the command ran to its end under its lock'
unset REDISCLI_AUTH HOLDFAST_PASSWORD_FILE

# ---- Without HOME, as under cron, in a system service and after env -i
rm "$file"
uses_home() { # STORE TITLE COMMAND: the folder of the store that it made
    # shellcheck disable=SC2016 # of the shell within
    in_users 'unset XDG_CONFIG_HOME
        install -d -m 1777 any && mkdir -m 755 /etc/holdfast &&
            echo "url = local://$W/machine/any/store" >/etc/holdfast/config
        as alice mkdir -p alice/.config/holdfast &&
            echo "url = local://$W/machine/alice/own" >alice/.config/holdfast/config
        '"$3"' || echo "exit $?"
        find . -name locks.mdb'
    is "$out:$err" "$1" "$2"
}
if users_can; then
    own=./alice/own/locks.mdb: all=./any/store/locks.mdb:
    # shellcheck disable=SC2016 # of the shell within
    {
        uses_home $own 'HOME' 'as alice "$hf" run x -- true'
        uses_home $own 'no HOME: the home folder of the password database' \
            'as alice env -u HOME "$hf" run x -- true'
        uses_home $own 'an empty environment' 'as alice env -i "$hf" run x -- true'
        uses_home $own 'an empty HOME' 'as alice env HOME= "$hf" run x -- true'
        uses_home $own 'a relative HOME' 'as alice env HOME=x "$hf" run x -- true'
        uses_home $all 'HOME counts as it is set' \
            'as alice env HOME=/nonexistent "$hf" run x -- true'
        uses_home $all 'a home folder that does not exist' \
            'as homeless env -u HOME "$hf" run x -- true'
        uses_home $all 'a user without an entry' \
            'setpriv --reuid=4099 --regid=4099 --clear-groups env -i "$hf" run x -- true'
        # Longer than the buffer for an entry: the lookup fails.
        uses_home "exit 78:holdfast: HOME is not set, and the user's home folder \
cannot be looked up: Numerical result out of range" \
            'an entry that cannot be looked up: no store is used' \
            'sed -i "/^alice/ s,::,:$(printf "%020000d" 0):," /etc/passwd
            as alice env -u HOME "$hf" run x -- true'
    }
else
    skip 'without HOME' 'needs root and mount namespaces'
fi

# ---- Nothing configured
if users_can; then
    in_users 'as alice "$hf" run x -- true'
    is "$code:$err" "0:no store configured: this lock covers only this user on \
this machine (set HOLDFAST_URL or /etc/holdfast/config; -u local: silences \
this)" 'nothing configured: it works, with a notice'
    in_users 'as alice "$hf" run x -- true; as alice "$hf" run x -- true
        as alice "$hf" ls'
    is "$(grep -c 'no store' <<<"$err")" 1 'once per user'
    in_users 'as alice "$hf" run -q x -- true; as alice "$hf" run x -- true'
    like "$err" '^no store' '-q does not use up the notice'
    in_users 'as alice "$hf" run -q x -- true'
    is "$code:$err" 0: '-q silences it'
    in_users 'as alice "$hf" run -u local: x -- true'
    is "$code:$err" 0: '-u local: silences it'
    # shellcheck disable=SC2016 # of the shell within
    in_users 'mkdir "$W/bare" && ln -s "$W/bare" /etc/holdfast &&
        as alice "$hf" run -q x -- true'
    is "$code:$err" 0: 'a folder that is a link, and has no file: nothing configured'
    in_users 'as alice "$hf" run --once 1h -q once -- true
        as alice "$hf" run --once 1h once -- true'
    is "$code:$err" 0: '--once that does not run says nothing'
else
    skip 'nothing configured' 'needs root and mount namespaces'
fi
finish
