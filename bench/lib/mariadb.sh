# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The rows about MariaDB: one process, whose CPU time is read as that of Redis.

# Each commit waits for the disk, as where locks must outlive a crash.
need_mariadb() {
    [ -z "$MARIADB_PID" ] || return 0
    mariadb_start --innodb-flush-log-at-trx-commit=1 \
        --innodb-buffer-pool-size=128M || return 1
    mariadb_socket=$W/maria/s
    mariadb_url="mysql://root@localhost/?socket=$mariadb_socket"
    holdfast doctor --init -u "$mariadb_url" >/dev/null
}

mariadb_raw() {
    "$bin/mariadb_raw" --socket "$mariadb_socket" --pids "$MARIADB_PID" \
        --seconds "$database_seconds" "$@"
}

row_mariadb() {
    local i
    need_mariadb || return 1
    title "one MariaDB, one caller: acquire and release, us"
    for ((i = 1; i <= rounds; i++)); do
        figure table "$i" mariadb_raw --dialect table || return 1
        figure procedures "$i" mariadb_raw || return 1
        figure ours "$i" "$bin/ours" --url "$mariadb_url" \
            --pids "$MARIADB_PID" --seconds "$database_seconds" || return 1
    done
    for i in table procedures ours; do
        table "$i" "${columns[@]}" failed
    done
    check_ratio p50 ours procedures le 1.15
    note_ratio p50 ours table
    note_ratio server ours table
}

# Nothing is pushed: waiters of rows and of named locks ask again and again. Those
# of named locks have no order, so without a rest one client would keep the lock.
row_handover_mariadb() {
    local i n
    need_mariadb || return 1
    for n in 2 10 40; do
        title "one MariaDB, $n clients, hold 1 ms, no rest (named: 10 ms): hand-over, us"
        for ((i = 1; i <= wait_rounds; i++)); do
            figure "wake$n" "$i" "$bin/mariadb_wake" --socket "$mariadb_socket" \
                --clients "$n" --rest 0 --seconds "$crowd_seconds" || return 1
            figure "rows$n" "$i" crowd_ours --url "$mariadb_url" \
                --clients "$n" --rest 0 || return 1
            [ "$n" = 2 ] || figure "named$n" "$i" crowd_ours \
                --url "$mariadb_url&lock=named" --clients "$n" || return 1
        done
        table "wake$n" hand50 hand99 rate unfair client
        table "rows$n" hand50 hand99 rate unfair client
        [ "$n" = 2 ] || table "named$n" hand50 hand99 rate unfair client
        note_ratio hand50 "rows$n" "wake$n"
    done
}
