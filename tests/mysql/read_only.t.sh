#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From MariaDB 12.0 read_only is OFF, ON, NO_LOCK or NO_LOCK_NO_ADMIN, which are no
# conditions of SQL: 'ON' is false. The verbs of an account that may write to a replica
# refuse with each value. A variable of the session is in the place of the server's.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

mariadb_needed
holdfast doctor --print-schema -u mysql: >"$W/schema.sql"
sed 's/@@GLOBAL\.read_only/@is_read_only/' "$W/schema.sql" >"$W/changed.sql"
isnt "$(cat "$W/schema.sql")" "$(cat "$W/changed.sql")" 'the schema looks at read_only'
ok 'it is made, with a variable of the session' sql <"$W/changed.sql"

try() { # VALUE
    capture sql -BNe "SET @is_read_only = $1;
        CALL holdfast.acquire('n', 'me', 1000, 0, NULL, 3600000, 'x', FALSE, 0, 0, 0)"
}
for value in "'ON'" "'NO_LOCK'" "'NO_LOCK_NO_ADMIN'" 1; do
    try "$value"
    like "$err" '25006.*replica grants no locks' "$value: refused"
done
for value in "'OFF'" 0; do
    try "$value"
    like "$code$out" '^0-1' "$value: goes on to look at the marker"
done
finish
