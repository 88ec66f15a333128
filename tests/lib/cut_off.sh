# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A lock that ends with a session of a database, when the network to its holder is cut.
# Source after tap.sh; the test runs in namespaces of its own, with the server at
# $CUT_OFF_SERVER and a client at $CUT_OFF_CLIENT, which it may hear.
#
#   cut_off URL     cases: a client holds the lock of URL, the network is cut, and the
#                   holder ends before the server gives the lock to another session.
#                   The test has  is_free   another session gets it; it gives it back
#
# max_ttl of URL is 3 s, and it names one lock.

CUT_OFF_SERVER=10.77.0.1 CUT_OFF_CLIENT=10.77.0.2
cut_off_spaces=(unshare --mount --net --pid --fork --kill-child --mount-proc)
if [ -z "${HF_CUT_OFF:-}" ]; then
    "${cut_off_spaces[@]}" bash -c 'mount -t tmpfs none /run && ip netns add c &&
        ip netns exec c nft list tables' >/dev/null 2>&1 || skip_all 'no privilege to make namespaces'
    rm -rf "$W"
    HF_CUT_OFF=1 exec "${cut_off_spaces[@]}" "$0"
fi

mount -t tmpfs none /run # where ip netns keeps its names
ip link set lo up
ip netns add c
ip link add vs type veth peer name vc netns c
ip addr add $CUT_OFF_SERVER/24 dev vs
ip link set vs up
ip -n c addr add $CUT_OFF_CLIENT/24 dev vc
ip -n c link set vc up

end_holder() {
    # shellcheck disable=SC2046 # a list
    kill $(cat "/proc/$holder/task/$holder/children") 2>/dev/null
    wait "$holder"
}

cut_off() { # URL
    local cut start ended='' free=''
    {
        ip netns exec c holdfast run -u "$1" -t 3 job -- bash -c 'touch "$0/held"
            while :; do sleep 0.02; done' "$W" 2>"$W/err"
        echo $? >"$W/code"
    } &
    holder=$!
    at_exit end_holder
    ok 'a client of another machine holds the lock' wait_until 30 test -e "$W/held"
    ok 'another session does not get it' eval '! is_free'

    # Packets are dropped on either side, and neither side knows. The other session has a
    # unix socket.
    cut='add table inet cut; add chain inet cut in { type filter hook prerouting priority -300; policy drop; }'
    start=$(now_ms)
    nft "$cut" && ip netns exec c nft "$cut"
    while [ -z "$free" ] && [ $(($(now_ms) - start)) -lt 60000 ]; do
        # First the server, then the client: if that has ended by then, it was first.
        is_free && free=$(($(now_ms) - start))
        [ -z "$ended" ] && [ -s "$W/code" ] && ended=$(($(now_ms) - start))
    done
    ok "the network is cut: the command ends, after ${ended:-?} ms" test -n "$ended"
    is "$(cat "$W/code" 2>/dev/null)" 76 'as of any lock that was lost'
    ok "and later the server frees the lock, after ${free:-?} ms" \
        test "${free:-0}" -gt "${ended:-99999}"
    # shellcheck disable=SC2154 # of tap.sh
    ok 'within a few seconds after max_ttl' test "${free:-99999}" -lt $((15000 * busy))
}
