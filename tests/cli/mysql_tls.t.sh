#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# MariaDB over TLS, with rows and with named locks: commands, large replies,
# client certificates, servers that stop while they are connected to, and the
# line for each certificate and server that is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/values.sh"
[ -e "$HF_BUILD/holdfast-tls.so" ] || skip_all 'built without TLS'

gives_s=60
tls=$W/tls
with='node_timeout=3s&connect_timeout=10s'
trust="$with&tls_ca=$tls/ca.crt"

# A try that fails, by one line.
refused() { # CODE LINE WHAT URL [SUBJECT]
    capture timeout 60 holdfast run -n -u "$4" job -- echo ran
    is "$code" "$1" "$3: exit $1"
    is "$out$(sed -E 's/ [0-9]+ (ms|s)\>/ N \1/g' <<<"$err")" \
        "holdfast: ${5:-job: $server} $2" "$3: one line"
}
sql_is() { # CONDITION
    [ "$(sql -e "SELECT $1" 2>/dev/null)" = 1 ]
}

mariadb_needed
tls_make
ok 'the server has TLS' mariadb_restart_tcp server
server=127.0.0.1:$MARIADB_PORT
for user in "maker IDENTIFIED BY 'secret'" "app IDENTIFIED BY 'secret'" \
    "other IDENTIFIED BY 'secret' REQUIRE X509"; do
    sql -e "CREATE USER ${user/ /@127.0.0.1 }"
done
sql -e 'GRANT ALL ON holdfast.* TO maker@127.0.0.1'

# ---- Rows --------------------------------------------------------------------

export HOLDFAST_URL="mysqls://app:secret@$server/?$trust"
gives 0 'the schema is made over TLS' \
    doctor --init -u "mysqls://maker:secret@$server/?$trust"
sql -e 'GRANT EXECUTE ON holdfast.* TO app@127.0.0.1, other@127.0.0.1'
gives 0 'a command' run -n nightly -- true
gives 0 '... by the name of the host' \
    run -n -u "mariadbs://app:secret@localhost:$MARIADB_PORT/?$trust" nightly -- true
capture timeout 60 holdfast doctor
like "$out" "MariaDB 1[^,]*, over TLS, account 'app'@'127.0.0.1'" \
    'doctor says how it is connected'
no_session() { # the server ends it after the client
    sql_is "NOT EXISTS (SELECT 1 FROM information_schema.processlist WHERE user = 'app')"
}
ok 'no session is left' wait_until 20 no_session
begin holder nightly
ok 'a holder' wait_until 20 holds holder
gives 75 'a try while it is held' run -n nightly -- true
begin waiter -w 60 nightly
waits() {
    sql_is "EXISTS (SELECT 1 FROM holdfast.waiter WHERE name = 'lock:nightly')"
}
ok 'a waiter' wait_until 20 waits
end holder
ok '... has it then' wait_until 20 holds waiter
end waiter
token=$(holdfast acquire --ttl 60 job | cut -d ' ' -f 1)
gives 0 'release' release job --owner "$token"
test_values
sql -e "INSERT INTO holdfast.lock (name, owner, until)
    SELECT CONCAT('lock:many', seq), 'by hand', holdfast.clock() DIV 1000 + 60000
    FROM app.seq_1_to_2500"
capture timeout 60 holdfast ls 'many*'
is "$(grep -c '^many' <<<"$out")" 2500 'ls reads every page'

# A server that is killed: OpenSSL's write to its socket raises SIGPIPE.
holds_on() { # URL
    : >"$W/on"
    HOLDFAST_URL='' timeout 60 "$HF_BUILD/tests/cli/mysql_tls" holds "$1" \
        >"$W/on" 2>&1 &
    on=$!
    wait_until 20 grep -q held "$W/on"
}
loses() { # WHAT
    "${@:2}"
    kill -KILL "$MARIADB_PID"
    wait "$MARIADB_PID" 2>/dev/null
    ok "$1" wait_until 20 grep -q lost "$W/on"
    mariadb_restart_tcp server
    wait "$on"
    is "$?:$(tail -n 1 "$W/on")" 0:again '... and has the lock of its successor'
}
stands_still() {
    kill -STOP "$MARIADB_PID"
    wait_until 20 grep -q lost "$W/on"
}
ok 'a program holds a lock' holds_on "$HOLDFAST_URL&quarantine=off"
loses 'it outlives its server'
ok 'a program holds a lock' holds_on "$HOLDFAST_URL&quarantine=off"
loses 'it outlives a server that owes a reply' stands_still

# A session that is killed while a statement is under way: OpenSSL notes an error
# for the thread, which must not be taken for one of its next connection.
ok 'a program holds a lock' holds_on "$HOLDFAST_URL&quarantine=off"
session_open locker
session_do locker "START TRANSACTION; SELECT * FROM holdfast.lock
    WHERE name = 'lock:kept' FOR UPDATE"
