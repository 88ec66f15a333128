#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# Faults of a real MariaDB server: sessions that are killed, commits with a lost
# reply, locked rows, a crash, a server that stands still, a schema that is
# gone, another server on the same data.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

durable=(--log-bin --sync-binlog=1 --innodb-flush-log-at-trx-commit=1)
mariadb_start "${durable[@]}" || skip_all "no MariaDB"
query="socket=$W/maria/s&connect_timeout=5s&max_ttl=20s"
export HOLDFAST_URL="mysql://app@/?$query"
capture timeout 60 holdfast doctor --init -u "mysql://root@/?$query"
is "$code" 0 'the server counts'
sql -e 'CREATE USER app@localhost; GRANT EXECUTE ON holdfast.* TO app@localhost'
capture timeout 60 holdfast doctor
unlike "$out$err" 'commits may be lost' 'each commit is on disk'

# ---- Steps ----------------------------------------------------------------------

runs=()
end_runs() {
    kill "${runs[@]}" 2>/dev/null
    wait "${runs[@]}" 2>/dev/null
}
at_exit end_runs

# A holder: its command ends when $W/NAME.end exists. Its code is in $W/NAME.code.
# shellcheck disable=SC2016 # the command's own variables
hold() { # NAME [ARG...]
    local name=$1
    shift
    rm -f "$W/$name."*
    {
        holdfast run "$@" "$name" -- bash -c 'echo "$HOLDFAST_FENCE" >"$0.tmp"
            mv "$0.tmp" "$0.fence"
            until [ -e "$0.end" ]; do sleep 0.02; done' "$W/$name" \
            2>"$W/$name.err"
        echo $? >"$W/$name.code"
    } &
    runs+=($!)
}
is_held() { [ -e "$W/$1.fence" ]; }
has_ended() { [ -s "$W/$1.code" ]; }
fence_of() { cat "$W/$1.fence"; }
let_end() { # NAME
    touch "$W/$1.end"
    wait_until 20 has_ended "$1"
    cat "$W/$1.code"
}
refused() { # NAME
    capture timeout 60 holdfast run -n "$1" -- echo ran
    [ "$code" = 75 ]
}
# --init refuses a server as long as it has a lock. One whose release was not
# answered in time is over after its ttl: at most 20 s.
declared() {
    capture timeout 60 holdfast doctor --init
    [ "$code" != 75 ]
}
sql_is() { # CONDITION
    [ "$(sql -e "SELECT $1" 2>/dev/null)" = 1 ]
}
waits() { # NAME
    sql_is "EXISTS (SELECT 1 FROM holdfast.waiter WHERE name = 'lock:$1'
        AND until > holdfast.clock() DIV 1000)"
}
# Those of the command. In a procedure they are shown as of its definer.
sessions() { # [CONDITION]
    sql -e "SELECT id FROM information_schema.processlist
        WHERE user IN ('app', 'root') AND id <> CONNECTION_ID() AND ${1:-TRUE}"
}
has_session() { [ -n "$(sessions "${1:-TRUE}")" ]; }
end_sessions() { # [CONDITION]
    local id
    for id in $(sessions "${1:-TRUE}"); do
        sql -e "KILL $id" 2>>"$W/killed"
    done
}
crash() {
    kill -KILL "$MARIADB_PID"
    wait "$MARIADB_PID" 2>/dev/null
    MARIADB_PID=''
}

# ---- Sessions that are killed ------------------------------------------------------

hold killed --ttl 5
ok 'held' wait_until 20 is_held killed
first=$(fence_of killed)
end_sessions
ok 'the holder has a session again' wait_until 20 has_session
ok 'a session that is killed does not end the lock' refused killed
is "$(let_end killed)" 0 'the holder runs to its end'
capture holdfast run -n killed -- sh -c 'echo "$HOLDFAST_FENCE"'
ok 'and has released it' test "$out" -gt "$first"

hold busy --ttl 5
ok 'held' wait_until 20 is_held busy
holdfast run busy -- echo after >"$W/after" &
waiter=$!
ok 'a waiter is in the queue' wait_until 20 waits busy
end_sessions
let_end busy >/dev/null
ok 'the waiter runs' wait $waiter
is "$(cat "$W/after")" after 'after its session had been killed'

# ---- A commit with a lost reply ------------------------------------------------------

# A commit waits for a replica that does not exist. It is done at this server, but
# its reply is missing: the client must not count it, and must not count it as a
# refusal either.
sql -e 'SET GLOBAL rpl_semi_sync_master_timeout = 60000,
    GLOBAL rpl_semi_sync_master_wait_no_slave = 1, GLOBAL rpl_semi_sync_master_enabled = 1'
