#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Values in an embedded store, on one Redis and on PostgreSQL. See client_values.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/databases.sh"

server_start one
export HF_TEST_SOCKET=${SERVER_SOCK[one]}
contract 'embedded' "local://$W/store?node_timeout=3s" values
contract 'one server' "$(contract_urls one)" values

postgres_start
export HF_TEST_SOCKET=$PGHOST/.s.PGSQL.5432
contract 'PostgreSQL' \
    "postgres://postgres@/postgres${CONTRACT_QUERY}&host=$PGHOST" values
postgres_stop
finish
