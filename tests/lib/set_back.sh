# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# A server of a store that agrees by consensus gets an older copy of its data while
# its clients live. Source after the file of the server; the test sets
#
#   KIND NODE                etcd, consul, zookeeper; the server's NAME
#
#   set_back_begin           starts it; "old" is held and in the copy, "new" is held
#                            and is not; their holders are $old and $new. Before
#                            "new", more is written than tests and holders write to
#                            the copy: so the holder of "new" has seen newer data
#   set_back [COMMAND]       the copy takes the place of the data; COMMAND puts
#                            another one there
#   set_back_to_itself       cases: the copy is taken for the same cluster
#   ends_lost NAME PID       cases: its holder ends as one that lost it, with its
#                            command
. "$(dirname "${BASH_SOURCE[0]}")/holders.sh"

set_back_begin() {
    local url=${KIND^^}_URL other
    "${KIND}_start" || { fail "$KIND starts"; finish; }
    export HOLDFAST_URL="${!url}?node_timeout=3s&connect_timeout=5s"
    begin old -t 20s old
    old=$begun
    ok 'a lock is held' wait_until 20 holds old
    "${KIND}_stop" "$NODE"
    cp -a "$W/$NODE/data" "$W/copy"
    "${KIND}_restart" "$NODE" || { fail "$KIND starts again"; finish; }
    for other in 1 2 3 4 5; do
        holdfast run -n "other$other" -- true
    done
    begin new -t 20s new
    new=$begun
    ok 'another one, after a copy was made' wait_until 20 holds new
}

set_back_copy() {
    cp -a "$W/copy" "$W/$NODE/data"
}

# shellcheck disable=SC2120 # a test passes one
set_back() {
    "${KIND}_stop" "$NODE"
    rm -r "$W/$NODE/data"
    "${1:-set_back_copy}"
    "${KIND}_restart" "$NODE" || { fail "$KIND starts with the copy"; finish; }
}

is_command_gone() { # NAME
    ! pgrep -f "^/bin/sh $W/hold $1 " >/dev/null
}

ends_lost() {
    ok "the holder of $1 ends" wait_until 60 is_gone "$2"
    wait "$2"
    is $? 76 '... as one that lost it'
    ok '... and its command' is_command_gone "$1"
}

set_back_to_itself() {
    # shellcheck disable=SC2119 # the copy
    set_back
    ends_lost new "$new"
    gives 0 '... which is free' run -n new -- true
    gives 75 'old is held' run -n old -- true
    ok '... and its holder goes on' holds old
}
