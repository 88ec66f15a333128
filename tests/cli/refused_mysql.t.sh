#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on MariaDB.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/refused.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

mariadb_needed
more="quarantine=off&socket=$W/maria/s"
capture timeout 60 holdfast doctor --init -u "mysql://root@/?node_timeout=3s&connect_timeout=10s&$more"
is "$code" 0 'the server counts'
left() {
    sql -e "SELECT COUNT(*) FROM holdfast.lock
        WHERE owner IS NOT NULL AND until >= holdfast.clock() DIV 1000"
}
is_empty() { [ "$(left)" = 0 ]; }
refused 'MariaDB' 20 'mysql://root@/' "$more"
finish
