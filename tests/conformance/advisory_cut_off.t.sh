#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# postgres://…?lock=advisory, when the network to the holder is cut: the holder
# ends before the server gives its key to anyone else. In namespaces of its own.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
spaces=(unshare --mount --net --pid --fork --kill-child --mount-proc)
if [ "${1:-}" != inside ]; then
    "${spaces[@]}" bash -c 'mount -t tmpfs none /run && ip netns add c &&
        ip netns exec c nft list tables' >/dev/null 2>&1 || skip_all 'no privilege to make namespaces'
    rm -rf "$W"
    exec "${spaces[@]}" "$0" inside
fi

mount -t tmpfs none /run # where ip netns keeps its names
ip link set lo up
ip netns add c
ip link add vs type veth peer name vc netns c
ip addr add 10.77.0.1/24 dev vs
ip link set vs up
ip -n c addr add 10.77.0.2/24 dev vc
ip -n c link set vc up

postgres_start
echo 'host all postgres 10.77.0.2/32 trust' >>"$PGHOST/data/pg_hba.conf"
postgres_crash
ok 'the server listens' postgres_restart -c listen_addresses=10.77.0.1
url='postgres://postgres@10.77.0.1/postgres?lock=advisory&key=7&max_ttl=3s&node_timeout=3s&connect_timeout=10s'

{
    ip netns exec c holdfast run -u "$url" -t 3 job -- bash -c 'touch "$0/held"
        while :; do sleep 0.02; done' "$W" 2>"$W/err"
    echo $? >"$W/code"
} &
holder=$!
end_holder() {
    # shellcheck disable=SC2046 # a list
    kill $(cat "/proc/$holder/task/$holder/children") 2>/dev/null
    wait "$holder"
}
at_exit end_holder
ok 'a client of another machine holds the key' wait_until 30 test -e "$W/held"
ok 'psql does not get it' pg_is 'NOT pg_try_advisory_lock(7)'

# Packets are dropped on either side, and neither side knows. psql has a unix
# socket.
cut='add table inet cut; add chain inet cut in { type filter hook prerouting priority -300; policy drop; }'
start=$(now_ms)
nft "$cut" && ip netns exec c nft "$cut"
ended=''
free=''
while [ -z "$free" ] && [ $(($(now_ms) - start)) -lt 60000 ]; do
    # First the server, then the client: if that has ended by then, it was first.
    pg_is 'pg_try_advisory_lock(7)' && free=$(($(now_ms) - start))
    [ -z "$ended" ] && [ -s "$W/code" ] && ended=$(($(now_ms) - start))
done
ok "the network is cut: the command ends, after ${ended:-?} ms" test -n "$ended"
is "$(cat "$W/code" 2>/dev/null)" 76 'as of any lock that was lost'
ok "and later the server frees the key, after ${free:-?} ms" \
    test "${free:-0}" -gt "${ended:-99999}"
ok 'within a few seconds after max_ttl' test "${free:-99999}" -lt $((15000 * busy))
finish
