#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# postgres://…?lock=advisory, when the network to the holder is cut: the holder
# ends before the server gives its key to anyone else. In namespaces of its own.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/cut_off.sh"

postgres_start
echo "host all postgres $CUT_OFF_CLIENT/32 trust" >>"$PGHOST/data/pg_hba.conf"
postgres_crash
ok 'the server listens' postgres_restart -c listen_addresses=$CUT_OFF_SERVER
is_free() { pg_is 'pg_try_advisory_xact_lock(7)'; }
cut_off "postgres://postgres@$CUT_OFF_SERVER/postgres?lock=advisory&key=7&max_ttl=3s&node_timeout=3s&connect_timeout=10s"
finish
