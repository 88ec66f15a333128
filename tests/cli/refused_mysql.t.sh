#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, on MariaDB.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nested.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

export W
mariadb_start || skip_all "$(lacks_server)"
url="mysql://root@/?quarantine=off&node_timeout=1s&socket=$W/maria/s"
capture timeout 60 holdfast doctor --init -u "$url"
nested 'MariaDB' "$HF_BUILD/tests/lib/refuse" "$url"
left() {
    sql -e "SELECT COUNT(*) FROM holdfast.lock
        WHERE owner IS NOT NULL AND until >= holdfast.clock() DIV 1000"
}
is_empty() { [ "$(left)" = 0 ]; }
ok 'nothing is left' wait_until 20 is_empty
finish