in_commit="state LIKE 'Waiting for semi-sync ACK%'"
{
    timeout 60 holdfast run -vv --ttl 10 -w 20 lost -- sh -c 'echo ran' >"$W/lost.out" 2>"$W/lost.err"
    echo $? >"$W/lost.code"
} &
lost=$!
runs+=($!)
ok 'the commit waits' wait_until 20 has_session "$in_commit"
is "$(cat "$W/lost.out")" '' 'an answer does not count before its commit'
end_sessions "$in_commit"
sql -e 'SET GLOBAL rpl_semi_sync_master_enabled = 0'
wait $lost
is "$(cat "$W/lost.code"):$(cat "$W/lost.out")" '0:ran' 'asked again, and granted'
like "$(cat "$W/lost.err")" 'acquire at [^:]*: no answer' 'the first answer is unknown'
unlike "$(cat "$W/lost.err")" 'acquire at [^:]*: refused' 'and no refusal'

# ---- A row that stays locked -----------------------------------------------------------

holdfast run -n locked -- true
session_open other
session_do other "BEGIN; SELECT 1 FROM holdfast.lock WHERE name = 'lock:locked' FOR UPDATE"
capture timeout 60 holdfast run -n locked -- echo ran
is "$code:$out" 69: 'a locked row: not acquired, and no refusal'
like "$err" '1205|does not answer|no answer|not.* in time' 'a locked row: the reason'
holdfast run -vv -w 60 locked -- echo ran >"$W/locked.out" 2>"$W/locked.err" &
ok 'a waiter meets the locked row' wait_until 20 grep -q 1205 "$W/locked.err"
capture timeout 60 holdfast run -n another -- echo ran
is "$code:$out" 0:ran 'another name is not in its way'
session_do other 'COMMIT'
wait $!
is "$?:$(cat "$W/locked.out")" 0:ran 'and acquires it when it is unlocked'

# ---- A row of a value that stays locked ----------------------------------------------------

holdfast put -q locked before
session_do other "BEGIN; SELECT 1 FROM holdfast.value WHERE name = 'lock:locked' FOR UPDATE"
capture timeout 60 holdfast put locked after
is "$code:$out" 69: 'a locked row: not written'
like "$err" 'locked: .*\(error 1205\)' 'with the reason'
unlike "$err" 'unknown|may have been' 'which leaves nothing unknown'
is "$(holdfast get locked)" before 'it is read'
capture timeout 60 holdfast put locked after --if-version 0
is "$code:$out" 75: 'a refusal does not wait for it'
# shellcheck disable=SC2016 # of the shell within
timeout 60 holdfast update locked -- sh -c 'cat; echo run >>"$0"; echo " after"' "$W/update" &
update=$!
value_waits() {
    [ -n "$(sessions "info LIKE '%holdfast.value%'")" ]
}
ok 'an update waits for it' wait_until 20 value_waits
session_do other 'COMMIT'
ok 'and is done when it is free' wait $update
is "$(holdfast get locked):$(cat "$W/update")" 'before after:run' 'once'

# ---- A deadlock ---------------------------------------------------------------------------

# Another session keeps waiters out of the queue, then wants the name of one that has
# locked it to enter. It has written more, so the server ends the transaction of ours.
hold dead --ttl 20
ok 'held' wait_until 20 is_held dead
holdfast run -vv -w 60 dead -- echo ran >"$W/dead.out" 2>"$W/dead.err" &
waiter=$!
one_waits() { # InnoDB renews this table only if it was not read for 0.1 s
    [ "$(sql -e "DO SLEEP(0.15); SELECT COUNT(*) FROM information_schema.innodb_trx
        WHERE trx_state = 'LOCK WAIT'")" = 1 ]
}
meets_deadlock() {
    session_do other "ROLLBACK; BEGIN; INSERT INTO weight SELECT seq FROM seq_1_to_100;
        DELETE FROM holdfast.waiter WHERE name = 'lock:dead';
        SELECT 1 FROM holdfast.waiter WHERE name = 'lock:dead' FOR UPDATE"
    wait_until 1 one_waits || return
    session_do other "SELECT 1 FROM holdfast.lock WHERE name = 'lock:dead' FOR UPDATE"
    grep -q 1213 "$W/dead.err"
}
sql -e 'CREATE TABLE weight (n INT) ENGINE = InnoDB'
ok 'a waiter meets a deadlock' wait_until 20 meets_deadlock
session_do other 'ROLLBACK'
unlike "$(cat "$W/dead.err")" 'acquire at [^:]*: refused' 'which is no refusal'
ok 'it is in the queue when that is over' wait_until 20 waits dead
is "$(sql -e "SELECT COUNT(*) FROM holdfast.waiter WHERE name = 'lock:dead'")" 1 'once'
is "$(let_end dead)" 0 'the holder runs to its end'
wait $waiter
is "$?:$(cat "$W/dead.out")" 0:ran 'and the waiter after it'

# ---- A crash, with every commit on disk ---------------------------------------------------

hold crash --ttl 20
ok 'held' wait_until 20 is_held crash
first=$(fence_of crash)
holdfast run crash -- sh -c 'echo "$HOLDFAST_FENCE"' >"$W/after" &
waiter=$!
ok 'a waiter is in the queue' wait_until 20 waits crash
crash
ok 'the server starts again' mariadb_restart "${durable[@]}"
ok 'the waiter has its place again' wait_until 20 waits crash
ok 'the lock is still held' refused crash
is "$(let_end crash)" 0 'the holder has kept it, and runs to its end'
ok 'the waiter runs' wait $waiter
ok 'with a greater fence' test "$(cat "$W/after")" -gt "$first"

