#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# Sequences of ZooKeeper that prove no order: a node of another program has the one
# of ours; a counter has reached its end.
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

# ---- The sequence has reached its end ----------------------------------------------------

# From then on the server gives each node the same one. A plain node, which is not
# removed while it is empty; a restart writes a snapshot.
zookeeper_do put /lock:full ''
zookeeper_restart z1
zookeeper_stop z1
zookeeper_do counter "$W/z1/data/version-2" /lock:full 2147483646
ok 'a server with a counter near its end' zookeeper_restart z1
begin last -t 30s full
ok 'the last sequence but one is granted' wait_until 20 holds last
like "$(entries full)" '-lock-2147483646$' '... as it has another one after it'
gives 78 'a waiter is refused' run -w 20 full -- echo ran
like "$err" 'fences would repeat.*delete the node' '... with reason and remedy'
unlike "$out" ran '... and nothing runs'
gives 75 'a try while it is held' run -n full -- true
end last
ok 'nothing is left' wait_until 20 counts 0 full
for how in -n '-w 20' -s '-n -s'; do
    # shellcheck disable=SC2086 # words
    gives 78 "no lock of the last one (run $how)" run $how full -- echo ran
    unlike "$out" ran '... and nothing runs'
done
ok 'nothing is left' wait_until 20 counts 0 full
zookeeper_do delete /lock:full
gives 0 'the node is deleted: it is granted' run -n full -- true
finish
