#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Accounts of MariaDB or MySQL that may not log in, whatever their password: a wait ends
# at once, as with a wrong password.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

mariadb_needed
sql -e "CREATE USER shut IDENTIFIED BY 'secret' ACCOUNT LOCK"
for lock in '' '&lock=named'; do
    gives 77 "an account that is locked: $lock" run -u \
        "mysql://shut:secret@/?socket=$W/maria/s&connect_timeout=10s$lock" job -- true
    like "$err" 'locked' '... with the words of the server'
done
is_mysql || {
    sql -e "SET GLOBAL max_password_errors = 1; CREATE USER twice IDENTIFIED BY 'secret'"
    sql_as twice -pwrong -e 'SELECT 1' 2>/dev/null
    gives 77 'one that is blocked, since its password was wrong' run -u \
        "mysql://twice:secret@/?socket=$W/maria/s&connect_timeout=10s" job -- true
    like "$err" 'blocked' '... with the words of the server'
}
finish
