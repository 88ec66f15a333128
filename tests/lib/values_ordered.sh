# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Values on a store that agrees by consensus, of which the test has started three
# servers. Source after values.sh, holders.sh and the file of the server; the test
# sets
#
#   KIND HOLDFAST_URL        etcd, consul, zookeeper
#   keys_of NAME             prints all keys of a lock and its value, one a line
#   value_path NAME          prints the key of a value
#   value_get PATH           prints what is stored there; fails if there is nothing
#   value_put PATH TEXT      stores it there
#   value_revision PATH      the revision of its last write
#
# and calls what it wants of
#
#   values_apart             a value, a lock and a mark of one name; names
#   values_odd               a tombstone; another program's text
#   values_leader            the leader is killed, and stands still, while values
#                            are updated
#   values_dead              no server answers
#
# Names begin with the letters of the case, so that cases do not meet.

VERSION='[1-9][0-9]*'
write_id=0123456789abcdef0123456789abcdef

# --once is a try, which ends after 900 ms: again while no server has answered in
# that time. Such a try has run nothing.
mark_once() { # NAME
    local try
    for try in 1 2 3 4 5; do
        timeout 60 holdfast run --once 1h "$1" -- echo ran
        [ $? = 69 ] || break
    done
}

values_apart() {
    local version
    version=$(holdfast put apart 'a value')
    is "$(value_revision "$(value_path apart)")" "$version" \
        'its version is the revision of its last write'
    like "$(value_get "$(value_path apart)")" '^[0-9a-f]{32} a value$' \
        '... and it can be read beside us'
    capture timeout 60 holdfast ls
    unlike "$out" apart 'a name with a value alone is not listed'
    capture timeout 60 holdfast run -w 20 apart -- holdfast ls
    like "$out" 'apart +exclusive' 'its lock is'
    is "$(grep -c apart <<<"$out")" 1 '... once'
    is "$(holdfast get --with-version apart)" "$version"$'\n''a value' \
        '... and changes no value'
    is "$(mark_once apart)" ran 'a mark'
    is "$(holdfast put --if-version "$version" -q apart other && holdfast get apart)" \
        other '... changes none either'
    is "$(mark_once apart)" '' \
        '... nor a value the mark'
    holdfast put -q --delete apart
    capture holdfast get apart
    is "$code" 1 'deleted'

    local name names=('apart#value' 'apart~value' 'apart%value' 'apart/x' '..' '.'
        'a b' 'zookeeper' $'\xff\x01' "$(printf '%1024s' '' | tr ' ' '\377')")
    for name in "${names[@]}"; do
        holdfast put -q -- "$name" "of $name" || fail "put $name"
    done
    for name in "${names[@]}"; do
        is "$(holdfast get -- "$name")" "of $name" 'an odd name'
        holdfast put -q --delete -- "$name" || fail "delete $name"
    done
    is "$(timeout 60 holdfast run -w 20 'apart#value' -- holdfast put -q apart mine &&
        holdfast get apart)" mine 'a lock with the name of a key is another thing'
}

# A write of which nothing is made: again while a lost reply leaves that open.
settled() { # COMMAND...
    local try settled_code
    for try in 1 2 3; do
        "$@" >"$W/settled.out" 2>"$W/settled.err"
        settled_code=$?
        grep -q 'may have been written' "$W/settled.err" || break
    done
    cat "$W/settled.out"
    cat "$W/settled.err" >&2
    return $settled_code
}

