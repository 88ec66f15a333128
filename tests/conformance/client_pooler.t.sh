#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The contract of the client on a PostgreSQL server through PgBouncer, in
# transaction mode. Its waiters poll.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/databases.sh"
command -v pgbouncer >/dev/null || skip_all 'no pgbouncer'

postgres_start
pooler_start transaction
contract "PgBouncer" "postgres://postgres@/postgres${CONTRACT_QUERY}&host=$POOLER" \
    lock look names break share
finish