# ---- A server that stands still ------------------------------------------------------------

hold still --ttl 2
ok 'held' wait_until 20 is_held still
first=$(fence_of still)
kill -STOP "$MARIADB_PID"
ok 'past the lease, the holder is ended' wait_until 20 has_ended still
is "$(cat "$W/still.code")" 76 'as lost'
kill -CONT "$MARIADB_PID"
capture timeout 60 holdfast run -w 30 still -- sh -c 'echo "$HOLDFAST_FENCE"'
ok 'then another holder has it, with a greater fence' test "$out" -gt "$first"

# ---- A crash, with commits that may be lost ---------------------------------------------------

crash
ok 'the server starts again, without syncs to disk' mariadb_restart --log-bin
capture timeout 60 holdfast run -n crash -- echo ran
is "$code:$out" 69: 'it does not count'
like "$err" 'locks from before may still be held' 'and says why'
wait_until 40 declared
is "$code" 0 'until it is declared'
[ "$code" = 0 ] || diag "$err"

# ---- A table of another engine ----------------------------------------------------------------

# As a restored dump has it where an engine is enforced: a restart would not be noticed.
hold substituted --ttl 20
ok 'held' wait_until 20 is_held substituted
sql -e 'ALTER TABLE holdfast.run ENGINE = InnoDB'
crash
ok 'the server starts again, without syncs to disk' mariadb_restart --log-bin
capture timeout 60 holdfast run -n substituted -- echo ran
is "$code:$out" 78: 'a table is not in memory: the server is refused'
like "$err" 'holdfast\.run in InnoDB.*DELETE FROM holdfast\.run; ALTER TABLE holdfast\.run ENGINE = MEMORY' \
    'and the message has the remedy'
sql -e 'DELETE FROM holdfast.run; ALTER TABLE holdfast.run ENGINE = MEMORY'
capture timeout 60 holdfast run -n substituted -- echo ran
is "$code:$out" 69: 'when it is in memory again, the restart is noticed'
touch "$W/substituted.end"
ok 'the holder ends' wait_until 20 has_ended substituted
wait_until 40 declared
is "$code" 0 'until it is declared'
[ "$code" = 0 ] || diag "$err"
sql -e 'ALTER TABLE holdfast.lock ENGINE = MEMORY'
capture timeout 60 holdfast run -n other -- echo ran
is "$code:$out" 78: 'locks that are in memory: the server is refused'
like "$err" 'holdfast\.lock in MEMORY.*ALTER TABLE holdfast\.lock ENGINE = InnoDB' \
    'and the message has the remedy'
sql -e 'ALTER TABLE holdfast.lock ENGINE = InnoDB'
capture timeout 60 holdfast run -n other -- echo ran
is "$code:$out" 0:ran 'on disk again it counts'

# ---- Another server on the same data ---------------------------------------------------------

hold promoted --ttl 10
ok 'held' wait_until 20 is_held promoted
mariadb_stop
ok 'a server with another id, as a replica has' mariadb_restart "${durable[@]}" --server-id=2
capture timeout 60 holdfast run -n other -- echo ran
is "$code:$out" 69: 'it does not count'
like "$err" 'restarted, restored or promoted|locks from before' 'and says why'
touch "$W/promoted.end"
ok 'the holder ends' wait_until 20 has_ended promoted
capture timeout 60 holdfast doctor --init --force
is "$code" 0 'until it is declared'

# A server that lost its data under a job denies the release, which proves nothing.
hold emptied --ttl 20
ok 'held' wait_until 20 is_held emptied
sql -e 'DELETE FROM holdfast.lock; DELETE FROM holdfast.node'
touch "$W/emptied.end"
ok 'emptied under a job, which ends' wait_until 20 has_ended emptied
is "$(<"$W/emptied.code")" 0 '... and is not reported as overlapped'
capture timeout 60 holdfast doctor --init --force
is "$code" 0 'it is declared'

# ---- The schema is gone ----------------------------------------------------------------------

hold dropped --ttl 2
ok 'held' wait_until 20 is_held dropped
sql -e 'DROP DATABASE holdfast'
capture timeout 60 holdfast run -n dropped -u "mysql://root@/?$query" -- echo ran
is "$code:$out" 69: 'the new schema does not count: nothing is granted twice'
touch "$W/dropped.end"
ok 'the holder ends' wait_until 20 has_ended dropped
if ! is_mysql; then
    sql -e 'DROP DATABASE holdfast; SET GLOBAL enforce_storage_engine = InnoDB'
    capture timeout 60 holdfast run -n enforced -u "mysql://root@/?$query" -- echo ran
    is "$code:$out" 78: 'where an engine is enforced it cannot be made'
    like "$err" 'SET GLOBAL enforce_storage_engine = NULL' 'and the message has the remedy'
    sql -e 'SET GLOBAL enforce_storage_engine = NULL'
    capture timeout 60 holdfast doctor --init -u "mysql://root@/?$query"
    is "$code" 0 '... which helps'
fi
finish
