#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A server whose InnoDB only reads, as a reader of Amazon Aurora's does, which leaves
# read_only off: locks of its sessions are its own, and rows cannot be written.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

mariadb_needed
url="mysql://root@/?socket=$W/maria/s&connect_timeout=10s"
gives 0 'a server is fit for rows' doctor --init -u "$url"
gives 0 '... and for named locks' run -n -u "$url&lock=named" job -- true
ok 'it starts as a reader' mariadb_restart --innodb-read-only
is "$(sql -BNe 'SELECT @@global.read_only')" 0 '... without read_only'
gives 78 'it is refused for named locks' run -n -u "$url&lock=named" job -- true
like "$err" 'innodb_read_only.*name the' '... with the reason'
gives 78 '... and for rows' run -n -u "$url" job -- true
like "$err" 'innodb_read_only.*name the' '... with the reason'
finish
