#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The rules in MariaDB against the Lua scripts, from a seed that is drawn from
# the sources. See ../differential/suite.h.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/nested.sh"
[ -x "$HF_BUILD/tests/mysql/differential" ] ||
    skip_all "built without libmariadb or without the simulator"
mariadb_needed
export HF_MYSQL_SOCKET=$W/maria/s HF_RESTARTED=$W/restarted
mkfifo "$HF_RESTARTED"
restart() {
    mariadb_restart && echo "done" >"$HF_RESTARTED"
}
nested differential "$HF_BUILD/tests/mysql/differential" \
    "$HF_SOURCE/src/store/mysql/schema" "$(drawn_seed)"
finish
