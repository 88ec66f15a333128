# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The rows about PostgreSQL. Its sessions are processes of their own, which end:
# their CPU time is what the server's children have had, to 10 ms.

need_postgres() {
    [ -z "$PG_PID" ] || return 0
    postgres_start -c fsync=on -c shared_buffers=128MB || return 1
    postgres_url="postgres://postgres@/postgres?host=$PGHOST"
    holdfast doctor --init -u "$postgres_url" >/dev/null
}

# Ticks of the server and its children, those that have ended too.
postgres_ticks() {
    local pid
    for pid in "$PG_PID" $(cat "/proc/$PG_PID/task/$PG_PID/children"); do
        sed 's/.*) //' "/proc/$pid/stat"
    done 2>/dev/null | awk '{ n += $12 + $13 + $14 + $15 } END { print n }'
}

# A job's line, with the CPU of the server per cycle in place of `server`.
with_server() { # COMMAND...
    local before after
    before=$(postgres_ticks)
    "$@" >"$W/job" || return 1
    after=$(postgres_ticks)
    awk -v ticks=$((after - before)) '{
        match($0, / cycles=[0-9]+/)
        n = substr($0, RSTART + 8, RLENGTH - 8)
        sub(/ server=[^ ]*/, sprintf(" server=%.3f", ticks * 1e4 / n))
        print
    }' "$W/job"
}

postgres_raw() {
    with_server "$bin/postgres_raw" --conninfo "user=postgres" \
        --seconds "$database_seconds" "$@"
}

postgres_ours() {
    with_server "$bin/ours" --url "$postgres_url" --seconds "$database_seconds" "$@"
}

row_postgres() {
    local i
    need_postgres || return 1
    title "one PostgreSQL, one caller: acquire and release, us"
    for ((i = 1; i <= rounds; i++)); do
        figure table "$i" postgres_raw --dialect table || return 1
        figure functions "$i" postgres_raw || return 1
        figure ours "$i" postgres_ours || return 1
    done
    table table "${columns[@]}"
    table functions "${columns[@]}"
    table ours "${columns[@]}"
    check_ratio p50 ours functions le 1.10
    check_ratio server ours table le 2.0
    title "64 in flight from one thread, one connection: cycles a second"
    for ((i = 1; i <= rounds; i++)); do
        figure functions "$i" postgres_raw --inflight 64 || return 1
        figure ours "$i" postgres_ours --mode events --inflight 64 || return 1
    done
    table functions "${columns[@]}"
    table ours "${columns[@]}"
    check_ratio rate ours functions ge 0.8
}

# Transactions: a batch of renewals is one.
postgres_counter() {
    echo "psql -XAtq -U postgres -c 'SELECT sum(xact_commit) FROM pg_stat_database'"
}

hold_postgres() { # SECONDS
    "$bin/hold" --url "$postgres_url" --locks "$postgres_locks" \
        --ttl 10000 --seconds "$1" --nodes 1 --pids "$PG_PID" \
        --count "$(postgres_counter)"
}

# Row versions that no query needs any more, and the size with indexes.
postgres_bloat() {
    psql -XAtq -U postgres -c "SELECT n_dead_tup || ' dead rows, '
        || pg_size_pretty(pg_total_relation_size(relid))
        FROM pg_stat_user_tables WHERE schemaname = 'holdfast'
        AND relname = 'lock'"
}

row_hold_postgres() {
    need_postgres || return 1
    title "$postgres_locks leases of 10 s, held and renewed by one client"
    figure one 1 hold_postgres "$hold_seconds" || return 1
    table one renewals core_percent bytes rss_mb lost
    check_value core_percent one le 5
    check_value lost one le 0
    printf '    %s\n' "the table: $(postgres_bloat)"
}

# The size of the table each minute while leases are renewed; then beside a
# transaction that began before, keeps its snapshot, and so keeps VACUUM and
# pruning from removing any row version.
row_bloat_postgres() {
    local beside job minute snapshot
    need_postgres || return 1
    for beside in nothing snapshot; do
        title "$postgres_locks leases of 10 s, renewed, beside ${beside/snap/old snap}"
        if [ $beside = snapshot ]; then
            psql -XAtq -U postgres -c 'VACUUM FULL holdfast.lock' || return 1
            coproc OLD { psql -XAtq -U postgres 2>&1; }
            snapshot=$OLD_PID
            echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;' >&"${OLD[1]}"
            read -r _ <&"${OLD[0]}"
        fi
        hold_postgres $((bloat_minutes * 60)) >"$W/hold" 2>&1 &
        job=$!
        for ((minute = 1; minute <= bloat_minutes; minute++)); do
            sleep 60 # sleeps: what is measured is the time
            printf '    %2d min: %s\n' $minute "$(postgres_bloat)"
        done
        wait $job || return 1
        sed 's/^/    /' "$W/hold"
        [ $beside = nothing ] || kill "$snapshot"
    done
}

# psql in PATH is Debian's wrapper in Perl, which costs more than psql itself.
# `functions`: the least that such a command can ask of a new session.
row_cli_postgres() {
    local i side marker psql
    need_postgres || return 1
    psql=("$PG_BIN/psql" -XAtq -U postgres -o /dev/null)
    marker=$(pg -c "SELECT content FROM holdfast.node WHERE field = 'v'")
    title "whole commands on PostgreSQL: wall us, CPU us, largest resident set"
    for ((i = 1; i <= rounds; i++)); do
        "$bin/spawn" --count $((cli_count / rounds)) -- \
            psql "${psql[@]}" -c 'SELECT 1' ::: \
            functions "${psql[@]}" \
            -c "SELECT holdfast.acquire('x', 'me', 10000, 0, '$marker')" \
            -c "SELECT holdfast.release('x', 'me')" ::: \
            ours holdfast run -u "$postgres_url" x -- true \
            >"$W/spawn" 2>"$W/err" || {
            echo "  $(tail -n 1 "$W/err")"
            return 1
        }
        for side in psql functions ours; do
            figure "$side" "$i" grep "job=$side " "$W/spawn"
        done
    done
    for side in psql functions ours; do
        table "$side" p50 p99 cpu rss_kb failed
    done
    check_ratio p50 ours psql le 1.3
    note_ratio p50 functions psql
    note_ratio p50 ours functions
}

postgres_wake() {
    "$bin/postgres_wake" --conninfo "user=postgres" --rest 0 \
        --seconds "$crowd_seconds" "$@"
}

# NOTIFY wakes each session of the database that listens: few and many waiters.
row_handover_postgres() {
    local i n
    need_postgres || return 1
    psql -XAtq -U postgres -c 'CREATE TABLE IF NOT EXISTS bench_turn AS SELECT 0 AS n' ||
        return 1
    for n in 2 10 40; do
        title "one PostgreSQL, $n clients, hold 1 ms, no rest: hand-over, us"
        for ((i = 1; i <= wait_rounds; i++)); do
            figure "wake$n" "$i" postgres_wake --clients "$n" || return 1
            figure "write$n" "$i" postgres_wake --clients "$n" --write 1 || return 1
            # Each client opens a second session, 40 ms of the core or more: a
            # release may wait for all of them.
            figure "ours$n" "$i" crowd_ours --ttl 60000 \
                --url "$postgres_url&node_timeout=3s" --clients "$n" --rest 0 \
                --warm $((1 + n / 8)) || return 1
        done
        for i in wake write ours; do
            table "$i$n" hand50 hand99 rate client
        done
        check_ratio hand50 "ours$n" "wake$n" le 1.5
        note_ratio hand50 "ours$n" "write$n"
    done
}
