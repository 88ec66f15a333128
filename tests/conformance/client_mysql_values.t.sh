#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Values on MariaDB. See client_values.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

ok 'MariaDB starts' mariadb_start
export HF_TEST_SOCKET=$W/maria/s
contract 'MariaDB' "mysql://root@/${CONTRACT_QUERY}&socket=$W/maria/s" values
finish
