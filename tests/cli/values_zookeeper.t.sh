#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# get, put and update on three servers of ZooKeeper: as in values.t.sh, with what is
# stored, a chroot, a login, and servers that fail. conformance/client_values has
# lost replies.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/values.sh"
. "$(dirname "$0")/../lib/values_ordered.sh"

have_zookeeper || skip_all 'no ZooKeeper'
# A follower that a busy machine holds up for 2 s would end the leader's term, and an
# election takes longer than a call.
zookeeper_cluster 3 -- syncLimit=50 || { fail 'ZooKeeper starts'; finish; }
# shellcheck disable=SC2034 # values_ordered.sh's
KIND=zookeeper
export HOLDFAST_URL="$ZOOKEEPER_URL?node_timeout=10s&connect_timeout=10s"
keys_of() { zookeeper_do tree | grep "^/lock:.*$1"; }
value_path() { echo "/lock:%values/$1"; }
value_get() { zookeeper_do get "$1" | grep .; }
value_put() { zookeeper_do put "$1" "$2"; }
value_revision() { zookeeper_do stat "$1" mzxid; }

test_values
values_apart
is "$(keys_of '%values/apart$')" '/lock:%values/apart' 'one node for each value'
is "$(zookeeper_do stat "$(value_path apart)" ephemeralOwner)" 0 '... of no session'
version=$(holdfast put apart last)
holdfast put -q --delete apart
like "$(value_get "$(value_path apart)")" '^[0-9a-f]{32}$' \
    'of one that was deleted a tombstone is left'
ok '... so that versions rise' test "$(holdfast put apart next)" -gt "$version"
values_odd

# ---- A chroot, a login ---------------------------------------------------------------

below=$ZOOKEEPER_URL/a/b
says 0 "$VERSION" '' 'below a chroot that is not there' holdfast put -u "$below" cfg there
says 0 there '' '... where it is' holdfast get -u "$below" cfg
isnt "$(holdfast get cfg 2>/dev/null)" there '... and not above it'
own=${ZOOKEEPER_URL/:\/\//:\/\/alice:secret@}
holdfast put -q -u "$own?prefix=own:" cfg mine
says 0 mine '' 'a value of a user' holdfast get -u "$own?prefix=own:" cfg
says 77 '' 'holdfast: cfg: .*no rights to the nodes of this name.*' 'is not for others' \
    holdfast get -u "$ZOOKEEPER_URL?prefix=own:" cfg
says 77 '' 'holdfast: cfg: .*no rights to the nodes of this name.*' '... to write' \
    holdfast put -u "$ZOOKEEPER_URL?prefix=own:" cfg x

values_leader
values_dead
finish
