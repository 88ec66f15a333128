#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# Renewals of many locks go to PostgreSQL in one request and one commit; each lock
# that such a batch leaves out, or that fails with it, is renewed all the same.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"

postgres_start -c track_functions=all || skip_all "no PostgreSQL"
export HOLDFAST_URL="postgres://postgres@/postgres?host=$PGHOST&connect_timeout=5s&max_ttl=60s"
capture timeout 60 holdfast doctor --init
is "$code" 0 'the server counts'

names=()
for i in {101..160}; do
    names+=("r$i")
done

# How often a function was called; a session reports that within a second, and with it
# how many rows it changed.
calls() { # FUNCTION
    pg -c "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions
        WHERE schemaname = 'holdfast' AND funcname = '$1'"
}
called() { # FUNCTION AT-LEAST
    [ "$(calls "$1")" -ge "$2" ]
}
# Requests that renew, and rows that were renewed or changed otherwise, so far.
renewals() {
    pg -c "SELECT sum(calls), (SELECT n_tup_upd FROM pg_stat_user_tables
        WHERE schemaname = 'holdfast' AND relname = 'lock') FROM pg_stat_user_functions
        WHERE schemaname = 'holdfast' AND funcname IN ('renew', 'confirm')"
}

# The end of each lease, a line each; and is it another one than BEFORE?
ends() { # [NAME]
    pg -c "SELECT encode(name, 'escape'), until FROM holdfast.lock WHERE owner IS NOT NULL
        AND name <> 'lock:${1:-}' ORDER BY 1"
}
moved() { # BEFORE [NAME] : all but NAME
    [ "$(ends "${2:-}" | comm -12 - "$1" | wc -l)" = 0 ]
}
owners() {
    pg -c "SELECT encode(name, 'escape'), owner, counter FROM holdfast.lock
        WHERE owner IS NOT NULL ORDER BY 1"
}
still_all() { # TITLE
    is "$(owners | diff - "$W/owners" | head -n 5)" '' \
        "$1: each lock has been held since the beginning"
}
all_move() { # TITLE
    ends >"$W/ends"
    ok "$1: each lock is renewed" wait_until 20 moved "$W/ends"
}

# ---- Sixty locks ------------------------------------------------------------------

# The locks are acquired one after another, at least 10 ms apart, and are due as far
# apart a third of the ttl later.
pg -c "CREATE FUNCTION holdfast.dawdle() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(0.01); RETURN NEW; END';
    CREATE TRIGGER dawdle BEFORE INSERT ON holdfast.lock
        FOR EACH ROW EXECUTE FUNCTION holdfast.dawdle()" >/dev/null

# A row stays locked for longer than a renewal of the others takes (at a third of
# the ttl), and for less than two thirds, also on a loaded machine.
holdfast run --ttl 30 "${names[@]}" -- sh -c 'echo held >"$0.tmp"; mv "$0.tmp" "$0"
    until [ -e "$0.end" ]; do sleep 0.02; done' "$W/held" 2>"$W/err" &
holder=$!
end_holder() { is_gone $holder || kill $holder; }
at_exit end_holder
ok 'sixty locks are held' wait_until 30 test -e "$W/held"
owners >"$W/owners"
is "$(wc -l <"$W/owners")" 60 'each has its row'
apart=$(pg -c 'SELECT max(until) - min(until) FROM holdfast.lock')
ok "they were acquired in $apart ms" test "$apart" -ge 590
all_move 'the first time'
IFS='|' read -r requests rows < <(renewals)
all_move 'and again'
ok 'in batches' wait_until 10 called renew 2
reported() {
    IFS='|' read -r requests_then rows_then < <(renewals)
    [ $((rows_then - rows)) -ge 60 ]
}
ok 'by requests of the session' wait_until 10 reported
# Those that are due within 300 ms join. Within 20 ms, as on other stores, it would be
# a request for each second lock, or for each.
requests=$((requests_then - requests)) rows=$((rows_then - rows))
diag "$requests requests for $rows renewals"
ok 'which are few' test $((requests * 4)) -le $rows
still_all 'renewed in batches'

# ---- A row that stays locked --------------------------------------------------------

session_open other
session_do other "BEGIN; SELECT FROM holdfast.lock WHERE name = 'lock:r117' FOR UPDATE"
ends >"$W/ends"
ok 'one row is locked: the other locks are renewed' \
    wait_until 20 moved "$W/ends" r117
like "$(ends | comm -12 - "$W/ends")" '^lock:r117\|' 'and that one is not'
session_do other COMMIT
ok 'it is, when it is unlocked' wait_until 20 moved "$W/ends"
still_all 'a locked row'

# ---- A batch that fails ----------------------------------------------------------------

in_batch="FROM pg_stat_activity WHERE application_name = 'holdfast'
    AND wait_event_type = 'Lock' AND query LIKE '%holdfast.renew%'"
session_do other 'BEGIN; LOCK TABLE holdfast.lock IN EXCLUSIVE MODE'
ok 'the table is locked: a batch waits' wait_until 20 pg_is "EXISTS (SELECT $in_batch)"
fails() { [ "$(grep -c 'canceling statement due to lock timeout' "$W/pg.log")" -gt "$1" ]; }
ok 'and fails' wait_until 20 fails 0
session_do other COMMIT
all_move 'after a batch that failed'
still_all 'a batch that failed'

session_do other 'BEGIN; LOCK TABLE holdfast.lock IN EXCLUSIVE MODE'
ok 'a batch waits' wait_until 20 pg_is "EXISTS (SELECT $in_batch)"
pg -c "SELECT pg_terminate_backend(pid) $in_batch" >/dev/null
session_do other COMMIT
all_move 'after its session was ended'
still_all 'a session that was ended'

# ---- Locks that are gone ------------------------------------------------------------------

# An administrator breaks one: the batch leaves it out, and CONFIRM is refused.
pg -c "UPDATE holdfast.lock SET owner = 'another', until = until + 60000
    WHERE name = 'lock:r123'"
wait $holder
is "$?" 76 'one of them is lost: the command is ended'
like "$(cat "$W/err")" 'r123' 'and its name is reported'
is "$(owners | cut -d '|' -f 1)" lock:r123 'the others are released'

# ---- Behind a pooler ------------------------------------------------------------------------

if command -v pgbouncer >/dev/null && pooler_start transaction; then
    export HOLDFAST_URL="postgres://postgres@/postgres?host=$POOLER&max_ttl=60s"
    before=$(calls renew)
    holdfast run --ttl 6 pooled-{1..9} -- sh -c 'until [ -e "$0" ]; do sleep 0.02; done' "$W/over" &
    holder=$!
    ok 'through a pooler: in batches, too' wait_until 30 called renew $((before + 2))
    touch "$W/over"
    ok 'and none is lost' wait $holder
else
    skip 'through a pooler' 'no pgbouncer'
fi
finish
