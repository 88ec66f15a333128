#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A MariaDB server with a full disk: no table of the locks can grow. Its logs are on
# another disk. postgres_disk.t.sh has the same of PostgreSQL.
if [ -z "${HF_TEST_DISK:-}" ]; then
    if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
        echo '1..0 # SKIP needs root and mount namespaces'
        exit 0
    fi
    HF_TEST_DISK=1 exec unshare -m bash "$0" "$@"
fi
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/values.sh"
. "$(dirname "$0")/../lib/holders.sh"

mariadb_needed
export HOLDFAST_URL="mysql://root@/?socket=$W/maria/s&node_timeout=3s&connect_timeout=10s"
capture timeout 60 holdfast doctor --init
is "$code" 0 'the server counts'
mariadb_stop
tables=$W/maria/data/holdfast
mkdir "$W/disk"
mount -t tmpfs -o size=16m,mode=755 none "$W/disk" || skip_all "needs root and mount namespaces"
at_exit umount -l "$W/disk"
cp -a "$tables" "$W/disk/holdfast"
mount --bind "$W/disk/holdfast" "$tables"
at_exit umount -l "$tables"
ok 'the server starts on a small disk' mariadb_restart
capture timeout 60 holdfast doctor --init --force
is "$code" 0 'it counts'
holdfast put -q value before
head -c 262144 /dev/urandom >"$W/big"
begin held --ttl 3 held
ok 'held' wait_until 20 holds held

dd if=/dev/zero of="$W/disk/fill" bs=4k 2>>"$W/dd.log"
# Pages that are there are used up first, each row with a commit of its own.
capture sql -e "DELIMITER //
    FOR i IN 1..100000 DO
        INSERT INTO holdfast.lock (name, kept_until)
            VALUES (CONCAT('fill', i), holdfast.clock());
    END FOR//"
like "$err" '1114.*is full' 'no table can grow'
n=0
fails() {
    n=$((n + 1))
    capture timeout 60 holdfast acquire -n --ttl 60 "new$n"
    [ "$code" != 0 ] && [[ $err = *1114* ]]
}
ok 'an acquisition fails' wait_until 60 fails
is "$code" 69 'as unavailable'
like "$err" '^holdfast: new[0-9]+: [^'$'\n'']*is full \(error 1114\)[^'$'\n'']*$' \
    'which it says in one line'
says 69 '' 'holdfast: value: [^'$'\n'']*is full \(error 1114\).*' 'a value that does not fit' \
    holdfast put value - <"$W/big"
says 0 before '' 'the value of before is there' holdfast get value

until_ms() {
    sql -e "SELECT until FROM holdfast.lock WHERE name = 'lock:held'"
}
first=$(until_ms)
is_renewed() {
    [ "$(until_ms)" -ge $((first + 6000)) ]
}
ok 'the lock that is held is renewed in its row' wait_until 60 is_renewed
gives 75 'and excludes others' run -n held -- true
end held
wait "$begun"
is $? 0 'its holder runs to its end'
gives 0 'a name that has a row is acquired and released' run -n held -- true

rm "$W/disk/fill"
gives 0 'with space again, new names are' run -n "new$n" -- true
says 0 '[0-9]+' '' 'and values written' holdfast put value - <"$W/big"
mariadb_stop
finish