waits_for_row() { # as session_is_blocked
    blocked=$(sql -e "DO SLEEP(0.15);
        SELECT trx_mysql_thread_id FROM information_schema.innodb_trx
        WHERE trx_state = 'LOCK WAIT'")
    [ -n "$blocked" ]
}
ok 'its renewal waits for a row' wait_until 20 waits_for_row
sql -e "KILL CONNECTION $blocked"
ok 'its session ends' wait_until 20 grep -q lost "$W/on"
session_do locker ROLLBACK
wait "$on"
is "$?:$(tail -n 1 "$W/on")" 0:again 'it connects again, and has the lock'

# ---- Named locks ---------------------------------------------------------------

named="mysqls://app:secret@$server/?$trust&lock=named"
gives 0 'named: a command' run -n -u "$named" nightly -- true
capture timeout 60 holdfast doctor -u "$named"
like "$out" 'MariaDB 1[^,]*, over TLS, account' 'named: doctor'
begin holder -u "$named&key=nightly" nightly
ok 'named: a holder' wait_until 20 holds holder
ok 'named: a session of the server has it' sql_is "IS_USED_LOCK('nightly') IS NOT NULL"
gives 75 'named: a try while it is held' run -n -u "$named&key=nightly" nightly -- true
begin waiter -u "$named&key=nightly" -w 60 nightly
end holder
ok 'named: a waiter' wait_until 20 holds waiter
end waiter
is_free() { sql_is "IS_FREE_LOCK('nightly')"; }
ok 'named: it is free' wait_until 20 is_free
ok 'named: a program holds a lock' holds_on "$named"
loses 'named: it outlives its server'
ok 'named: a program holds a lock' holds_on "$named"
loses 'named: it outlives a server that owes a reply' stands_still

# ---- Servers that stop -------------------------------------------------------------

# A call that blocks does so in each try; a machine that stands still, in one of them.
stalls() { # KIND REASON
    local state call close child threads reason try
    for try in 1 2 3; do
        capture timeout 60 "$HF_BUILD/tests/cli/mysql_tls" "$1" "local://$W/kept"
        state='' call=9999 child=9999 close=9999 threads=9 reason=''
        read -r state call child close threads reason <<<"$out"
        diag "$1, try $try: exit $code: $out"
        [ "$state" != kept ] || [ "$call" -ge 700 ] || [ "$close" -ge 700 ] ||
            [ "$child" -ge 700 ] || break
    done
    is "$code" 0 "$1: exit 0"
    is "$state" kept "$1: the lock of another store is renewed meanwhile"
    ok "$1: no call blocks ($call ms)" [ "$call" -lt 700 ]
    ok "$1: the close does not ($close ms)" [ "$close" -lt 700 ]
    ok "$1: nor in a forked child ($child ms)" [ "$child" -lt 700 -a "$child" -ge 0 ]
    is "$threads" 0 "$1: the thread has ended"
    like "$reason" "$2" "$1: the reason"
}
mkdir -m 700 "$W/kept"
stalls silent 'accepted the connection, but did not answer within 1000 ms'
stalls greets 'no answer to the TLS handshake within 1500 ms'
kill -STOP "$MARIADB_PID"
began=$(now_ms)
refused 69 'accepted the connection, but did not answer within N ms' \
    'a server that stands still' "${HOLDFAST_URL/=10s/=1s}"
took=$(($(now_ms) - began))
ok "... by its deadline ($took ms)" [ "$took" -lt 10000 ]
kill -CONT "$MARIADB_PID"

# ---- What is refused ------------------------------------------------------------

refused 64 'a unix socket has no TLS: write mysql://, or the host and port of the server' \
    'a unix socket' "mysqls://app@/?socket=$W/maria/s" -u:
refused 64 'a unix socket has no TLS: write mysql://, or the host and port of the server' \
    '... beside a host' "mysqls://app@h/?socket=$W/maria/s" -u:
refused 64 'unknown URL parameter "tls": for TLS write mysqls://' 'tls=' \
    'mysql://h/?tls=1' -u:
refused 78 'tls_ca is given, but no server of this URL is reached over TLS: write mysqls://' \
    'tls_ca without TLS' 'mysql://h/?tls_ca=/ca.crt' -u:
refused 78 'tls_ca is given, but no server of this URL is reached over TLS: write mariadbs://' \
    '... of mariadb:' 'mariadb://h/?tls_ca=/ca.crt' -u:
refused 78 "TLS: tls_ca $W/none cannot be read" 'no such file' \
    "mysqls://h/?tls_ca=$W/none" -u:
refused 69 'cannot find the host: Name or service not known' 'no such host' \
    "mysqls://app@nowhere.invalid/?$trust" 'job: nowhere.invalid:3306'

# The password is wrong, too: a login would say so, and the log would show it.
wrong="mysqls://app:wrong@$server/?"
certificate="TLS: the server's certificate is refused:"
authority="$certificate self-signed certificate in certificate chain: name its authority with tls_ca"
sql -e "SET GLOBAL general_log_file = '$W/maria/log'; SET GLOBAL general_log = 1"
is_idle() { # no connection is left but the one that asks
    [ "$(sql -e 'SELECT COUNT(*) FROM information_schema.processlist')" = 1 ]
}
logins() { # from the log of the server, which ends a connection after its login
    wait_until 20 is_idle || echo 'not idle'
    grep -cE 'Connect	app@' "$W/maria/log"
}
denied="Access denied for user 'app'@'127.0.0.1' (using password: YES)"
refused 77 "$denied" 'a wrong password' "$wrong$trust"
is "$(logins)" 1 'the log of the server shows the login'
refused 69 "$authority" 'the system has no such authority' "$wrong$with"
refused 69 "$authority" 'another authority' "$wrong$with&tls_ca=$tls/other.crt"
mkdir "$tls/folder"
cp "$tls/ca.crt" "$tls/folder/$(openssl x509 -hash -noout -in "$tls/ca.crt").0"
SSL_CERT_FILE=$tls/ca.crt refused 77 "$denied" "the system's authorities, in a file" \
    "$wrong$with"
SSL_CERT_DIR=$tls/folder refused 77 "$denied" '... in a folder' "$wrong$with"
is "$(logins)" 3 'only these two were sent a login'
tls_issue expired -1
tls_issue elsewhere 2 DNS:elsewhere
log=(--general-log --general-log-file="$W/maria/log")
ok 'a server whose certificate has expired' mariadb_restart_tcp expired "${log[@]}"
refused 69 "$certificate certificate has expired: renew it at the server" \
    'an expired certificate' "$wrong$trust"
ok 'a server of another name' mariadb_restart_tcp elsewhere "${log[@]}"
other="$certificate it is of another host: write a host that the certificate names"
refused 69 "$other" 'another address' "$wrong$trust"
refused 69 "$other" 'another name' "${wrong/127.0.0.1/localhost}$trust" \
    "job: localhost:$MARIADB_PORT"
refused 69 "$other" 'named: another address' "$wrong$trust&lock=named"

# An option file may have the login, and must not switch the checks off.
printf '[client]\npassword=secret\n' >"$W/good.cnf"
for line in ssl-verify-server-cert=0 ssl-ca=/etc/ssl/certs/ca-certificates.crt \
    tls-version=TLSv1.1 ssl-fp=00; do
    printf '[client]\npassword=wrong\n%s\n' "$line" >"$W/bad.cnf"
    refused 78 'the option file has settings of TLS: leave them out, and name tls_ca, tls_cert and tls_key in the URL' \
        "an option file with $line" "mysqls://app@$server/?$trust&defaults_file=$W/bad.cnf"
done
is "$(logins)" 3 'none of these was sent the password'
ok 'the right server' mariadb_restart_tcp server
gives 0 'an option file with the password' \
    run -n -u "mysqls://app@$server/?$trust&quarantine=off&defaults_file=$W/good.cnf" job -- true
printf '[client]\nssl-enforce=1\n' >"$W/bad.cnf"
refused 78 'the option file asks for TLS: write mysqls://, and leave that out' \
    'an option file that asks for TLS' "mysql://app@$server/?defaults_file=$W/bad.cnf"

# ---- Client certificates, and servers that demand TLS ---------------------------------

tls_issue client
tls_issue untrusted 2 DNS:untrusted other
other="mysqls://other:secret@$server/?$trust&quarantine=off"
denied="Access denied for user 'other'@'127.0.0.1' (using password: YES)"
gives 0 'a client certificate' \
    run -n -u "$other&tls_cert=$tls/client.crt&tls_key=$tls/client.key" job -- true
gives 0 'named: a client certificate' \
    run -n -u "$other&lock=named&tls_cert=$tls/client.crt&tls_key=$tls/client.key" job -- true
refused 77 "$denied" 'no client certificate' "$other"
refused 69 'the server closed the connection at the login; does it trust the certificate of tls_cert?' \
    'a client certificate of another authority' \
    "$other&tls_cert=$tls/untrusted.crt&tls_key=$tls/untrusted.key"
chmod 644 "$tls/client.key"
refused 78 "tls_key $tls/client.key: all users may read or write it; chmod o= it" \
    'an exposed key' "$other&tls_cert=$tls/client.crt&tls_key=$tls/client.key" -u:
plain="mysql://app:secret@$server/?$with&quarantine=off"
gives 0 'no TLS, where the server does not demand it' run -n -u "$plain" job -- true
capture timeout 60 holdfast doctor -u "$plain"
like "$out" 'MariaDB 1[^,]*, without TLS, account' 'doctor says so'
wants='if the server or this account demands TLS, write mysqls://'
refused 77 "$denied; $wants" 'an account that demands TLS' "${plain/app/other}"
sql -e 'SET GLOBAL require_secure_transport = 1'
refused 77 "Access denied for user 'app'@'127.0.0.1' (using password: YES); $wants" \
    'a server that demands TLS' "$plain"
gives 0 '... is given it' run -n -u "$HOLDFAST_URL&quarantine=off" job -- true
ok 'a server without TLS' mariadb_restart_tcp ''
refused 69 'offers no TLS: give it a certificate, or write mysql:// if the network is your own' \
    'TLS, where the server has none' "$wrong$trust"
finish
