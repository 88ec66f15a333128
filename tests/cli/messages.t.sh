#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Messages that were misread in the past: each quotes the input, and names
# the remedy.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 60
export HOLDFAST_URL=local://$W/store

said() { # CODE LINE COMMAND...
    local want=$1 line=$2
    shift 2
    capture "$@"
    is "$code:$err" "$want:holdfast: $line" "$*"
}

# Terms of other tools.
said 64 'unknown command list: did you mean ls? (see holdfast help)' holdfast list
said 64 'unknown command status: did you mean ls? (see holdfast help)' \
    holdfast status
said 64 'unknown command lock: did you mean run? (see holdfast help)' \
    holdfast lock a
said 64 'unknown command unlock: did you mean release? (see holdfast help)' \
    holdfast unlock a
said 64 'unknown command version: did you mean --version? (see holdfast help)' \
    holdfast version
said 64 'unknown command foo (see holdfast help)' holdfast foo
said 64 'unknown option --timeout: did you mean --wait? (see holdfast run --help)' \
    holdfast run --timeout 5 a -- true
said 64 'unknown option --nonblock: did you mean --try? (see holdfast run --help)' \
    holdfast run --nonblock a -- true
said 64 'unknown option --exclusive: that is the default (see holdfast run --help)' \
    holdfast run --exclusive a -- true
said 64 'unknown option -x: exclusive is the default (see holdfast run --help)' \
    holdfast run -x a -- true
said 64 "unknown option -c: a shell is named: -- sh -c 'COMMAND' (see holdfast run --help)" \
    holdfast run -c 'echo a' a -- true

# The command.
said 127 'holdfast-no-such-command: command not found' \
    holdfast run a -- holdfast-no-such-command
said 127 './no-such-file: No such file or directory' holdfast run a -- ./no-such-file

# Owners.
owner=$(holdfast acquire a | cut -d' ' -f1)
holdfast release a --owner "$owner"
gone='a: not held by this owner any more (released, run out or broken)'
said 76 "$gone" holdfast release a --owner "$owner"
said 76 "$gone" holdfast extend a --owner "$owner"
holdfast run -t 1s a -- sh -c 'touch "$0"; exec sleep 60' "$W/began" 2>"$W/err" &
wait_until 20 test -e "$W/began"
holdfast break --now a >"$W/log"
wait $!
is "$(cat "$W/err")" \
    'holdfast: a: the lock was broken, or the store lost it; the command was ended' \
    'a lock that was broken'

# Counts.
for command in ls top; do
    capture holdfast $command a b
    like "$err" "^holdfast: $command: one pattern at a time \\(usage: " "$command a b"
done
capture holdfast help a b
like "$err" '^holdfast: help: one command at a time' 'help a b'

# Stores.
capture holdfast run -u redis://127.0.0.1:7001,127.0.0.1:7001,127.0.0.1:7002 a -- true
like "$code:$err" '^78:.* 127\.0\.0\.1:7001 is given twice' 'a server twice: with its port'
server_start one
server_cli one set lock:foreign another >"$W/log"
capture holdfast break -u "${SERVER_URL[one]}?quarantine=off" foreign
like "$code:$err" '^75:.*without expiry: only with --now$' 'a key without expiry'
mkdir "$W/bin"
cp "$(command -v holdfast)" "$W/bin/holdfast"
HOLDFAST_MODULE_DIR=$W/modules capture "$W/bin/holdfast" top
like "$code:$err" "^127:.*holdfast-top is not in $W/modules, .*, $W/bin " \
    'top: where it was looked for'
capture holdfast run -u "local://$W/none/below" a -- true
like "$code:$err" '^78:.*does not exist.*name a folder with -u local:///FOLDER' \
    'a folder that cannot be made'

