#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# mysql://…?lock=named, when the network to the holder is cut: the holder ends
# before the server gives its name to anyone else. In namespaces of its own.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/cut_off.sh"

mariadb_start --skip-networking=0 --bind-address=$CUT_OFF_SERVER --port=3306 \
    --skip-name-resolve || skip_all 'no MariaDB'
sql -e "CREATE USER locker@$CUT_OFF_CLIENT"
is_free() { lock_is_free seven; }
cut_off "mysql://locker@$CUT_OFF_SERVER/?lock=named&key=seven&max_ttl=3s&node_timeout=3s&connect_timeout=10s"
finish
