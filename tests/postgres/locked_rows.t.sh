#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rows that another session has locked cost no lease of another name. Nor does a
# session that the client has left, and that has the lock of a channel.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
[ -x "$HF_BUILD/tests/postgres/locked_rows" ] || skip_all "built without libpq"
postgres_start
url="postgres://postgres@/postgres?host=$PGHOST"
capture timeout 60 holdfast doctor --init -u "$url"
is "$code" 0 'the server counts'
for name in b1 b2 b3; do
    holdfast run -n -u "$url" $name -- true
done
session_open other
session_do other "BEGIN; SELECT FROM holdfast.lock
    WHERE name IN ('lock:b1', 'lock:b2', 'lock:b3') FOR UPDATE"
capture timeout 60 "$HF_BUILD/tests/postgres/locked_rows" "$url" a b1 b2 b3
session_do other COMMIT
for name in b1 b2 b3; do
    like "$out" "$name: HF_UNAVAILABLE" "$name: not acquired, and no refusal"
done
like "$out" 'held: kept' 'the lease of the other name is kept'

# ---- A session that its client has left
# Its process is stopped: to the client the connection is broken, and the server keeps
# the session, as when the network drops the client's packets.
for name in b1 b2 b3; do
    pg -c "SELECT FROM holdfast.acquire('lock:$name', 'other', 3000000)"
done
timeout 60 "$HF_BUILD/tests/postgres/locked_rows" "$url&node_timeout=200ms" a b1 b2 b3 \
    >"$W/out" 2>&1 &
client=$!
queued() { # CHANNEL: three listen on another one
    pg_is "(SELECT count(*) FROM holdfast.waiter
        WHERE channel NOT IN ('', '$1')) = 3"
}
ok 'three wait, and listen' wait_until 10 queued ''
channel=$(pg -c 'SELECT DISTINCT channel FROM holdfast.waiter')
session=$(pg -c "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND classid = 1751543398")
at_exit kill -CONT "$session"
stopped() { # in a transaction it would have locked rows
    kill -STOP "$session"
    pg_is "EXISTS (SELECT FROM pg_stat_activity
        WHERE pid = $session AND state = 'idle')" || {
        kill -CONT "$session"
        false
    }
}
ok 'its session is stopped' wait_until 10 stopped
since=$(pg -c 'SELECT holdfast.clock() / 1000')
ok 'they wait, and listen on another channel' \
    wait_until 5 queued "$channel"
ok 'the lease of the other name is renewed' wait_until 5 pg_is \
    "(SELECT until > $since + 7000 FROM holdfast.lock WHERE name = 'lock:a')"
is "$(pg -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")" 0 \
    'no session waits for a lock'
for name in b1 b2 b3; do
    pg -c "SELECT FROM holdfast.release('lock:$name', 'other')"
done
wait $client
out=$(cat "$W/out")
for name in b1 b2 b3; do
    like "$out" "$name: HF_OK" "$name: released, and acquired"
done
like "$out" 'held: kept' 'the lease of the other name is kept'
finish