# A URL that was typed where none belongs: no password is repeated.
hidden() { # CODE PATTERN COMMAND...
    local want=$1 pattern=$2
    shift 2
    capture holdfast "$@"
    like "$code:$err" "^$want:holdfast: .*$pattern" "$*"
    unlike "$out$err" sesame "$*: no password"
}
url=redis://u:sesame@h:9
stars='redis://u:\*{6}@h:9'
hidden 64 "unknown command $stars \(" "$url"
hidden 64 "unknown command $stars \(" help "$url"
hidden 64 "no server $stars in this store" doctor --quarantine "$url"
hidden 64 "--wait $stars: not a duration" run --wait "$url" a -- true
hidden 64 "--ttl $stars: not a duration" run --ttl "$url" a -- true
hidden 64 "--on-lost $stars: must be" run --on-lost "$url" a -- true
hidden 64 "--permits $stars: must be" run --permits "$url" a -- true
hidden 64 "unknown option --$stars" "--$url"
hidden 64 "unknown option --wat \(|did you mean" run --wat="$url" a -- true
hidden 64 "$stars: not an owner" release --owner x "$url"
hidden 64 'probably meant: .*redis://u:\*+@h. ' run -u redis://u:se/sesame@h a true
hidden 64 'probably meant: .*redis://:\*+@h. ' run -u 'redis://:a?b@sesame@h' a true
hidden 64 'unknown command postgres://u@h/d\?password=\*+&a=b \(' \
    'postgres://u@h/d?password=sesame&a=b'
hidden 64 'unknown command .*\?sslpassword=\*+ \(' 'postgres://u@h/d?sslpassword=sesame'
hidden 64 'unknown command .*\?pass%77ord=\*+ \(' 'postgres://u@h/d?pass%77ord=sesame'
hidden 64 'unknown command postgres://u@h/d\?passfile=/p \(' \
    'postgres://u@h/d?passfile=/p'
# All of an argument may be a password: blanks, tabs and quotes end none.
hidden 64 'unknown command redis://:\*{11}@h \(' 'redis://:open sesame@h'
hidden 64 'unknown command redis://u:\*{11}@h \(' 'redis://u:1234 sesame@h'
hidden 64 'unknown command redis://u:\*{11}@h \(' $'redis://u:open\tsesame@h'
hidden 64 'unknown command redis://u:\*{14}@h \(' 'redis://u:a@b and sesame@h'
hidden 64 'unknown command redis://u:\*{13}@h \(' "redis://u:\"'open sesame@h"
hidden 64 'unknown command x://h\?password=\*{11}&a=b \(' 'x://h?password=open sesame&a=b'
hidden 64 'unknown command redis://a:1 redis://u:\*{6}@b \(' 'redis://a:1 redis://u:sesame@b'
hidden 64 'unknown command x://h\?u=y://u:\*{6}@h&password=\*{6} \(' \
    'x://h?u=y://u:sesame@h&password=sesame'
hidden 64 '--ttl redis://:\*{11}@h: not a duration' run --ttl 'redis://:open sesame@h' a -- true
hidden 64 "probably meant: .* -u 'redis://:\*{11}@h' a -- true" \
    run -u 'redis://:open sesame@h' a true
hidden 64 'guard: no guard for mysql://u:\*{11}@h/d in' guard --install 'mysql://u:open sesame@h/d'
hidden 127 "redis://:\*{11}@h/x: No such file" run a -- 'redis://:open sesame@h/x'
hidden 64 "redis://:\*{11}@h: a value has at most" put 'redis://:open sesame@h' - </dev/zero
# Also in a message that is longer than one write.
long=$(printf '%05000d' 0)
hidden 64 "unknown command redis://u:\*{6}@h/$long \(" "redis://u:sesame@h/$long"
hidden 64 "unknown command redis://u:\*{5006}@h \(" "redis://u:sesame$long@h"
hidden 64 "unknown command ${long}redis://u:\*{6}@h \(" "${long}redis://u:sesame@h"
wide=$(printf 'é%.0s' {1..3000})
for word in "$wide" "x$wide"; do # each border of a write is in a character once
    said 64 "unknown command $word (see holdfast help)" holdfast "$word"
done

# A remedy for the files of locks leaves the values.
remedy='stop all users of the folder, then remove its locks.gate and locks.mdb'
HOLDFAST_URL=local://$W/mended holdfast put -q kept 1
mended() { # TITLE
    capture holdfast run -n -u "local://$W/mended" a -- true
    like "$code:$err" "^78:.*: $remedy\$" "$1"
    rm "$W/mended/locks.gate" "$W/mended/locks.mdb"
    is "$(holdfast get -u "local://$W/mended" kept)" 1 "$1: no value is lost"
    is "$(holdfast run -n -u "local://$W/mended" a -- echo ran)" ran "$1: mended"
}
chmod 644 "$W/mended/locks.mdb"
mended 'a file that others may read'
head -c 4096 /dev/urandom | dd of="$W/mended/locks.mdb" conv=notrunc status=none
mended 'a file that is damaged'
finish
