#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Old row versions of a lease that is renewed: they go at once, also beside a
# long transaction of another database. One of the same database keeps them, and
# doctor reports it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"

RENEWALS=25000

postgres_start -c autovacuum=off
export HOLDFAST_URL="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
capture holdfast doctor --init
is "$code" 0 'the schema'
pg -c 'CREATE DATABASE app'

# A hundred leases, renewed in turn.
renew() {
    pg -c "DO \$do\$
        DECLARE
            job bytea;
            fences bigint[];
        BEGIN
            FOR i IN 0..$RENEWALS LOOP
                job := ('job ' || i % 100)::bytea;
                IF i < 100 THEN
                    fences[i] := counter FROM
                        holdfast.acquire(job, 'me', 60000);
                ELSIF (holdfast.confirm(job, 'me', 60000,
                        fences[i % 100])).verdict <> 1 THEN
                    RAISE '% is lost', job;
                END IF;
                COMMIT;
            END LOOP;
        END \$do\$"
}

kilobytes() {
    pg -c "SELECT pg_relation_size('holdfast.lock') / 1024"
}

is_reported() { # PATTERN
    capture holdfast doctor
    [[ $err$out =~ $1 ]]
}

PGDATABASE=app session_open other
session_do other 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;'
renew
size=$(kilobytes)
ok "$RENEWALS renewals beside a transaction of another database: $size kB" \
    [ "$size" -le 64 ]
capture holdfast doctor
unlike "$err$out" 'old versions' 'nothing to report'

session_open same
session_do same 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;'
renew
size=$(kilobytes)
ok "beside one of the same database: $size kB" [ "$size" -ge 1000 ]
ok 'doctor reports it' wait_until 10 is_reported \
    "[0-9]+ old versions of [0-9]+ rows cannot .* has been open for [0-9]+ s; end it"
is "$code" 1 'as a warning'

session_do same 'COMMIT;'
pg -c 'VACUUM holdfast.lock'
is_gone() { ! is_reported 'old versions'; }
ok 'nor once it has ended, and VACUUM ran' wait_until 10 is_gone
finish
