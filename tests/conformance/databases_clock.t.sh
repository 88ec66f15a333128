#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The wall clock of a PostgreSQL and of a MariaDB server, by which they measure leases,
# is stepped by half an hour while locks are held: less than fence_keep.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/holders.sh"

HALF_HOUR=1800
gives_s=60
# The user of a server may not read the build's folder.
cp "$HF_BUILD/tests/lib/clock_shim.so" "$W/clock_shim.so"
under_clock() { # NAME COMMAND...
    local clock_env
    server_clock_env "$1"
    chmod 644 "$W/$1.clock"
    CLOCKSHIM=$W/$1.clock LD_PRELOAD=$W/clock_shim.so "${@:2}"
}

fence_of() { # NAME: of its last acquisition
    awk -v name="$1" '$1 == name { fence = $2 } END { print fence }' "$W/held"
}
fences=()
rises() { # TITLE NAME
    local fence
    fence=$(fence_of "$2")
    ok "$1: the fence rises" test "$fence" -gt "${fences[-1]:-0}"
    fences+=("$fence")
}
step() { # SERVER SECONDS
    server_clock "$1" "$2"
    ok "$1: its clock is stepped: $2 s" is_off_by "$2"
}
is_off_by() { # SECONDS
    local off
    off=$(($(server_time) - EPOCHSECONDS - $1))
    [ "${off#-}" -le 60 ]
}

dies() { # PID: a waiter, with the processes that it began
    local children
    mapfile -t children < <(pgrep -P "$1")
    kill -9 "${children[@]}" "$1"
    wait "$1" 2>"$W/log"
}
are_over() { # SESSION...: what they sent has been executed
    local now
    [ $# -gt 0 ] && now=$(sessions) && ! grep -qxFf <(printf '%s\n' "$@") <<<"$now"
}
is_free() { # NAME
    [ "$(holdfast ls --json "$1" | jq -r .state)" = free ]
}

# One name in turn: its fences rise. `server_time` prints the server's clock, in s;
# `sessions` the ids of all sessions but its own;
# `polls` makes places such that nothing is pushed to them.
clock_steps() { # SERVER
    local server=$1 first next killed waits code before its
    fences=(0)
    gives 0 "$server: the server counts" doctor --init

    # Forward: leases are over, and their holders learn it by their next renewals.
    begin "$server-first" -t 12s job
    first=$begun
    ok "$server: a lock is held" wait_until 20 holds "$server-first"
    rises "$server" "$server-first"
    gives 75 '... and refused to another' run -n job -- true
    begin "$server-next" -w 60 job
    next=$begun
    ok '... and waited for' wait_until 20 is_queued "$server-next"
    step "$server" $HALF_HOUR
    ok '... the waiter is granted the lock, by its next look' wait_until 20 holds "$server-next"
    rises '... forward' "$server-next"
    wait "$first"
    code=$?
    is "$code" 76 '... and the holder of before is ended by its next renewal'
    ok '... the new one holds it' holds "$server-next"

    # Back: what is held stays, and longer; what is released is free at once.
    step "$server" 0
    gives 75 '... back: the lock is held' run -n job -- true
    end "$server-next"
    wait "$next"
    is $? 0 '... and released by its holder'
    begin "$server-again" -t 12s job
    killed=$begun
    ok '... and free then' wait_until 20 holds "$server-again"
    rises '... back' "$server-again"
    begin "$server-left" left
    ok '... another lock' wait_until 20 holds "$server-left"
    before=$(sessions | sort)
    begin "$server-waits" -w 60 left
    waits=$begun
    ok '... and a waiter, which polls' wait_until 20 is_queued "$server-waits"
    mapfile -t its < <(comm -13 <(echo "$before") <(sessions | sort))
    dies "$waits"
    ok '... which dies with its sessions' wait_until 20 are_over "${its[@]}"
    polls # not before: its next look would write its channel again
    step "$server" -$HALF_HOUR
    end "$server-left"
    ok '... its place outlasts it on the free name' wait_until 20 is_free left
    gives 75 '... which is refused' run -n left -- true
    like "$err" 'holdfast: left: free, but others wait for it$' '... with the reason'
    gives 0 '... until a break' break left
    gives 0 '... which removes that place' run -n left -- true
    kill -9 "$(pgrep -P "$killed")" # its keeper, which would release the lock
    gives 75 '... a killed holder: its lock outlasts its lease' run -w 16s job -- true
    gives 0 '... until it is taken' break --now job
    begin "$server-last" job
    ok '... and is free' wait_until 20 holds "$server-last"
    rises '... by the clock that is behind' "$server-last"
    end "$server-last"

    # Marks of --once, by the same clock.
    is "$(holdfast run --once 10m marked -- echo ran)" ran '... a run of ten minutes'
    is "$(holdfast run --once 10m marked -- echo ran)" '' '... and no other'
    step "$server" 0
    is "$(holdfast run --once 10m marked -- echo ran)" ran \
        '... whose time is over when the clock is forward'
}

# ---- PostgreSQL ----------------------------------------------------------------------

under_clock postgres postgres_start || skip_all 'no PostgreSQL'
export HOLDFAST_URL="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
server_time() { pg -c "SELECT date_part('epoch', clock_timestamp())::bigint"; }
sessions() { pg -c "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'"; }
polls() { # as behind a pooler
    pg -c "UPDATE holdfast.waiter SET channel = ''" >"$W/log"
}
clock_steps postgres
postgres_stop

# ---- MariaDB -------------------------------------------------------------------------

. "$(dirname "$0")/../lib/mariadb.sh"
ok 'MariaDB starts' under_clock mariadb mariadb_start
export HOLDFAST_URL="mysql://root@/?socket=$W/maria/s&node_timeout=3s&connect_timeout=10s"
server_time() { sql -e 'SELECT UNIX_TIMESTAMP(SYSDATE())'; }
sessions() {
    sql -e 'SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID()'
}
polls() { :; }
clock_steps mariadb
finish
