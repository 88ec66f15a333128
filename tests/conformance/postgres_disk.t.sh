#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A PostgreSQL server with a full disk: no table can grow. Its log is on another
# disk. A server that cannot write its log stops: postgres_faults.t.sh has that.
if [ -z "${HF_TEST_DISK:-}" ]; then
    if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
        echo '1..0 # SKIP needs root and mount namespaces'
        exit 0
    fi
    HF_TEST_DISK=1 exec unshare -m bash "$0" "$@"
fi
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/values.sh"

postgres_start || skip_all "no PostgreSQL"
mkdir "$W/disk"
mount -t tmpfs -o size=16m,mode=755 none "$W/disk" || skip_all "needs root and mount namespaces"
at_exit umount -l "$W/disk"
mkdir -m 700 "$W/disk/pg"
chown postgres:postgres "$W/disk/pg"
pg -c "CREATE TABLESPACE small LOCATION '$W/disk/pg'" -c 'CREATE DATABASE small TABLESPACE small'
export PGDATABASE=small
export HOLDFAST_URL="postgres://postgres@/small?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
capture timeout 60 holdfast doctor --init
is "$code" 0 'the server counts'
holdfast put -q value before
head -c 262144 /dev/urandom >"$W/big"

holdfast run --ttl 3 held -- sh -c 'echo "$HOLDFAST_FENCE" >"$0.tmp"; mv "$0.tmp" "$0.fence"
    until [ -e "$0.end" ]; do sleep 0.02; done' "$W/held" &
held=$!
end_held() {
    kill $held 2>/dev/null
    wait $held 2>/dev/null
}
at_exit end_held
ok 'held' wait_until 20 test -e "$W/held.fence"

dd if=/dev/zero of="$W/disk/fill" bs=4k 2>>"$W/dd.log"
n=0
fails() {
    n=$((n + 1))
    capture timeout 60 holdfast acquire -n --ttl 60 "new$n"
    [ "$code" != 0 ] && [[ $err = *53100* ]]
}
# Pages that are there are used up first.
capture pg -c "SELECT count(holdfast.acquire(convert_to('fill' || i, 'UTF8'), 'psql', 60000))
    FROM generate_series(1, 5000) AS i"
like "$err" 'No space left on device' 'no table can grow'
ok 'an acquisition fails' wait_until 120 fails
is "$code" 69 'as unavailable'
like "$err" '^holdfast: new[0-9]+: [^'$'\n'']*No space left on device[^'$'\n'']*\(53100\)[^'$'\n'']*$' \
    'which it says in one line'
says 69 '' 'holdfast: value: [^'$'\n'']*No space left on device.*' 'a value that does not fit' \
    holdfast put value - <"$W/big"
says 0 before '' 'the value of before is there' holdfast get value

until_ms() {
    pg -c "SELECT until FROM holdfast.lock WHERE name = 'lock:held'"
}
first=$(until_ms)
is_renewed() {
    [ "$(until_ms)" -ge $((first + 6000)) ]
}
ok 'the lock that is held is renewed in its page' wait_until 60 is_renewed
capture timeout 60 holdfast run -n held -- echo ran
is "$code:$out" 75: 'and excludes others'
touch "$W/held.end"
wait $held
is $? 0 'its holder runs to its end'
capture timeout 60 holdfast run -n held -- echo ran
is "$code:$out" 0:ran 'a name that has a row is acquired and released'

rm "$W/disk/fill"
capture timeout 60 holdfast run -n "new$n" -- echo ran
is "$code:$out" 0:ran 'with space again, new names are'
says 0 '[0-9]+' '' 'and values written' holdfast put value - <"$W/big"
finish
