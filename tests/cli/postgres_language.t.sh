#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A PostgreSQL server whose messages are in German: a login that it refuses ends a wait
# at once all the same, with the exit code of the reason and the server's words.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"

LANGUAGE=de postgres_start -c lc_messages=C.UTF-8 || { fail 'PostgreSQL starts'; finish; }
capture pg -c 'SELECT 1 / 0'
[[ $err == *'Division durch Null'* ]] || skip_all 'no German messages of PostgreSQL'
pg -qc "CREATE ROLE worker LOGIN PASSWORD 'right'" -c 'CREATE DATABASE closed' \
    -c 'ALTER DATABASE closed ALLOW_CONNECTIONS false' -c 'CREATE ROLE one LOGIN CONNECTION LIMIT 0'
sed -i '1i local all worker scram-sha-256' "$PGHOST/data/pg_hba.conf"
sed -i '2i local all stranger reject' "$PGHOST/data/pg_hba.conf"
pg -Atqc 'SELECT pg_reload_conf()' >/dev/null

# A wait without an end, but the test's.
ends() { # CODE WORDS TITLE USER DATABASE [PARAMETER]
    capture timeout 60 holdfast run -u \
        "postgres://$4@/$5?host=$PGHOST&connect_timeout=10s${6:-}" job -- true
    is "$code" "$1" "$3"
    like "$err" "$2" '... in its words'
}
ends 77 'Passwort-Authentifizierung .*fehlgeschlagen' 'a wrong password' worker:wrong postgres
ends 77 'Rolle .*existiert nicht' 'no such role' guest postgres
ends 77 'pg_hba.conf' 'a login that pg_hba.conf refuses' stranger postgres
ends 78 'Datenbank .*none.* existiert nicht' 'no such database' postgres none
ends 78 'closed' 'a database that is closed' postgres closed
ends 78 'no_such' 'no such parameter' postgres postgres '&options=-cno_such%3D1'
capture timeout 60 holdfast run -w 1 -u "postgres://one@/postgres?host=$PGHOST" job -- true
is "$code" 69 'too many connections of a role: waits'
like "$err" 'zu viele Verbindungen' '... in its words'
finish
