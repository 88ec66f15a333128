# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# get, put and update on any store that keeps values. Source after tap.sh.
#
#   says CODE OUT ERR TITLE COMMAND...   exit code, and patterns of its output
#   test_values                          of the store in HOLDFAST_URL; leaves
#                                        n=1, and 256 KiB in $W/big. VERSION: the
#                                        pattern of a version
#
# values_ordered.sh has what stores that agree by consensus promise beyond that.

VERSION='[0-9]{16}'

says() { # CODE OUT ERR TITLE COMMAND...
    local want=$1 out_pattern=$2 err_pattern=$3 title=$4
    shift 4
    capture "$@"
    is "$code" "$want" "$title: exit $want"
    like "$out" "^$out_pattern\$" "$title: its output"
    like "$err" "^$err_pattern\$" "$title: its messages"
}

# Add 1 to sum, and print written; or unknown, if it may have been. As a caller
# does, try again if the store was not reached (69), but after no other error.
increment() {
    local said code tries
    for tries in 1 2 3 4 5; do
        # shellcheck disable=SC2016 # of the shell within
        said=$(holdfast update sum -- sh -c 'read -r n; echo $((n + 1))' 2>&1)
        code=$?
        [ $code != 0 ] || { echo written; return; }
        echo "exit $code: $said" >&2
        [[ $said != *"may have been written"* ]] || { echo unknown; return; }
        [ $code = 69 ] || break
    done
    echo refused
}

test_values() {
    local version before
    says 1 '' 'holdfast: cfg: has no value' 'no value' holdfast get cfg
    says 1 '' '' 'no value, quietly' holdfast get -q cfg
    says 1 '\{"name":"cfg","version":0\}' '' 'no value, as JSON' \
        holdfast get --json cfg
    says 0 "$VERSION" '' 'put' holdfast put cfg hello
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

    # Output that cannot be written.
    says 70 '' "holdfast: cfg: was written, version [0-9]+, but not reported: stdout: No space left on device" \
        'put with a full stdout' sh -c 'holdfast put cfg unseen >/dev/full'
    is "$(holdfast get --json cfg | jq -r '"\(.version) \(.value)"')" \
        "$(grep -oE "version $VERSION" <<<"$err" | cut -d ' ' -f 2) unseen" \
        'it was written, with that version'
    says 0 '' '' 'put -q with a full stdout' sh -c 'holdfast put -q cfg quiet >/dev/full'
    says 70 '' "holdfast: cfg: was deleted, but not reported: stdout: No space left on device" \
        'a deletion with a full stdout' sh -c 'holdfast put --delete --json cfg >/dev/full'
    says 1 '' '' 'it was deleted' holdfast get -q cfg
    mkfifo "$W/unread"
    # shellcheck disable=SC2016 # of the shell within
    says 70 '' "holdfast: cfg: was written, version [0-9]+, but not reported: stdout: Broken pipe" \
        'put with a stdout that has no reader' sh -c '
            exec 8<>"$0" 9>"$0" 8<&-
            exec holdfast put cfg unread >&9' "$W/unread"
    rm "$W/unread"
    says 0 unread '' 'it was written' holdfast get cfg

    # Descriptors that are closed.
    holdfast put -q cfg kept
    says 70 '' 'holdfast: stdin: Bad file descriptor' 'put of a closed stdin' \
        sh -c 'holdfast put cfg - <&-'
    says 0 kept '' 'nothing was written' holdfast get cfg
    says 70 '' 'holdfast: stdout: Bad file descriptor' 'get to a closed stdout' \
        sh -c 'holdfast get cfg >&-'
    says 70 '' 'holdfast: cfg: was written, version [0-9]+, but not reported: stdout: Bad file descriptor' \
        'put with a closed stdout' sh -c 'holdfast put cfg unseen >&-'
    says 0 '' '' 'put -q with all of them closed' \
        sh -c 'holdfast put -q --delete cfg <&- >&- 2>&-'

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
        sh -c 'echo "$HOLDFAST_VALUE_NAME $HOLDFAST_VERSION"'
    says 0 'env 0' '' 'version 0: there was none' holdfast get env
    # A value is no lock, and a guard would take the fence for its name.
    # shellcheck disable=SC2016
    HOLDFAST_NAME=lock holdfast update env -- sh -c 'echo "$HOLDFAST_NAME"'
    says 0 lock '' '... and a lock that is held keeps its name' holdfast get env
    version=$(holdfast put empty '')
    # shellcheck disable=SC2016
    holdfast update empty -- sh -c 'echo "$HOLDFAST_VERSION"'
    says 0 "$version" '' 'and not 0 of an empty value' holdfast get empty
    says 5 '' '' 'a command that fails' holdfast update n -- sh -c 'echo 7; exit 5'
    # shellcheck disable=SC2016
    says 143 '' '' 'and by a signal' holdfast update n -- sh -c 'kill $$'
    says 127 '' 'holdfast: /nowhere: No such file or directory' 'none' \
        holdfast update n -- /nowhere
    says 127 '' 'holdfast: no-such: command not found' 'none in PATH' \
        holdfast update n -- no-such
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

    local i j pids=() known unknown
    for i in 1 2 3 4 5 6 7 8; do
        for j in 1 2 3 4 5; do
            increment
        done >"$W/increments.$i" 2>"$W/increments.$i.err" &
        pids+=($!)
    done
    wait "${pids[@]}"
    diag "$(sort "$W"/increments.?.err | uniq -c)"
    known=$(cat "$W"/increments.? | grep -c '^written$')
    unknown=$(cat "$W"/increments.? | grep -c '^unknown$')
    is $((known + unknown)) 40 '8 processes, 5 increments each, are made'
    ok '... and known to be' test "$known" -gt 30
    capture holdfast get sum
    is "$code $err" '0 ' '... to a sum that can be read'
    ok '... and none is lost' test "$out" -ge "$known"
    ok '... nor made twice' test "$out" -le $((known + unknown))
}
