#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# Values on a real PostgreSQL server that fails: sessions that end, commits with
# a lost reply, rows that stay locked, a crash.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/values.sh"

postgres_start -c fsync=on || skip_all "no PostgreSQL"
export HOLDFAST_URL="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
# Or the handshake of some command ends the quarantine by a commit of its own,
# which is taken for that of a value.
holdfast doctor --init >/dev/null 2>&1
holdfast put -q first 1
pg -c 'CREATE ROLE app LOGIN' -c 'GRANT USAGE ON SCHEMA holdfast TO app'
app=${HOLDFAST_URL/postgres@/app@}

# ---- Sessions that end -------------------------------------------------------------

sessions="FROM pg_stat_activity WHERE application_name = 'holdfast'"
# shellcheck disable=SC2016 # of the shell within
add='read -r n; echo $((n + 1))'
holdfast put -q sum 0
pids=()
for _ in 1 2 3 4 5 6; do
    until [ -e "$W/enough" ]; do
        holdfast update sum -- sh -c "$add"
        echo $?
    done >>"$W/codes" 2>>"$W/errors" &
    pids+=($!)
done
some_ended() {
    pg -c "SELECT pg_terminate_backend(pid) $sessions LIMIT 1" >>"$W/ended"
    [ "$(grep -c t "$W/ended")" -ge 10 ] && [ "$(grep -cx 0 "$W/codes")" -ge 30 ]
}
ok 'sessions are ended in the middle of updates' wait_until 120 some_ended
touch "$W/enough"
wait "${pids[@]}"
sum=$(holdfast get sum)
written=$(grep -cx 0 "$W/codes")
unknown=$(grep -c 'reply to the write was lost' "$W/errors")
is "$(grep -vx '0\|69' "$W/codes")" '' \
    'an update without its session may exit with 69 alone'
ok "$written updates, $unknown with a lost reply: $sum" \
    test "$sum" -ge "$written" -a "$sum" -le $((written + unknown))

# ---- Commits with a lost reply -------------------------------------------------------

# A commit waits for a standby that does not exist. It is done at this server,
# and its reply is missing.
# Without a standby the waiting commits would end as usual: first the session.
end_commit() { # FUNCTION
    pg -c "SELECT $1(pid) $in_commit" >/dev/null
    pg_sync_is ''
}
in_commit="$sessions AND wait_event = 'SyncRep'"
lost_reply() { # TITLE FUNCTION ARG...: how the session ends, and what to put
    local title=$1 function=$2
    shift 2
    pg_sync_is absent
    holdfast put "$@" >"$W/put.out" 2>"$W/put.err" &
    put=$!
    ok "$title: the commit waits" wait_until 20 pg_is "EXISTS (SELECT $in_commit)"
    is "$(cat "$W/put.out")" '' "$title: nothing counts before its commit"
    end_commit "$function"
    wait $put
    code=$?
}
for function in pg_terminate_backend pg_cancel_backend; do
    version=$(holdfast put lost before)
    lost_reply "$function, a version" $function lost after --if-version "$version"
    is "$code:$(holdfast get --with-version lost)" \
        "0:$(cat "$W/put.out")"$'\n'after "$function, a version: known to be written"
    lost_reply "$function, any version" $function lost any
    is "$code:$(holdfast get --with-version lost)" \
        "0:$(cat "$W/put.out")"$'\n'any "$function, any version: read back"
    lost_reply "$function, deletion" $function lost --delete
    is "$code:$(holdfast get --json lost)" '0:{"name":"lost","version":0}' \
        "$function, deletion: read back"
    lost_reply "$function, version 0" $function lost created --if-version 0
    is "$code:$(holdfast get --with-version lost)" \
        "0:$(cat "$W/put.out")"$'\n'created "$function, version 0: read back"
done

