#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# get, put and update: their output, their exit codes, and increments by
# several processes; in an embedded store and on one Redis. values_postgres.t.sh
# has PostgreSQL.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/values.sh"

export HOLDFAST_URL="local://$W/store?node_timeout=1s"
test_values
is "$(ls "$W/store" | tr '\n' ' ')" 'locks.gate locks.mdb values.mdb ' \
    'its files, and no other'
says 69 '' "holdfast: cfg: .*values.mdb cannot grow: the limit on the size .*" \
    'no larger file is allowed' env W="$W" bash -c '
        trap "" XFSZ
        ulimit -f 1200
        for i in $(seq 20); do
            holdfast put -q "cfg$i" - <"$W/big" 2>"$W/last" || break
        done
        sed "s/cfg[0-9]*/cfg/" "$W/last" >&2
        exit 69'
is "$(holdfast get n)" 1 'and nothing is lost'
says 69 '' 'holdfast: .*/locks.mdb: the limit on the size of files is reached .*' 'nor a first' bash -c \
    "ulimit -f 100; exec holdfast put -u 'local://$W/limited' a - <'$W/big'"
says 0 '' '' 'a caller that ignores SIGCHLD' bash -c \
    "trap '' CHLD; exec holdfast update ignored -- echo 9"
says 0 9 '' 'its value' holdfast get ignored

# The input of update, after its output was closed.
holdfast put -q big - <"$W/big"
# shellcheck disable=SC2016 # of the shell within
says 0 '' '' 'COMMAND reads on after it has closed stdout' \
    timeout 60 holdfast update big -- sh -c 'pipe=$(readlink "/proc/$$/fd/1")
        echo new
        exec >&-
        # What ls has listed may be closed before it looks.
        while ls -l "/proc/$PPID/fd" 2>/dev/null | grep -qF "$pipe"; do
            sleep 0.01
        done
        cat >"$0"' "$W/copy"
ok 'it reads the whole value' cmp "$W/big" "$W/copy"
says 0 new '' 'and its output is written' holdfast get big
holdfast put -q big - <"$W/big"
mkfifo "$W/end"
# shellcheck disable=SC2016 # of the shell within
says 0 '' '' 'COMMAND leaves a process behind that keeps its stdin' \
    timeout 60 holdfast update big -- sh -c '
        exec 3<&0
        (read -r _ <"$0") >&- 2>&- & echo left' "$W/end"
timeout 60 sh -c ': >"$0"' "$W/end"
says 0 left '' '... and is not waited for' holdfast get big
holdfast put -q big - <"$W/big"
cp "$W/store/values.mdb" "$W/kept"
: >"$W/store/values.mdb"
says 78 '' 'holdfast: n: .*values.mdb is damaged: it was cut; restore it from a backup, or .*' \
    'a file of values that was emptied is not taken for a new one' holdfast get n
mv "$W/kept" "$W/store/values.mdb"
is "$(holdfast get n)" 1 'restored'
(umask 777 && holdfast run -u "local://$W/masked" job -- true)
is "$?:$(stat -c %a "$W/masked" "$W"/masked/* | xargs)" '0:700 600 600' \
    'a umask takes no right away from the owner of the files'

server_start one --clock
export HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
test_values

# sleeps: only a connection that was idle for 1 s is looked at before it is used
says 0 '' '' 'the server closed the connection while COMMAND ran' \
    holdfast update idle -- sh -c "redis-cli -s '${SERVER_SOCK[one]}' \
        client kill type normal >'$W/log'; sleep 1.1; echo done"
says 0 'done' '' 'its value' holdfast get idle

# Usage.
says 64 '' 'holdfast: get: which value\? a name is missing \(.*\)' 'no name' \
    holdfast get
says 64 '' 'holdfast: put: which value\? .*' 'no value' holdfast put a
says 64 '' 'holdfast: put: one name and one value .*' 'two values' \
    holdfast put a b c
says 64 '' 'holdfast: put: --delete takes no value .*' 'delete a value' \
    holdfast put --delete a b
says 64 '' 'holdfast: put: --if-version 0 is of no value.*' 'delete nothing' \
    holdfast put --delete a --if-version 0
says 64 '' 'holdfast: update: --try does not wait: leave out --wait' 'both' \
    holdfast update -n -w 1 a -- true
says 64 '' 'holdfast: --if-version x: must be a number .*' 'no number' \
    holdfast put a b --if-version x

# The clock of the server is set back: versions rise nevertheless.
version=$(holdfast put clock 1)
holdfast put --delete clock
server_clock one -3000
again=$(holdfast put clock 2)
ok 'deleted, the clock set back, created: the version is greater' \
    [ "$again" -gt "$version" ]
ok 'and greater again' [ "$(holdfast put clock 3)" -gt "$again" ]

# A fresh server, with quarantine: values do not wait for it.
server_start fresh
says 0 '[0-9]+' '' 'in quarantine' holdfast put -u "${SERVER_URL[fresh]}" a 1
server_cli fresh set 'hf:{lock:odd}:value' text >"$W/log"
says 69 '' 'holdfast: odd: .*no value of Holdfast' 'a foreign key, read' \
    holdfast get -u "${SERVER_URL[fresh]}" odd
says 69 '' 'holdfast: odd: .*no value of Holdfast' 'and written' \
    holdfast put -u "${SERVER_URL[fresh]}" odd 1

# The rights that docs/stores.md lists for values are enough.
rights=$(sed -n 's/^| any other .* values need \(.*\) |$/\1/p' \
    "$HF_SOURCE/docs/stores.md" | grep -o '+[a-z]*' | tr '\n' ' ')
# shellcheck disable=SC2086 # a list of words
server_cli fresh ACL SETUSER values on '>pw' '~lock:*' '~hf:*' -@all $rights >"$W/log"
by_user=redis+unix://values:pw@${SERVER_SOCK[fresh]}
says 0 '[0-9]+' '' 'a user for values puts' holdfast put -u "$by_user" b 1
says 0 '' '' '... updates' holdfast update -u "$by_user" b -- echo 2
says 0 2 '' '... gets' holdfast get -u "$by_user" b
says 0 '' '' '... and deletes' holdfast put -u "$by_user" --delete b

# The marker is written anew: after a restart, and after data loss.
server_cli fresh hset hf:node run_id other >"$W/log"
says 0 '[0-9]+' '' 'the user puts after a restart' holdfast put -u "$by_user" b 3
says 0 3 '' '... and gets' holdfast get -u "$by_user" b
server_cli fresh flushall >"$W/log"
says 0 '[0-9]+' '' 'the user puts at an emptied server' holdfast put -u "$by_user" b 4
says 0 4 '' '... and gets' holdfast get -u "$by_user" b

# Out of reach.
server_kill one
says 69 '' 'holdfast: cfg: .*' 'get of a dead server' holdfast get cfg
says 69 '' 'holdfast: cfg: .*' 'put to it' holdfast put cfg x
says 69 '' 'holdfast: cfg: .*' 'update at it' holdfast update cfg -- true
says 78 '' 'holdfast: cfg: 3 independent servers keep no values: .* one server' 'Redlock' \
    holdfast get -u redis://a,b,c cfg
finish
