#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# --once on a real ZooKeeper: one run a period, judged by the clock of its leader,
# whatever becomes of the lock or of a session; below a chroot, and with a login.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/once.sh"

have_zookeeper || skip_all 'no ZooKeeper'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
# shellcheck disable=SC2034 # once.sh's
KIND=zookeeper NODE=z1
export HOLDFAST_URL="$ZOOKEEPER_URL?node_timeout=3s&connect_timeout=5s"
keys_of() { zookeeper_do tree | grep "^/lock:$1"; }
mark_path() { echo "/lock:$1%once"; }
mark_get() { zookeeper_do get "$1" 2>/dev/null; }
mark_put() { zookeeper_do put "$1" "$2"; }
mark_remove() { zookeeper_do delete "$1"; }

once_period
is "$(zookeeper_do stat '/lock:kept%once' ephemeralOwner)" 0 'it has no session'
is "$(zookeeper_do tree | grep -c 'clock-')" 0 'of the clock nothing is left'
version=$(zookeeper_do stat '/lock:kept%once' version)
is "$(ran kept)" '' 'a look'
is "$(zookeeper_do stat '/lock:kept%once' version)" "$version" '... does not write it'
once_server
once_withdrawn
once_names
once_contest
once_killed
once_odd
once_swept swept:
once_faults 3

# ---- A chroot, a login ---------------------------------------------------------------

below=$ZOOKEEPER_URL/a/b
is "$(ran below -u "$below")$(ran below -u "$below")" ran \
    'a chroot that is not there is made'
like "$(mark_get '/a/b/lock:below%once')" ' 3600000 ' '... with the mark below it'
secret=zookeeper://worker:secret@${ZOOKEEPER_URL#*//}
is "$(ran own -u "$secret/private")$(ran own -u "$secret/private")" ran \
    'a mark with a login'
capture ran own -u "$ZOOKEEPER_URL/private"
is "$code:$out" 77: 'without the login nothing runs'
capture mark_get '/private/lock:own%once'
isnt "$code" 0 '... nor reads it'

# ---- What it lacks ---------------------------------------------------------------------

capture timeout 60 holdfast run --min-hold 3s least -- echo ran
is "$code:$out" 78: '--min-hold is refused, and nothing runs'
like "$err" 'ends with the session' '... with the reason'
finish
