#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A server with a lower maxSessionTimeout shortens a session that goes on there. If the
# lease of its locks would outlive it, they are lost at once: another client is granted
# one when the former holder's command has ended. Else they are kept.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"

have_zookeeper || skip_all 'no ZooKeeper'
zookeeper_start || { fail 'ZooKeeper starts'; finish; }
export HOLDFAST_URL="$ZOOKEEPER_URL?connect_timeout=20s"

restart() { # MAXIMUM_MS
    # shellcheck disable=SC2034 # zookeeper.sh's
    ZOOKEEPER_LINES=("maxSessionTimeout=$1")
    ok "the server starts again, with sessions of $1 ms at most" zookeeper_restart z1
}

begin kept -t 60s kept
ok 'a client holds a lock, in a session of 90 s, of which 60 s count' \
    wait_until 60 holds kept
restart 84000
is_renewed() { has_said kept renewed || has_said kept lost; }
ok 'of 84 s, 63 s count' wait_until 60 is_renewed
is "$(has_said kept lost && echo lost)" '' '... so it is kept'
end kept

# Not renewed before, it has no watch by which it would learn of its node's end.
# shellcheck disable=SC2016 # the command's own variables
holdfast run --status-fd 9 -t 60s own -- sh -c 'echo $$ >"$0/pid"
    exec sleep 1000' "$W" 9>"$W/events.own" 2>"$W/err.own" &
own=$!
pids+=("$own")
ok 'a client holds a lock' wait_until 60 [ -s "$W/pid" ]
restart 3000
cat >"$W/next" <<'END'
#!/bin/sh
! kill -0 "$1" 2>/dev/null || echo 'it runs' >"$2/alive"
END
chmod +x "$W/next"
# A lease so short may be lost again at once, on a busy machine.
next() {
    timeout 60 holdfast run -t 2s -w 50 own -- "$W/next" "$(cat "$W/pid")" "$W"
}
ok 'of 3 s, less than 60 s count: another client is granted the lock' \
    wait_until 100 next
is "$(cat "$W/alive" 2>/dev/null)" '' '... when the command of the first has ended'
ok '... which ends' wait_until 60 is_gone "$own"
wait "$own"
is $? 76 '... with exit 76'
finish