values_odd() {
    local path tombstone before
    path=$(value_path gone)
    before=$(holdfast put gone 1)
    value_put "$path" "$write_id"
    tombstone=$(value_revision "$path")
    says 1 '' 'holdfast: gone: has no value' 'a tombstone' holdfast get gone
    says 75 '' "holdfast: gone: has no value, not version $tombstone" \
        '... is no version' holdfast put gone x --if-version "$tombstone"
    says 75 '' "holdfast: gone: has no value, not version $before" \
        '... nor is that of the value' holdfast put gone x --if-version "$before"
    says 75 '' "holdfast: gone: has no value, not version $tombstone" \
        '... nor can it be deleted' \
        holdfast put --delete gone --if-version "$tombstone"
    is "$(value_get "$path")" "$write_id" '... and it stays'
    capture holdfast put gone again --if-version 0
    is "$code" 0 'version 0: it is no value'
    ok '... and the next version is greater' test "$out" -gt "$tombstone"

    path=$(value_path odd)
    local text
    for text in hello "${write_id}x" "${write_id/0/g} x"; do
        value_put "$path" "$text"
        says 69 '' 'holdfast: odd: .*no value of Holdfast' "'$text', read" \
            holdfast get odd
        says 69 '' 'holdfast: odd: .*no value of Holdfast' '... and written' \
            settled holdfast put odd 1
        is "$(value_get "$path")" "$text" '... stays'
    done
}

# What becomes of each increment: a line of ok, lost or no. Until $W/enough is there.
values_writer() { # FILE
    until [ -e "$W/enough" ]; do
        # shellcheck disable=SC2016 # the command's own
        if timeout 60 holdfast update -w 30s tally -- \
            sh -c 'read -r n; echo $((n + 1))' 2>"$1.err"; then
            echo ok
        elif grep -q 'may have been written' "$1.err"; then
            echo lost
        else
            echo no
            sleep 0.2 # sleeps: a pause of a caller that tries again
        fi
        cat "$1.err" >>"$1.said"
    done >"$1"
}
wrote() { # WORD
    cat "$W"/wrote.? | grep -c "^$1\$"
}
writes() { # MORE: for wait_until
    [ "$(wrote ok)" -ge "$1" ]
}
values_has_leader() { leader=$("${KIND}_leader") && [ -n "$leader" ]; }

values_leader() {
    local i pids=() sum leader n
    for i in 1 2 3 4; do
        : >"$W/wrote.$i"
        values_writer "$W/wrote.$i" &
        pids+=($!)
    done
    ok 'values are updated' wait_until 60 writes 4
    ok 'there is a leader' wait_until 30 values_has_leader
    node_kill "$KIND" "$leader"
    n=$(wrote ok)
    ok 'the leader is killed: they are updated' wait_until 60 writes $((n + 4))
    ok '... and it comes back' node_restart "$KIND" "$leader"
    ok 'there is a leader' wait_until 30 values_has_leader
    node_pause "$KIND" "$leader"
    n=$(wrote ok)
    ok 'the leader stands still: they are updated' wait_until 60 writes $((n + 4))
    node_continue "$KIND" "$leader"
    n=$(wrote ok)
    ok 'it runs again: they are updated' wait_until 60 writes $((n + 4))
    touch "$W/enough"
    wait "${pids[@]}"
    sum=$(holdfast get tally)
    diag "$(wrote ok) updates confirmed, $(wrote lost) unknown, $(wrote no) failed: $sum"
    diag "$(cat "$W"/wrote.?.said | sed 's/version [0-9]*/version N/g' | sort | uniq -c)"
    ok 'none that was confirmed is lost' test "$sum" -ge "$(wrote ok)"
    ok '... and none that failed was made' \
        test "$sum" -le $(($(wrote ok) + $(wrote lost)))
    is "$(cat "$W"/wrote.?.said | grep -vcE 'may have been written|: tally: ')" 0 \
        'each message names the value'
}

values_dead() {
    local -n all=${KIND^^}_PID
    local name
    for name in "${!all[@]}"; do
        node_kill "$KIND" "$name"
    done
    says 69 '' 'holdfast: cfg: .*' 'get of dead servers' holdfast get cfg
    says 69 '' 'holdfast: cfg: .*' 'put to them' holdfast put cfg x
    says 69 '' 'holdfast: cfg: .*' 'update at them' holdfast update cfg -- true
}
