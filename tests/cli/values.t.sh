#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# get, put and update: what they print, their exit codes, and increments by
# several processes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

says() { # CODE OUT ERR WHAT COMMAND... : OUT and ERR are patterns
    local want=$1 out_pattern=$2 err_pattern=$3 what=$4
    shift 4
    capture "$@"
    is "$code" "$want" "$what: exit $want"
    like "$out" "^$out_pattern\$" "$what: what it prints"
    like "$err" "^$err_pattern\$" "$what: what it says"
}

story() {
    local version before
    says 1 '' 'holdfast: cfg: has no value' 'no value' holdfast get cfg
    says 1 '' '' 'no value, quietly' holdfast get -q cfg
    says 1 '\{"name":"cfg","version":0\}' '' 'no value, as JSON' \
        holdfast get --json cfg
    says 0 '[0-9]{16}' '' 'put' holdfast put cfg hello
    version=$out
    says 0 hello '' 'get' holdfast get cfg
    says 0 "$version"$'\n'hello '' 'with its version' \
        holdfast get --with-version cfg
    says 0 "\\{\"name\":\"cfg\",\"version\":$version,\"value\":\"hello\"\\}" '' \
        'as JSON' holdfast get --json cfg
    says 75 '' "holdfast: cfg: has version $version, not 5" 'another version' \
        holdfast put cfg x --if-version 5
    says 75 '' "holdfast: cfg: has a value: version $version" 'a value is there' \
        holdfast put cfg x --if-version 0
    says 0 '' '' 'the expected version' \
        holdfast put -q cfg bye --if-version "$version"
    says 75 '' "holdfast: cfg: has version [0-9]+, not $version" \
        'the version before' holdfast put cfg x --if-version "$version"
    before=$(holdfast get --json cfg | jq .version)
    says 0 '' '' 'delete' holdfast put --delete cfg --if-version "$before"
    says 75 '' "holdfast: cfg: has no value, not version $before" \
        'the version of a deleted value' \
        holdfast put cfg x --if-version "$before"
    version=$(holdfast put cfg again)
    ok 'created again, the version is greater' [ "$version" -gt "$before" ]

    # Bytes.
    head -c 262144 /dev/urandom >"$W/big"
    holdfast put -q big - <"$W/big"
    holdfast get big >"$W/back"
    ok '256 KiB of any bytes' cmp "$W/big" "$W/back"
    is "$(holdfast get --json big | jq -r .value_hex | tr -d '\n' | wc -c)" \
        524288 'as JSON in hexadecimal'
    says 64 '' \
        'holdfast: big: a value has at most 262144 bytes; this one has more' \
        'a byte more' holdfast put big - < <(cat "$W/big" - <<<'')
    holdfast put -q empty ''
    says 0 '' '' 'an empty value' holdfast get empty
    holdfast put -q -- dashed -v
    says 0 -v '' 'a value that begins with a dash' holdfast get dashed

    # update
    # shellcheck disable=SC2016 # of the shell within
    local add='read -r n; echo $((n + 1))'
    says 0 '' '' 'update of none' holdfast update n -- sh -c "$add"
    says 0 1 '' 'its value' holdfast get n
    # shellcheck disable=SC2016
    says 0 '' '' 'version and name' holdfast update env -- \
        sh -c 'echo "$HOLDFAST_NAME $HOLDFAST_VERSION"'
    says 0 'env 0' '' 'version 0: there was none' holdfast get env
    version=$(holdfast put empty '')
    # shellcheck disable=SC2016
    holdfast update empty -- sh -c 'echo "$HOLDFAST_VERSION"'
    says 0 "$version" '' 'and not 0 of an empty value' holdfast get empty
    says 5 '' '' 'a command that fails' holdfast update n -- sh -c 'echo 7; exit 5'
    # shellcheck disable=SC2016
    says 143 '' '' 'and by a signal' holdfast update n -- sh -c 'kill $$'
    says 127 '' 'holdfast: /nowhere: No such file or directory' 'none' \
        holdfast update n -- /nowhere
    says 126 '' 'holdfast: /: Permission denied' 'none to run' \
        holdfast update n -- /
    says 64 '' 'holdfast: n: a value has at most 262144 bytes.*' \
        'too much output' holdfast update n -- head -c 300000 /dev/zero
    says 0 1 '' 'nothing was written' holdfast get n
    holdfast update big -- cat
    holdfast get big >"$W/back"
    ok 'update passes 256 KiB through' cmp "$W/big" "$W/back"
    holdfast update big -- true
    says 0 '' '' 'a command that reads nothing and prints nothing' \
        holdfast get big
    says 75 '' 'holdfast: n: has version .*' 'a rival, and one try' \
        holdfast update -n n -- sh -c 'holdfast put -q n 1; echo 2'
    says 75 '' 'holdfast: n: has version .*' 'a rival, and a wait' \
        holdfast update -w 50ms n -- sh -c 'holdfast put -q n 1; echo 2'

    local i j pids=()
    for i in 1 2 3 4 5 6 7 8; do
        for j in 1 2 3 4 5; do
            holdfast update sum -- sh -c "$add" || break
        done &
        pids+=($!)
    done
    wait "${pids[@]}"
    says 0 40 '' '8 processes, 5 increments each' holdfast get sum
}

export HOLDFAST_URL="local://$W/store?node_timeout=1s"
story
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
says 69 '' 'holdfast: .*/locks.mdb: File too large' 'nor a first' bash -c \
    "ulimit -f 100; exec holdfast put -u 'local://$W/limited' a - <'$W/big'"
says 0 '' '' 'a caller that ignores SIGCHLD' bash -c \
    "trap '' CHLD; exec holdfast update ignored -- echo 9"
says 0 9 '' 'its value' holdfast get ignored

server_start one --clock
export HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
story

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

# Out of reach.
server_kill one
says 69 '' 'holdfast: cfg: .*' 'get of a dead server' holdfast get cfg
says 69 '' 'holdfast: cfg: .*' 'put to it' holdfast put cfg x
says 69 '' 'holdfast: cfg: .*' 'update at it' holdfast update cfg -- true
says 78 '' 'holdfast: cfg: 3 independent servers keep no values: .* one server' 'Redlock' \
    holdfast get -u redis://a,b,c cfg
finish
