#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# get, put and update on PostgreSQL: as in values.t.sh, with roles, an older
# schema and a clock that is set back. conformance/values_postgres_faults.t.sh
# has the faults.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/values.sh"

postgres_start || skip_all "no PostgreSQL"
query="host=$PGHOST&node_timeout=3s&connect_timeout=10s"
export HOLDFAST_URL="postgres://postgres@/postgres?$query"
app="postgres://app@/postgres?$query"

# ---- Of a schema that was made just now, in quarantine -----------------------------

pg -c 'CREATE ROLE app LOGIN'
says 78 '' 'holdfast: cfg: .*no schema "holdfast".*' 'no schema' \
    holdfast put -u "$app" cfg x
says 0 '[0-9]{16}' '' 'values do not wait for the quarantine' holdfast put first 1
capture holdfast run -n job -- true
is "$code" 69 'as locks do'
says 0 '' '' 'deleted' holdfast put --delete first
test_values

# ---- Names, and roles --------------------------------------------------------------

odd=$'it\'s "odd" \\ $1; %s ü\n'
says 0 '' '' 'any bytes in a name' holdfast put -q "$odd" 'in it'
says 0 'in it' '' 'are one name' holdfast get "$odd"
says 1 '' '.*' 'and no other' holdfast get "${odd%?}"
says 77 '' 'holdfast: cfg: .*permission denied.*' 'a role without rights' \
    holdfast get -u "$app" cfg
pg -c 'GRANT USAGE ON SCHEMA holdfast TO app'
says 0 '' '' 'USAGE of the schema is enough' holdfast put -q -u "$app" cfg by-app
says 0 by-app '' 'to read, too' holdfast get -u "$app" cfg
capture pg_as app -c 'UPDATE holdfast.value SET version = 1'
like "$err" 'permission denied for table value' 'the table is not open'
pg -c "ALTER ROLE app SET default_transaction_isolation = serializable;
    ALTER ROLE app SET synchronous_commit = off"
says 0 '' '' "a role's settings are replaced" \
    holdfast update -u "$app" cfg -- echo by-app-2
pg -c 'ALTER ROLE app SET default_transaction_read_only = on'
says 78 '' 'holdfast: cfg: .*read-only.*' 'a role that may only read' \
    holdfast put -u "$app" cfg x
pg -c 'ALTER ROLE app RESET ALL'

# ---- From psql -----------------------------------------------------------------------------

in_docs() {
    awk '/^### Values in PostgreSQL/ { here = 1 } /^```$/ { sql = 0 }
        here && sql { print } /^```sql$/ { sql = 1 } ' \
        "$HF_SOURCE/docs/stores.md"
}
is "$(in_docs | pg | cut -d '|' -f 1)" $'0\n1' 'the calls of docs/stores.md'
says 0 on '' 'write values that the commands read' holdfast get config
is "$(in_docs | pg | cut -d '|' -f 1)" "$(holdfast get --with-version config |
    head -n 1)"$'\n0' 'and read it'

# ---- The clock of the server is set back --------------------------------------------------

# Values are read and written in short sessions: each sees the clock that is there.
pg -c "CREATE FUNCTION holdfast.true_clock() RETURNS bigint LANGUAGE sql AS \$\$
    $(pg -c "SELECT prosrc FROM pg_proc WHERE oid = 'holdfast.clock'::regproc") \$\$"
clock_is() { # SECONDS off
    pg -c "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS bigint
        LANGUAGE sql VOLATILE AS 'SELECT holdfast.true_clock() + $1 * 1000000::bigint'"
}
version=$(holdfast put clock 1)
holdfast put -q --delete clock
clock_is -3000
again=$(holdfast put clock 2)
ok 'deleted, the clock set back, created: the version is greater' \
    test "$again" -gt "$version"
ok 'and greater again' test "$(holdfast put clock 3)" -gt "$again"
holdfast put -q --delete clock
clock_is 4000
is "$(pg -c "SELECT holdfast.sweep('', 1000)")" '\x' 'after fence_keep'
ok 'the name is deleted' pg_is \
    "NOT EXISTS (SELECT FROM holdfast.value WHERE name = 'lock:clock')"
ok 'by then the clock is above its version' \
    test "$(holdfast put clock 4)" -gt "$again"
clock_is 0

# ---- An older schema ------------------------------------------------------------------------

version=$(holdfast put old kept)
pg -c "DROP FUNCTION holdfast.value_get; UPDATE holdfast.version SET version = 1;
    CREATE FUNCTION holdfast.value_get(lock_name bytea, OUT verdict integer,
        OUT version bigint, OUT data bytea)
        LANGUAGE sql AS 'SELECT 1, 0::bigint, NULL::bytea'"
says 78 '' 'holdfast: old: .*schema "holdfast" of version 1 .*, this client needs 2: as its owner run holdfast doctor --print-schema .*' \
    'version 1 of the schema, and a role that may not replace it' \
    holdfast get -u "$app" old
pg -c 'GRANT CREATE ON DATABASE postgres TO app'
says 78 '' 'holdfast: old: .*schema "holdfast" of version 1 .*as its owner run .*' \
    'nor one that may create schemas, but does not own this one' \
    holdfast get -u "$app" old
pg -c 'REVOKE CREATE ON DATABASE postgres FROM app'
says 0 "$version"$'\n'kept '' 'its owner replaces it at first use' \
    holdfast get --with-version old
says 0 kept '' 'then it serves the role' holdfast get -u "$app" old

# ---- The schema is dropped while COMMAND runs -----------------------------------------------

pg -c 'CREATE DATABASE dropped'
there="postgres://app@/dropped?$query"
holdfast put -q -u "postgres://postgres@/dropped?$query" cfg 1
PGDATABASE=dropped pg -c 'GRANT USAGE ON SCHEMA holdfast TO app'
says 78 '' 'holdfast: cfg: .*schema "holdfast".*' \
    'the schema is gone' holdfast update -u "$there" cfg -- \
    sh -c "'$PG_BIN/psql' -U postgres -d dropped -qc 'DROP SCHEMA holdfast CASCADE' 2>&1"

# ---- Out of reach ---------------------------------------------------------------------------

postgres_crash
says 69 '' 'holdfast: cfg: .*' 'get of a dead server' holdfast get cfg
says 69 '' 'holdfast: cfg: .*' 'put to it' holdfast put cfg x
says 69 '' 'holdfast: cfg: .*' 'update at it' holdfast update cfg -- true
finish
