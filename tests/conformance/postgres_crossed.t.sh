#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# A pooler that gives a client the answer to another one's request. PgBouncer before
# 1.21 does, after a client has left with several requests outstanding: its session
# goes back to the pool with the answers to come.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/holders.sh"
command -v pgbouncer >/dev/null || skip_all 'no pgbouncer'

gives_s=60
postgres_start
pooler_start transaction 'default_pool_size = 1' 'min_pool_size = 1'
query="node_timeout=10s&connect_timeout=20s&max_ttl=60s"
direct="postgres://postgres@/postgres?host=$PGHOST&$query"
export HOLDFAST_URL="postgres://postgres@/postgres?host=$POOLER&$query"
gives 0 'doctor --init' doctor --init -u "$direct"

# Leaves the grant of another lock to the next client of the pooler's one session.
grant="SELECT a.* FROM (SELECT pg_sleep(1)::text AS slept) AS s,
    LATERAL (SELECT * FROM holdfast.acquire(
            convert_to('lock:' || random(), 'UTF8'), 'psql', 60000, 0)
        WHERE s.slept IS NOT NULL OFFSET 0) AS a"
leaves() {
    PGHOST=$POOLER PGUSER=postgres PGDATABASE=postgres \
        timeout 60 "$HF_BUILD/tests/postgres/leave" 'SELECT 1' "$grant"
}
is_crossed() { # the next client has another's answer
    leaves && PGHOST=$POOLER pg -c 'SELECT 4711' >"$W/answer" 2>&1
    ! grep -qx 4711 "$W/answer"
}
if ! wait_until 10 is_crossed; then
    skip_all "this PgBouncer does not: $(pgbouncer --version | head -n 1)"
fi

begin holder -u "$direct" -t 60s nightly
ok 'a holder, without the pooler' wait_until 20 holds holder
begin waiter -w 120 nightly
waits() { [ "$(holdfast ls -u "$direct" --json nightly | jq -r .waiting)" = 1 ]; }
ok 'a waiter through the pooler' wait_until 20 waits
# The waiter asks once in two seconds, and the answer is a second late at most: later
# ones would be given back.
is_answered() {
    pg_is "NOT EXISTS (SELECT FROM pg_stat_activity
        WHERE state = 'active' AND query LIKE 'SELECT a.* FROM (SELECT pg_sleep%')"
}
for i in {1..8}; do
    ok "another client leaves the grant of another lock ($i)" leaves
    ok "it is answered ($i)" wait_until 20 is_answered
    ok "the waiter does not take it for its own ($i)" eval '! holds waiter'
done
end holder
ok 'the waiter holds when the lock is free' wait_until 30 holds waiter
end waiter
finish
