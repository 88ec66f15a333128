#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# with_advisory_lock of Rails, and Holdfast on the same keys: advisory locks of PostgreSQL
# and named locks of MariaDB.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/session_locks.sh"
. "$(dirname "$0")/callers.sh"

# What scripts/test has unpacked, or what is installed.
export RUBYLIB=''
for lib in "$HF_SOURCE"/build-advisory-lock/usr/share/rubygems-integration/all/gems/*/lib; do
    RUBYLIB=$lib
done
/usr/bin/ruby -e 'require "active_record"; require "with_advisory_lock"' 2>"$W/ruby.err" || {
    diag "$(head -n 3 "$W/ruby.err")"
    skip_all 'no with_advisory_lock'
}
unset WITH_ADVISORY_LOCK_PREFIX
rails() { # ADAPTER DATABASE USER SOCKET
    caller_start /usr/bin/ruby "$HF_SOURCE/tests/interop/caller_rails.rb" "$@"
}

# ---- PostgreSQL ------------------------------------------------------------------

ok 'PostgreSQL starts' postgres_start
url="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
url+='&lock=advisory'
database=(postgresql postgres postgres "$PGHOST")
ok 'a program of Rails' rails "${database[@]}"
diag "$version, pg $(/usr/bin/ruby -e 'require "pg"; puts PG::VERSION')"
exclusion PostgreSQL "$url&key=rails" nightly nightly weekly
for name in 'nightly report' "it's" größe 'a/*b*/' "$(printf 'n%.0s' {1..1024})"; do
    same_key "the name <${name:0:20}>" "$url&key=rails" "$name" "$name"
done
crc=$(documented Zlib.crc32 nightly)
same_key 'the number that the page computes' "$url&key=$crc,0" any nightly
same_key 'a name that is a number' "$url&key=42,0" any 42

is "$(caller share nightly)" held 'they hold a shared lock'
says 0 ran 'we are let in, shared' \
    holdfast run --try --shared -u "$url&key=rails" nightly -- echo ran
says 75 'held by' 'and not else' holdfast run --try -u "$url&key=rails" nightly -- true
is "$(caller end)" released 'they release it'
held nightly --shared -u "$url&key=rails"
is "$(caller try nightly)" refused 'we hold a shared lock: they are refused'
is "$(caller share nightly)" held 'unless shared'
is "$(caller end)" released 'which they release'
is "$(let_end nightly)" 0 'we release it'

caller_kill
export WITH_ADVISORY_LOCK_PREFIX=7
ok 'a program with the prefix 7' rails "${database[@]}"
same_key 'a prefix that is a number' "$url&key=$crc,7" any nightly
is "$(caller try nightly)" held 'it holds'
says 0 ran 'key=rails is another lock' \
    holdfast run --try -u "$url&key=rails" nightly -- echo ran
is "$(caller end)" released 'it releases'
caller_kill
export WITH_ADVISORY_LOCK_PREFIX=app
ok 'a program with the prefix app' rails "${database[@]}"
same_key 'a prefix that is no number is none' "$url&key=rails" nightly nightly
caller_kill
unset WITH_ADVISORY_LOCK_PREFIX

# ---- MariaDB ---------------------------------------------------------------------

# It has names of its own for those of databases.sh.
. "$(dirname "$0")/../lib/mariadb.sh"
ok 'MariaDB starts' mariadb_start
url="mysql://root@localhost/?socket=$W/maria/s&node_timeout=3s&connect_timeout=10s"
url+='&lock=named'
database=(mysql2 app root "$W/maria/s")
ok 'a program of Rails' rails "${database[@]}"
diag "mysql2 $(/usr/bin/ruby -e 'require "mysql2"; puts Mysql2::VERSION')"
exclusion MariaDB "$url&key=nightly" nightly nightly weekly
for name in 'nightly report' "it's" größe "$(printf 'n%.0s' {1..64})"; do
    encoded=$(jq -rn --arg name "$name" '$name | @uri')
    same_key "the name <${name:0:20}>" "$url&key=$encoded" any "$name"
done
caller_kill
export WITH_ADVISORY_LOCK_PREFIX=app:
ok 'a program with a prefix' rails "${database[@]}"
same_key 'a prefix is part of the name' "$url&key=app:nightly" any nightly
finish
