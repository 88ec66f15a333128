#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A name moves under one guard: its locks are on Redis, then in PostgreSQL, then
# in the embedded store, then in a restored dump of that PostgreSQL, which is
# older than the last fence. Each fence is larger than those before it, if the
# clock floor (2^22 us) has risen in between.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/etcd.sh"
# timeout: 240
postgres_start || skip_all "no PostgreSQL"
server_start redis || fail 'Redis'
pg -c 'CREATE DATABASE locks' -c 'CREATE DATABASE restored'
holdfast guard postgres | pg || fail 'install'
holdfast guard sqlite | sqlite3 -bail "$W/db" || fail 'install in SQLite'
pg -c 'CREATE TABLE t (v bigint)' -c 'INSERT INTO t VALUES (0)'

store() { # DATABASE
    echo "postgres://postgres@/$1?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
}

# Acquires and releases: sets $fence.
fence_from() { # URL
    local line owner
    line=$(timeout 30 holdfast acquire -u "$1" -t 10s -w 10s moved) || return
    read -r owner fence _ <<<"$line"
    HOLDFAST_OWNER=$owner timeout 30 holdfast release -u "$1" moved
}

write() { # FENCE
    pg -c "BEGIN; SELECT holdfast.fence('moved', $1); UPDATE t SET v = $1; COMMIT"
}

write_sqlite() { # FENCE
    sqlite3 -bail "$W/db" "INSERT INTO holdfast_fence (name, fence)
        VALUES ('moved', $1)"
}

floor_has_risen() { # FENCE
    [ $(($(date +%s%6N) & ~4194303)) -gt "$1" ]
}

fences=()
move_to() { # TITLE URL
    local old
    wait_until 10 floor_has_risen "${fences[-1]:-0}" || fail 'the clock floor'
    ok "$1: acquired" fence_from "$2"
    capture write "$fence"
    is "$code:$err" 0: "$1: its fence passes"
    capture write_sqlite "$fence"
    is "$code:$err" 0: "$1: in SQLite too"
    for old in "${fences[@]}"; do
        capture write "$old"
        like "$err" "fence $old of 'moved' is stale: $fence was presented" \
            "$1: an earlier fence is refused, with both numbers"
        capture write_sqlite "$old"
        like "$err" 'holdfast: stale fence' "$1: in SQLite too"
    done
    is "$(pg -c 'SELECT v FROM t')" "$fence" "$1: its write is there"
    fences+=("$fence")
}

servers_declare "${SERVER_URL[redis]}"
servers_declare "$(store locks)"
move_to Redis "${SERVER_URL[redis]}"
move_to PostgreSQL "$(store locks)"
(cd / && as_database_user postgres "$PG_BIN/pg_dump" -U postgres locks) \
    >"$W/dump" 2>"$W/err"
is "$?:$(cat "$W/err")" 0: 'a dump'
move_to 'PostgreSQL, after the dump' "$(store locks)"
move_to 'the embedded store' "local://$W/store"
PGDATABASE=restored pg -f "$W/dump" >"$W/log" 2>&1
is $? 0 'it is restored'
servers_declare "$(store restored)"
move_to 'the restored dump' "$(store restored)"
move_to 'Redis again' "${SERVER_URL[redis]}"

# ---- The exceptions of docs/fencing.md

clock_is() { # DATABASE MICROSECONDS: SQL
    PGDATABASE=$1 pg -c "CREATE OR REPLACE FUNCTION holdfast.clock()
        RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ($2)::bigint'"
}

refused_until_reset() {
    capture write "$fence"
    like "$err" "fence $fence of 'moved' is stale: ${fences[-1]} was presented" \
        'it is refused'
    holdfast guard -q postgres --reset moved | pg
    capture write "$fence"
    is "$code:$err" 0: 'after a reset it passes'
}

clock_is restored "date_part(''epoch'', clock_timestamp()) * 1e6 - 3600e6"
ok 'a dump, and a clock an hour back: acquired' fence_from "$(store restored)"
ok 'the fence is smaller than the last' test "$fence" -lt "${fences[-1]}"
refused_until_reset

# Two acquisitions here, the next there: in one tick of the clock floor.
tick=$(((${fences[-1]} | 4194303) + 1 + 4194304))
clock_is locks "$tick"
clock_is restored "$tick + 4194303"
fence_from "$(store locks)"
is "$fence" "$tick" 'a fence is the clock floor'
fence_from "$(store locks)"
fences+=("$fence")
capture write "$fence"
is "$code:$err" 0: 'the second of a tick passes'
ok 'a move in the same tick' fence_from "$(store restored)"
is "$fence" "$tick" 'the fence is not larger'
clock_is restored "$tick + 4194304"
ok 'the same in the next tick' fence_from "$(store restored)"
is "$fence" "$((tick + 4194304))" 'the fence is larger'
capture write "$fence"
is "$code:$err" 0: 'it passes'
fences+=("$fence")

# The recipe of docs/fencing.md: a base for a store with a slow clock.
pg -c 'CREATE DATABASE behind'
servers_declare "$(store behind)&fence_base=1"
clock_is behind "$tick - 3600000000"
base=$((fence - (tick - 3600000000) + 10000000))
capture holdfast acquire -n -u "$(store behind)&fence_base=$base" moved
is "$code" 78 'a store with another base: refused'
cat >"$W/yes" <<'YES'
expect Type yes:
send yes\n
expect ended 0
YES
ok 'doctor --init raises it' timeout 60 "$HF_BUILD/tests/lib/pty" \
    sh -c 'holdfast doctor --init -q -u "$0"; echo ended $?' \
    "$(store behind)&fence_base=$base" <"$W/yes"
ok 'with the base: acquired' fence_from "$(store behind)&fence_base=$base"
ok 'the fence is larger' test "$fence" -gt "${fences[-1]}"
capture write "$fence"
is "$code:$err" 0: 'it passes, without a reset'
for old in "${fences[@]: -3}"; do
    capture write "$old"
    like "$err" "fence $old of 'moved' is stale: $fence was presented" \
        'earlier ones are refused'
done

# ---- etcd: its fences are small ------------------------------------------------

if have_etcd; then
    etcd_start || fail 'etcd starts'
    fences+=("$fence")
    recipe=$(sed -n '/^### To etcd/,/^### /s/^export HOLDFAST_URL=//p' \
        "$HF_SOURCE/docs/fencing.md")
    isnt "$recipe" '' 'docs/fencing.md has a line for etcd'
    set -- OWNER "$fence"
    # shellcheck disable=SC2034 # of the line
    NEW=$ETCD_URL
    eval "url=$recipe"
    # shellcheck disable=SC2154 # eval sets it
    ok 'etcd: acquired' fence_from "$url&node_timeout=3s"
    ok 'etcd: the fence is larger' test "$fence" -gt "${fences[-1]}"
    capture write "$fence"
    is "$code:$err" 0: 'etcd: it passes, without a reset'
else
    skip 'etcd' 'no etcd'
fi
finish
