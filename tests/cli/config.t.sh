#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where the store comes from: -u, HOLDFAST_URL, the file, this machine.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
export HOME=$W/home XDG_STATE_HOME=$W/state
unset XDG_CONFIG_HOME
mkdir -p "$HOME/.config/holdfast"
file=$HOME/.config/holdfast/config

# Which store is in use? The one where its name is held.
uses() { # URL WHAT [OPTION...]
    local url=$1 what=$2
    shift 2
    capture holdfast run "$@" here -- holdfast run -nu "$url" here -- true
    like "$code:$err" '^64:|held by' "$what"
}

refused() { # REGEX WHAT
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
capture holdfast run x -- true
is "$err" '' 'a configured store needs no notice'

printf '# comment\n\n  url=local://%s  \n\tmax_ttl = 5s\r\n' "$W/params" >"$file"
uses "local://$W/params" 'blanks, comments, tabs, CR' -t 5s
capture holdfast run -t 6s x -- true
is "$code" 64 'a parameter of the file counts'
like "$err" '6.*5' 'and is named with the asked one'
printf 'url = local://%s?max_ttl=10s\nnode_timeout = 20ms\n' "$W/params2" >"$file"
ok 'parameters in the URL and in the file' holdfast run -t 10s x -- true

echo 'url = ' >"$file"
refused "$file: has no .url" 'no url'
echo 'max_ttl = 5s' >"$file"
refused "$file: has no .url" 'parameters only'
printf 'url = local://%s\nmax_tll = 5s\n' "$W/x" >"$file"
refused "$file: .*max_ttl" 'unknown parameter: the nearest'
printf 'url = local://%s\nnonsense\n' "$W/x" >"$file"
refused "$file:2: not a" 'not a line'
printf 'url = redsi://x\n' >"$file"
refused "$file: " 'unknown scheme'
head -c 20000 /dev/zero | tr '\0' x >"$file"
refused "$file: File too large" 'a huge file'
rm "$file"
mkdir "$file"
refused "$file: Is a directory" 'a folder'
rmdir "$file"
mkfifo "$file"
refused "$file: |Invalid" 'a pipe does not hang'
rm "$file"

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
chmod 644 "$W/secret"
refused "$W/secret: .*everybody may read" 'world-readable password_file'
chmod 600 "$W/secret"
: >"$W/empty"
chmod 600 "$W/empty"
printf 'url = %s\npassword_file = %s\n' "$url" "$W/empty" >"$file"
refused 'holds no password' 'empty password_file'
printf 'url = %s\npassword_file = %s\n' "$url" "$W/none" >"$file"
refused "$W/none: No such file" 'no password_file'
echo wrong >"$W/wrong"
chmod 600 "$W/wrong"
printf 'url = %s?quarantine=off\npassword_file = %s\n' "$url" "$W/wrong" >"$file"
capture holdfast run x -- true
is "$code" 77 'wrong password: 77'
unlike "$err" wrong$ 'and it is not said'

server_start tcp --tcp -- --requirepass secret
echo "url = redis://:secret@127.0.0.1:${SERVER_PORT[tcp]}?quarantine=off" >"$file"
chmod 644 "$file"
refused "$file:1: .*everybody may read" 'world-readable file with a password'
unlike "$err" secret 'and it is not said'
chmod 640 "$file"
ok 'readable by the group is the admin'"'"'s choice' holdfast run x -- true
capture holdfast run -v x -- true
unlike "$err" secret '-v does not say it'
out=$(holdfast run x -- sh -c 'cat /proc/$PPID/environ /proc/$PPID/cmdline' |
    tr '\0' '\n')
unlike "$out" secret 'nor is it in what ps shows'

# ---- Nothing configured
rm "$file"
if [ ! -e /etc/holdfast/config ]; then
    notice='no store configured: this lock covers only this machine'
    capture holdfast run x -- true
    is "$code" 0 'nothing configured: it works'
    like "$err" "^$notice.* \\(set HOLDFAST_URL or /etc/holdfast/config; -u local: silences this\\)$" \
        'nothing configured: the notice'
    is "$(printf '%s\n' "$err" | wc -l)" 1 'on one line'
    capture holdfast run -q "x$$" -- true
    is "$code:$err" 0: '-q silences it'
    capture holdfast run -u local: "x$$" -- true
    is "$code:$err" 0: '-u local: silences it'
    capture holdfast run --once 1h -q "once$$" -- true
    capture holdfast run --once 1h "once$$" -- true
    is "$code:$err" 0: '--once that does not run says nothing'
    # A user of a machine on which nobody has made the system's folder.
    install -d -o nobody -m 755 "$W/nobody"
    chmod 755 "$W"
    cat >"$W/alone" <<X
mount -t tmpfs none /var/lib && exec setpriv --reuid=nobody --clear-groups \
    env HOME=$W/nobody XDG_STATE_HOME=$W/nobody/state "$(command -v holdfast)" \
    run x -- true
X
    if unshare -m mount -t tmpfs none /var/lib 2>/dev/null; then
        capture unshare -m sh "$W/alone"
        is "$code" 0 'another user: it works'
        like "$err" "this machine and this user, in $W/nobody/state/holdfast \\(set" \
            "a folder of the user's own is said"
    fi
fi
finish
