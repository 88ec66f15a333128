#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kleppmann's story, as docs/fencing.md tells it: a holder reads, is stopped
# past its lease, and writes when another holder has written. Without a guard
# an update is lost; with one the write is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
# timeout: 120
export HOLDFAST_URL=local://$W/store
postgres_start || skip_all "no PostgreSQL"
export PGUSER=postgres
ok 'the guard installs' holdfast guard postgres --install -q
pg -c 'CREATE TABLE accounts (id int PRIMARY KEY, balance int)'

# The script of that page.
sed -n '/^```bash$/,/^```$/{/^```/d;p}' "$HF_SOURCE/docs/fencing.md" \
    >"$W/deposit"
ok 'the page has a script' grep -q 'kill -STOP' "$W/deposit"
chmod +x "$W/deposit"

is_stopped() { # PID
    [[ $(sed 's/.*) //' "/proc/$1/stat") == T* ]]
}

tell() { # unguarded|guarded
    local a
    pg -c 'DELETE FROM accounts; INSERT INTO accounts VALUES (7, 100)'
    "$W/deposit" "$1" 30 stop 2>"$W/$1.err" &
    a=$!
    ok "$1: A holds the lock, has read 100, and is stopped" \
        wait_until 15 is_stopped $a
    capture "$W/deposit" "$1" 50
    is "$code:$(pg -c 'SELECT balance FROM accounts')" 0:150 \
        "$1: the lease of A ends, B gets the lock and deposits 50"
    kill -CONT $a
    wait $a
    code=$?
}

tell unguarded
is "$(pg -c 'SELECT balance FROM accounts')" 130 \
    "unguarded: A continues and writes: the deposit of B is lost"
tell guarded
like "$(cat "$W/guarded.err")" \
    "fence [0-9]+ of 'account-7' is stale: [0-9]+ was presented" \
    'guarded: A continues, and its write is refused'
is "$(pg -c 'SELECT balance FROM accounts')" 150 \
    'guarded: the deposit of B is there'
finish
