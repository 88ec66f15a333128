#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Allocations that fail, on MariaDB: client_memory.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

program=$HF_BUILD/tests/conformance/memory_mysql
[ -x "$program" ] || skip_all 'built without this store'
mariadb_needed
url="mysql://root@/?quarantine=off&node_timeout=3s&connect_timeout=10s&socket=$W/maria/s"
capture timeout 60 holdfast doctor --init -u "$url"
is "$code" 0 "the server counts"
HF_TEST_URL="$url" \
    nested MariaDB "$program"
finish
