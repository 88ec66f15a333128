#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# hf_guard_is_stale() and the statements of guard.h, with libpq, SQLite's
# library and hiredis: which errors are stale fences, and both numbers.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/servers.sh"
tool=$HF_BUILD/tests/guard/present
[ -x "$tool" ] || skip_all "built without libpq or SQLite's library"
postgres_start || skip_all "no PostgreSQL"
server_start redis || fail 'Redis'
holdfast guard postgres | pg
holdfast guard sqlite | sqlite3 -bail "$W/db"
sha=$(holdfast guard redis | server_cli redis -x SCRIPT LOAD)

present() { # DATABASE NAME FENCE
    case $1 in
    postgres) "$tool" postgres "user=postgres" "$2" "$3" ;;
    sqlite) "$tool" sqlite "$W/db" "$2" "$3" ;;
    redis) "$tool" redis "${SERVER_SOCK[redis]}" "$2" "$3" "$sha" ;;
    esac
}
names=(account-7 "it's" "of ' is stale: 5 was presented" 'holdfast: fence 1 of x'
    'back\slash')
for database in postgres sqlite redis; do
    for name in "${names[@]}"; do
        stale='stale 41 1795394568716288'
        [ $database != sqlite ] || stale='stale 0 0'
        is "$(present $database "$name" 41)" passed "$database: a first, <$name>"
        is "$(present $database "$name" 1795394568716288)" passed \
            "$database: a larger one"
        is "$(present $database "$name" 41)" "$stale" "$database: a stale one"
    done
    like "$(present $database "${names[2]}" 0)" 'holdfast: .*0: the lock is not held' \
        "$database: another error of the guard is none"
done
sha=0123456789012345678901234567890123456789
like "$(present redis x 1)" '^NOSCRIPT' 'an error of Redis is none'
finish
