#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rows that another session has locked cost no lease of another name.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
[ -x "$HF_BUILD/tests/postgres/locked_rows" ] || skip_all "built without libpq"
postgres_start
url="postgres://postgres@/postgres?host=$PGHOST"
capture timeout 60 holdfast doctor --init -u "$url"
is "$code" 0 'the server counts'
for name in b1 b2 b3; do
    holdfast run -n -u "$url" $name -- true
done
session_open other
session_do other "BEGIN; SELECT FROM holdfast.lock
    WHERE name IN ('lock:b1', 'lock:b2', 'lock:b3') FOR UPDATE"
capture timeout 60 "$HF_BUILD/tests/postgres/locked_rows" "$url" a b1 b2 b3
session_do other COMMIT
for name in b1 b2 b3; do
    like "$out" "$name: HF_UNAVAILABLE" "$name: not acquired, and no refusal"
done
like "$out" 'held: kept' 'the lease of the other name is kept'
finish
