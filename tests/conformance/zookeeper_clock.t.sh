#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ZooKeeper's wall clock is set while locks are held: its sessions do not depend on
# it, so no lock is lost, given twice, or kept too long. Marks of --once do, as
# docs/stores.md states.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/holders.sh"

have_zookeeper || skip_all 'no ZooKeeper'
zookeeper_start --clock || { fail 'ZooKeeper starts'; finish; }
export HOLDFAST_URL="$ZOOKEEPER_URL?node_timeout=3s&connect_timeout=5s"

# The server's time is off by so much, as ZooKeeper writes it into a node.
is_off_by() { # SECONDS
    local off
    zookeeper_do put /clock x
    off=$(($(zookeeper_do stat /clock mtime) / 1000 - EPOCHSECONDS - $1))
    [ "${off#-}" -le 60 ]
}
is_past() { # MS
    [ "$(now_ms)" -ge "$1" ]
}
fence_of() { # HOLDER
    sed -nE "s/^$1 //p" "$W/held" | tail -n 1
}
ran_once() { # NAME
    timeout 60 holdfast run --once 1h "$1" -- echo ran
}

is "$(ran_once nightly)$(ran_once nightly)" ran 'one run an hour'
begin holder -t 6s job
ok 'a lock is held' wait_until 20 holds holder
last=$(fence_of holder)
for off in 7200 -7200 0; do
    server_clock z1 $off
    ok "the clock of the server is set: $off s" is_off_by $off
    # Longer than a session: one that is not renewed would end.
    at=$(($(now_ms) + 7000))
    ok '... a session later' wait_until 20 is_past $at
    ok '... the lock is held' holds holder
    is "$(grep -c '"event":"lost"' "$W/events.holder")" 0 '... and was never lost'
    gives 75 '... and is refused to another' run -n job -- true
    # A holder that is killed: its session ends by the other clock.
    begin dies -t 6s "dies$off"
    ok 'another holder' wait_until 20 holds dies
    kill -9 "$begun"
    at=$(now_ms)
    capture timeout 60 holdfast run -w 40s "dies$off" -- true
    is "$code" 0 '... is killed: its lock is granted again'
    ok '... within some sessions' test $(($(now_ms) - at)) -lt 20000
    begin next -w 60s job
    ok 'a waiter' wait_until 20 is_queued next
    end holder
    ok '... is granted the lock' wait_until 20 holds next
    ok '... with a greater fence' test "$(fence_of next)" -gt "$last"
    last=$(fence_of next)
    end next
    begin holder -t 6s job
    ok '... and the next after it' wait_until 20 holds holder
done
end holder

# Marks are judged by that clock.
server_clock z1 3000
is "$(ran_once nightly)" '' '50 minutes ahead: the period goes on'
server_clock z1 4000
is "$(ran_once nightly)" ran '67 minutes ahead: it is over too soon'
server_clock z1 0
is "$(ran_once nightly)" '' 'the clock is right again: it goes on'
server_clock z1 7800
is "$(ran_once nightly)" ran '... until an hour after the mark'
finish
