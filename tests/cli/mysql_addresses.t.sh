#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A host of MariaDB with two addresses, over TLS, with rows and with named locks:
# the first one is refused, never answers, or is a server with the certificate of
# another host. Each is checked against the host in the URL. One without a route is
# passed over.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
[ -e "$HF_BUILD/holdfast-tls.so" ] || skip_all 'built without TLS'
. "$(dirname "$0")/../lib/hosts.sh"
hosts_needed
hosts_write 127.0.0.1 127.0.0.3
mariadb_needed
tls_make
tls_issue two 2 DNS:two.test
tls_issue elsewhere 2 DNS:elsewhere.test

is "$(hosts_order)" '127.0.0.1 127.0.0.3 ' 'the order of the addresses'
ok 'a server at the second address' mariadb_restart_tcp two --bind-address=127.0.0.3
sql -e "CREATE USER app@127.0.0.1 IDENTIFIED BY 'secret';
    GRANT ALL ON holdfast.* TO app@127.0.0.1"
with="node_timeout=3s&connect_timeout=2s&tls_ca=$W/tls/ca.crt&quarantine=off"
rows="mysqls://app:secret@two.test:$MARIADB_PORT/?$with"

gets() { # WHAT [ARG...]
    local what=$1 kind url began
    shift
    for kind in rows named; do
        url=$rows
        [ $kind = rows ] || url="$rows&lock=named"
        began=$(now_ms)
        capture with_hosts timeout 60 holdfast run -u "$url" "$@" job -- echo ran
        diag "$what, $kind: $(($(now_ms) - began)) ms"
        is "$code:$out" 0:ran "$what: $kind: it gets the lock at the second one"
        is "$err" '' "$what: $kind: and prints nothing"
    done
}
is_open() { # ADDRESS
    (: <"/dev/tcp/$1/$MARIADB_PORT") 2>/dev/null
}

# A try may end before a slow machine has made the schema.
ok 'the schema is made' with_hosts holdfast run -u "$rows" -w 30 first -- true
gets 'the first address is refused' -n

# ---- One that never answers
"$HF_BUILD/tests/cli/mysql_tls" listens "$MARIADB_PORT" &
silent=$!
ok 'a listener at the first address' wait_until 20 is_open 127.0.0.1
gets 'the first address never answers' -w 30
kill $silent
wait $silent 2>/dev/null
"$HF_BUILD/tests/lib/blackhole" "$MARIADB_PORT" >"$W/deaf" &
deaf=$!
ok 'a port that drops' wait_until 20 grep -q deaf "$W/deaf"
gets 'the first address drops' -w 30
kill $deaf
wait $deaf 2>/dev/null

# ---- One with the certificate of another host
other_start() { # CERTIFICATE
    copy_of mariadb "$W/other" mariadb_make || return
    command install -m 644 "$W/tls/$1.crt" "$W/other/tls.crt"
    command install -m 600 "$W/tls/$1.key" "$W/other/tls.key"
    [ "$(id -u)" != 0 ] || chown mysql:mysql "$W/other/tls.key"
    (cd "$W/other" && mariadb_run "$(PATH=$PATH:/usr/sbin command -v mariadbd)" \
        --no-defaults --datadir="$W/other/data" --socket="$W/other/s" \
        --bind-address=127.0.0.1 --port="$MARIADB_PORT" --skip-name-resolve \
        --innodb-buffer-pool-size=16M --innodb-log-file-size=8M \
        --ssl-cert="$W/other/tls.crt" --ssl-key="$W/other/tls.key" \
        --general-log --general-log-file="$W/other/log") >"$W/other.log" 2>&1 &
    other=$!
    at_exit other_stop
    wait_until 20 is_open 127.0.0.1
}
other_stop() {
    [ -z "$other" ] || { kill "$other" && wait "$other"; } 2>/dev/null
    other=''
}
ok 'a server of another name at the first address' other_start elsewhere
gets 'the first address is of another host' -w 30
is "$(grep -c 'Connect' "$W/other/log")" 0 'it was sent no login'
ok 'the second address has that certificate, too' \
    mariadb_restart_tcp elsewhere --bind-address=127.0.0.3
for url in "$rows" "$rows&lock=named"; do
    capture with_hosts timeout 60 holdfast run -n -u "$url" job -- echo ran
    is "$code:$out" 69: 'then none is used'
    is "$err" "holdfast: job: two.test:$MARIADB_PORT TLS: the server's certificate is \
refused: it is of another host: write a host that the certificate names" 'and one line tells'
done
is "$(grep -c 'Connect' "$W/other/log")" 0 'no login was sent there'
other_stop

# ---- An address without a route is not counted: every other attempt would pass over
# the only one that can be tried, and report that of the other
hosts_write 127.0.0.3 255.255.255.255
is "$(hosts_order)" '127.0.0.3 255.255.255.255 ' 'one without a route is the last'
capture with_hosts timeout 60 "$HF_BUILD/tests/cli/mysql_tls" reasons "$rows"
is "$code" 0 'attempts for two seconds'
like "$out" 'it is of another host' 'the first address is tried'
is "$(grep -vc 'it is of another host' <<<"$out")" 0 'and each attempt is at that one'

capture holdfast run -n -u "mysqls://a.test,b.test/?$with" job -- true
is "$code" 64 'two servers in one URL are refused'
finish
