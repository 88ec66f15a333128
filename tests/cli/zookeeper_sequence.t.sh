#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# Sequences of ZooKeeper that prove no order: a node of another program has the one
# of ours.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

have_zookeeper || skip_all 'no ZooKeeper'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
export HOLDFAST_URL="$ZOOKEEPER_URL?node_timeout=3s&connect_timeout=5s"
entries() { # NAME
    zookeeper_nodes | grep "^/lock:$1/"
}
counts() { # N NAME: for wait_until
    [ "$(entries "$2" | wc -l)" = "$1" ]
}

# ---- A node with the sequence of ours ------------------------------------------------

# Another program chooses a name, and with it the sequence that our next node gets.
mkfifo "$W/until"
odd() { # NAME DIGIT: a node, until something is written to $W/until
    : >"$W/odd"
    zookeeper_do_s=120 zookeeper_do node "/lock:$1/odd-lock-000000000$2" \
        <>"$W/until" >"$W/odd" 2>&1 &
    odd=$!
    ok 'a node of a chosen name' wait_until 20 grep -q held "$W/odd"
}
odd_ends() {
    echo x >"$W/until"
    wait "$odd"
}

odd alone 1
gives 75 'a waiter with its sequence waits' run -w 1 alone -- true
like "$err" 'held by .*odd-lock-0000000001' '... for that node'
odd_ends
gives 0 'the name is free when it has ended' run -n alone -- true

begin first -t 30s same
ok 'a holder' wait_until 20 holds first
odd same 2
gives 75 'a try is refused' run -n same -- true
begin second -t 30s -w 60 same
ok 'a waiter' wait_until 20 is_queued second
is "$(entries same | grep -c -- '-lock-0000000002$')" 2 '... has the same sequence'
end first
ok 'the holder ends' wait_until 20 counts 2 same
gives 75 'one more waits in vain' run -w 1 same -- true
is "$(holds second && echo held)" '' '... as the waiter does'
odd_ends
ok 'the waiter holds as soon as that node has ended' wait_until 5 holds second
end second
finish