# A reader sees a write that the standby lacks: it counts only when a copy of it
# has been confirmed, too.
unconfirmed() { # TITLE ARG...
    local title=$1
    shift
    pg_sync_is absent
    holdfast put "$@" >"$W/put.out" 2>"$W/put.err" &
    put=$!
    ok "$title: the commit waits" wait_until 20 pg_is "EXISTS (SELECT $in_commit)"
    first=$(pg -c "SELECT pg_terminate_backend(pid), pid $in_commit" | cut -d '|' -f 2)
    ok "$title: its copy waits, too" wait_until 4 pg_is \
        "EXISTS (SELECT $in_commit AND pid <> $first)"
    pg_sync_is ''
    wait $put
    is "$?" 0 "$title: then it is known"
}
unconfirmed 'version 0' unsure new --if-version 0
unconfirmed 'any version' unsure any
unconfirmed 'deletion' unsure --delete
pg_sync_is absent
holdfast put unsure never >"$W/put.out" 2>"$W/put.err" &
put=$!
until ! kill -0 $put 2>/dev/null; do
    pg -c "SELECT pg_terminate_backend(pid) $in_commit" >/dev/null
done
wait $put
is "$?:$(cat "$W/put.out")" 69: 'without any confirmation it stays unknown'
pg_sync_is ''
holdfast put -q lost before

# Created, the reply is lost, and it is deleted while the client stands still: it
# stays deleted, and the client cannot know.
holdfast put -q --delete lost
pg_sync_is absent
holdfast put lost again --if-version 0 >"$W/put.out" 2>"$W/put.err" &
put=$!
ok 'version 0: the commit waits' wait_until 20 pg_is "EXISTS (SELECT $in_commit)"
kill -STOP $put
end_commit pg_terminate_backend
ok 'it is written' wait_until 20 pg_is \
    "(SELECT version > 0 FROM holdfast.value_get('lock:lost'))"
holdfast put -q --delete lost
kill -CONT $put
wait $put
is "$?:$(cat "$W/put.out")" 69: 'version 0, deleted since: unknown'
like "$(cat "$W/put.err")" 'holdfast: lost: the reply to the write was lost, and there is no value now: .*' \
    'and says so'
is "$(holdfast get --json lost)" '{"name":"lost","version":0}' \
    'a late copy does not bring it back'

# ---- A row that stays locked -----------------------------------------------------------

holdfast put -q locked before
session_open other
session_do other "BEGIN; SELECT FROM holdfast.value WHERE name = 'lock:locked' FOR UPDATE"
says 69 '' 'holdfast: locked: .*another session keeps its row locked \(55P03\).*' \
    'a row that stays locked' timeout 60 holdfast put locked after
says 0 before '' 'is read' holdfast get locked
says 75 '' 'holdfast: locked: has a value: .*' 'a refusal does not wait for it' \
    holdfast put locked x --if-version 0
holdfast update locked -- echo after 2>"$W/locked.err" &
update=$!
ok 'an update waits for it' wait_until 20 pg_is \
    "EXISTS (SELECT $sessions AND wait_event_type = 'Lock')"
session_do other COMMIT
ok 'and is done when it is free' wait $update
says 0 after '' 'once' holdfast get locked

# ---- A crash ----------------------------------------------------------------------------

pg -c 'ALTER ROLE app SET synchronous_commit = off' \
    -c 'ALTER SYSTEM SET wal_writer_delay = 10000' -c 'SELECT pg_reload_conf()' >/dev/null
for i in 1 2 3; do
    version=$(holdfast put -u "$app" crash "$i")
    pg_as app -c "SELECT holdfast.value_put('lock:psql', NULL, 'w$i', NULL, '$i')" \
        >/dev/null
    postgres_crash
    ok "kill -9 of the server after put returned, $i" postgres_restart -c fsync=on
    is "$(holdfast get --with-version crash)" "$version"$'\n'"$i" 'the value is there'
    is "$(holdfast get psql)" "$i" 'and that of a session that does not wait for the disk'
done
finish
