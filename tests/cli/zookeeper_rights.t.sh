#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# The first session of a client on ZooKeeper: where nothing may be created, and where
# the connection is cut as its node is; doctor's findings there; addresses of IPv6.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

have_zookeeper || skip_all 'no ZooKeeper'
# Its client port is that of all addresses.
zookeeper_start -- 'clientPortAddress=::' enforceQuota=true ||
    { fail 'ZooKeeper starts'; finish; }
more='node_timeout=3s&connect_timeout=5s'
denied='the user has no right'

# ---- A node in which nothing may be created ------------------------------------------

ok 'a node without rights' zookeeper_do bare /bare
refused() { # WHAT URL
    gives 77 "a try $1 is denied" run -n -u "$2?$more" job -- echo ran
    like "$err" "$denied" '... with the reason'
    is "$out" '' '... and nothing runs'
    gives 77 "a wait $1 is denied" run -w 5 -u "$2?$more" job -- echo ran
    gives 2 "doctor $1: not fit" doctor -u "$2?$more"
    like "$out$err" "$denied to create nodes in $3" '... and names the node'
}
refused 'in it' "$ZOOKEEPER_URL/bare" /bare
refused 'below it' "$ZOOKEEPER_URL/bare/a/b" /bare
is "$(zookeeper_do ls /bare)" '' 'nothing is created in it'

# The nodes of the sessions are another user's.
private=zookeeper://worker:secret@${ZOOKEEPER_URL#*//}/private
gives 0 'a lock with a login' run -n -u "$private?$more" job -- true
refused 'beside it' "$ZOOKEEPER_URL/private" /private
ok 'a node for all' zookeeper_do put /shared ''
begin keeper -u "${private%/*}/shared?$more" keeper
ok 'a holder with a login in it' wait_until 20 holds keeper
refused 'beside its sessions' "$ZOOKEEPER_URL/shared" '/shared/lock:%sessions'
end keeper
gives 0 'doctor where all may be created: fit' doctor -u "$ZOOKEEPER_URL/new/a?$more"
is "$(zookeeper_do tree | grep -E '^/new|probe')" '' '... and has created nothing'

# Servers that run standalone are no ensemble, and each grants locks of its own.
gives 2 'doctor: a standalone server among others is not fit' \
    doctor -u "$ZOOKEEPER_URL,127.0.0.1:1?$more"
like "$out$err" 'unfit: .* runs standalone, but the URL names 2 servers' '... and why'

# ---- A quota ---------------------------------------------------------------------------

ok 'a node' zookeeper_do put /full ''
ok '... that may have none below it' zookeeper_do quota /full 1
gives 69 'a try there' run -n -u "$ZOOKEEPER_URL/full?$more" job -- echo ran
like "$err" 'a quota of nodes or bytes is used up' '... with the reason'
gives 69 'a wait' run -w 2 -u "$ZOOKEEPER_URL/full?$more" job -- echo ran
like "$err" 'a quota of nodes or bytes is used up' '... with the reason'
gives 2 'doctor: not fit' doctor -u "$ZOOKEEPER_URL/full?$more"
like "$out$err" 'a quota of nodes or bytes is used up' '... with the reason'

# ---- The connection is cut ----------------------------------------------------------------

mkfifo "$W/until"
cut_at() { # TEXT: a proxy on $port
    rm -f "$W/port"
    zookeeper_do_s=120 zookeeper_do cut "$1" "$W/port" <>"$W/until" >"$W/cut" 2>&1 &
    cut=$!
    pids+=("$cut")
    ok "a proxy that cuts at $1" wait_until 20 [ -s "$W/port" ]
    read -r port <"$W/port"
}
for text in '/cut1/lock:%sessions' /cut2; do
    cut_at "$text"
    gives 0 'a lock' \
        run -w 15 -u "zookeeper://127.0.0.1:$port${text%/lock*}?$more" job -- true
    is "$(cat "$W/cut")" cut '... over a connection that was cut meanwhile'
    echo x >"$W/until"
    wait "$cut"
done

# ---- Addresses of IPv6 --------------------------------------------------------------------

port=${ZOOKEEPER_PORT[z1]}
if grep -q '^0*1 .* lo$' /proc/net/if_inet6 2>/dev/null; then
    gives 0 'an address of six' run -n -u "zookeeper://[::1]:$port?$more" six -- true
    gives 0 '... among others' \
        run -n -u "zookeeper://[::1]:1,[::1]:$port,127.0.0.1:1?$more" six -- true
    gives 0 '... for doctor' doctor -u "zookeeper://[::1]:$port?$more"
    like "$out$err" "\[::1\]:$port" '... which shows it'
    gives 69 'no server there' run -n -u "zookeeper://[::1]:1?$more" six -- true
    like "$err" '\[::1\]:1 .*refused' '... with the reason'
else
    diag 'no IPv6 here'
fi
finish
