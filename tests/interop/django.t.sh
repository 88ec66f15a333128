#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Programs that lock through Django's connection, and Holdfast on the same keys: advisory
# locks of PostgreSQL and named locks of MariaDB.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/session_locks.sh"
. "$(dirname "$0")/callers.sh"

django() { # ENGINE DATABASE USER SOCKET
    caller_start /usr/bin/python3 "$HF_SOURCE/tests/interop/caller_django.py" "$@"
}

# ---- PostgreSQL ------------------------------------------------------------------

ok 'PostgreSQL starts' postgres_start
url="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
url+='&lock=advisory'
ok 'a program of Django' django postgresql postgres postgres "$PGHOST"
diag "$version"
exclusion PostgreSQL "$url&key=12345" nightly 12345 12346
same_key 'a negative number' "$url&key=-9223372036854775808" any -9223372036854775808
same_key 'two numbers' "$url&key=-5,7" any -5,7
# CRC-32 below and above 2^31: a text's key may be negative.
for name in nightly weekly größe 123456789x; do
    key=$(documented zlib.crc32 "$name")
    same_key "the text <$name>, $key" "$url&key=$key" any "$name"
done
key=$(pg -c "SELECT ('x' || left(encode(sha256('lock:nightly'), 'hex'), 16))::bit(64)::bigint")
same_key 'the key of a name of ours' "$url" nightly "$key"
ok 'no other name' timeout 60 holdfast run --try -u "$url" weekly -- true

is "$(caller share 12345)" held 'they hold a shared lock'
says 0 ran 'we are let in, shared' \
    holdfast run --try --shared -u "$url&key=12345" any -- echo ran
says 75 'held by' 'and not else' holdfast run --try -u "$url&key=12345" any -- true
is "$(caller end)" released 'they release it'

is "$(caller atomic 12345)" held 'they hold it in a transaction'
says 75 'held by' 'we are refused' holdfast run --try -u "$url&key=12345" any -- true
is "$(caller end)" released 'the transaction ends'
says 0 ran 'we are let in' holdfast run --try -u "$url&key=12345" any -- echo ran
held any -u "$url&key=12345"
is "$(caller atomic 12345)" refused 'we hold: a transaction of theirs is refused'
is "$(let_end any)" 0 'we release'
caller_kill

# ---- MariaDB ---------------------------------------------------------------------

# It has names of its own for those of databases.sh.
. "$(dirname "$0")/../lib/mariadb.sh"
ok 'MariaDB starts' mariadb_start
url="mysql://root@localhost/?socket=$W/maria/s&node_timeout=3s&connect_timeout=10s"
url+='&lock=named'
ok 'a program of Django' django mysql app root "$W/maria/s"
diag "$version"
exclusion MariaDB "$url&key=nightly" nightly nightly weekly
same_key UTF-8 "$url&key=gr%C3%B6%C3%9Fe" any größe
finish
