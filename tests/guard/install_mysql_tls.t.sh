#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard mysql --install over TLS: the server's certificate and name are
# checked before the login, and what is refused leaves nothing behind.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
# timeout: 300
mariadb_needed
tls=$W/tls
log=(--general-log --general-log-file="$W/maria/log")
tls_make
tls_issue elsewhere 2 DNS:elsewhere
tls_issue expired -1
tls_issue client
ok 'the server has TLS' mariadb_restart_tcp server "${log[@]}"
server=127.0.0.1:$MARIADB_PORT
trust="tls_ca=$tls/ca.crt"
sql -e "CREATE USER app@127.0.0.1 IDENTIFIED BY 's3cr@t';
    CREATE USER other@127.0.0.1 IDENTIFIED BY 's3cr@t' REQUIRE X509;
    GRANT ALL ON holdfast.* TO app@127.0.0.1, other@127.0.0.1;
    GRANT ALL ON app.* TO app@127.0.0.1;
    CREATE TABLE accounts (id INT PRIMARY KEY, balance INT, fence BIGINT)"
app="app:s3cr%40t@$server"

try() { # [ARG...]
    capture timeout 60 holdfast guard mysql --install "$@"
}
installs() { # TITLE REGEX [ARG...]
    local title=$1 regex=$2
    shift 2
    try "$@"
    is "$code:$out" 0: "$title"
    like "$err" "^holdfast: guard: MySQL: guard version 2 $regex" "$title: one line"
}
has_guard() {
    sql -e "SELECT COUNT(*) FROM information_schema.routines
        WHERE routine_schema = 'holdfast'"
}
is_idle() { # no connection is left but the one that asks
    [ "$(sql -e 'SELECT COUNT(*) FROM information_schema.processlist')" = 1 ]
}
logins() { # from the log of the server, which ends a connection after its login
    wait_until 20 is_idle || echo 'not idle'
    grep -cE 'Connect	(app|other)@' "$W/maria/log"
}
says() { # CODE REGEX TITLE [ARG...]
    local want=$1 regex=$2 title=$3
    shift 3
    try "$@"
    is "$code:$out" "$want:" "$title: exit $want"
    like "$err" "^holdfast: guard: $regex\$" "$title: says it"
    is "$(wc -l <<<"$err")" 1 "$title: in one line"
}
refused() { # CODE REGEX TITLE [ARG...]
    says "$@"
    is "$(has_guard)" 0 "$3: nothing is installed"
}

# ---- What is refused: none is sent the login
mysql='MySQL: ERROR 2026 .*'
authority="${mysql}certificate.*; name its authority with tls_ca"
refused 69 "$authority" 'the system has no such authority' "mysqls://$app"
refused 69 "$authority" 'another authority' "mysqls://$app/?tls_ca=$tls/other.crt"
ok 'a server of another name' mariadb_restart_tcp elsewhere "${log[@]}"
other="${mysql}; the certificate is of another host: write a host that it names"
refused 69 "$other" 'another address' "mysqls://$app/app?$trust"
refused 69 "$other" 'another name' \
    "mariadbs://app:s3cr%40t@localhost:$MARIADB_PORT/app?$trust"
ok 'a server whose certificate has expired' mariadb_restart_tcp expired "${log[@]}"
refused 69 "${mysql}expired" 'an expired certificate' "mysqls://$app/?$trust"
ok 'a server without TLS' mariadb_restart_tcp '' "${log[@]}"
refused 69 "${mysql}does not support it; give the server a certificate, or write \
mysql:// if the network is your own" 'no TLS' "mysqls://$app/?$trust"
is "$(logins)" 0 'none of these was sent the login'
ok 'the right server' mariadb_restart_tcp server "${log[@]}"
refused 77 'MySQL: ERROR 1045 .*' 'a wrong password' "mysqls://app:wrong@$server/?$trust"
isnt "$(logins)" 0 'the log of the server shows the login'
refused 77 'MySQL: ERROR 1045 .*' 'no client certificate' \
    "mysqls://other:s3cr%40t@$server/?$trust"

# ---- Addresses
names='its parameters may be tls_ca, tls_cert and tls_key'
refused 64 "--install mysqls://app:\\*+@h/\\?ssl-ca=x: $names" 'a parameter of mysql://' \
    'mysqls://app:secret@h/?ssl-ca=x'
refused 64 "--install mysqls://h/\\?tls_ca=: $names" 'an empty one' 'mysqls://h/?tls_ca='
refused 64 '--install mysql://h/\?tls_ca=x: its parameters may be socket, .*; those of '\
'mysqls:// tls_ca, tls_cert and tls_key' 'one of mysqls://' 'mysql://h/?tls_ca=x'
refused 64 '--install mysqls:///app: a unix socket has no TLS: .*' 'a unix socket' \
    mysqls:///app
refused 78 "--install: tls_ca $W/none: No such file or directory" 'no such file' \
    "mysqls://$app/?tls_ca=$W/none"
chmod 644 "$tls/client.key"
certificate="tls_cert=$tls/client.crt&tls_key=$tls/client.key"
refused 78 "--install: tls_key $tls/client.key: all users may read or write it; chmod o= it" \
    'an exposed key' "mysqls://$app/?$trust&$certificate"
chmod 600 "$tls/client.key"

# ---- What is installed
installs 'the right certificate' 'is installed: CALL holdfast.fence' "mysqls://$app/app?$trust"
sql -e "START TRANSACTION; CALL holdfast.fence('a', 42); COMMIT"
capture sql -e "START TRANSACTION; CALL holdfast.fence('a', 41); COMMIT"
like "$err" "fence 41 of 'a' is stale: 42 was presented" 'it guards'
installs 'a table' '.*the triggers of accounts are installed' "mysqls://$app/app?$trust" \
    --table accounts --lock 'account-{id}'
installs 'by the name of the host' 'was installed already' \
    "mariadbs://app:s3cr%40t@localhost:$MARIADB_PORT/?$trust"
SSL_CERT_FILE=$tls/ca.crt installs 'an authority of the system' 'was installed already' \
    "mysqls://$app/"
openssl rehash "$tls"
SSL_CERT_FILE=$W/none SSL_CERT_DIR=$tls installs 'one in a folder' \
    'was installed already' "mysqls://$app/"
SSL_CERT_FILE=$W/none SSL_CERT_DIR=$W/none says 69 "$authority" 'without any' \
    "mysqls://$app/"
installs 'a client certificate' 'was installed already' \
    "mysqls://other:s3cr%40t@$server/?$trust&$certificate"
is "$(sql -e "SHOW STATUS LIKE 'Ssl_finished_accepts'" | cut -f 2 | grep -c '^[1-9]')" 1 \
    'the server counts handshakes of TLS'
printf '[client]\nskip-ssl\nssl-verify-server-cert=0\nport=1\n' >"$W/.my.cnf"
HOME=$W installs 'an option file does not switch it off' 'was installed already' \
    "mysqls://$app/?$trust"
sql -e 'DROP DATABASE holdfast'
HOME=$W refused 69 "$authority" '... nor the check' "mysqls://$app/?tls_ca=$tls/other.crt"
finish
