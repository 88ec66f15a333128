#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# etcd over TLS: commands, waiters, client certificates, and the line for each
# certificate that is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/etcd.sh"

have_etcd || skip_all 'no etcd'
[ -e "$HF_BUILD/holdfast-tls.so" ] || skip_all 'built without TLS'

tls=$W/tls
with="node_timeout=3s&connect_timeout=5s"
trust="$with&tls_ca=$tls/ca.crt"
keys() { etcd_ctl get --prefix '' --keys-only | grep -v '^$'; }
is_empty() { [ -z "$(keys)" ]; }

says() { # CODE LINE WHAT URL
    capture timeout 60 holdfast run -n -u "$4" job -- echo ran
    is "$code" "$1" "$3: exit $1"
    is "$out$(sed -E 's/ [0-9]+ (ms|s)\>/ N \1/g' <<<"$err")" \
        "holdfast: ${5:-job: 127.0.0.1:${ETCD_PORT[e1]}} $2" "$3: one line"
}

# ---- Commands ------------------------------------------------------------------

ok 'etcd starts with TLS' etcd_start --tls
server=127.0.0.1:${ETCD_PORT[e1]}
export HOLDFAST_URL="$ETCD_URL?$trust"
gives 0 'a command' run -n nightly -- true
gives 0 '... by the name of the host' \
    run -n -u "etcds://localhost:${ETCD_PORT[e1]}?$trust" nightly -- true
capture timeout 60 holdfast doctor
is "$code" 0 'doctor: fit'
like "$out" 'etcd 3\.[0-9.]+, cluster [0-9a-f]+, by .* endpoint, over TLS' \
    'doctor says how it is connected'
begin holder nightly
ok 'a holder' wait_until 20 holds holder
gives 75 'a try while it is held' run -n nightly -- true
begin waiter -w 60 nightly
waits() { [ "$(keys | grep -c '^lock:nightly/')" = 2 ]; }
ok 'a waiter' wait_until 20 waits
released=$(now_ms)
end holder
ok 'its watch is over TLS too' wait_until 20 holds waiter
took=$(($(now_ms) - released))
ok "... before its heartbeat ($took ms)" [ "$took" -lt 5000 ]
end waiter
ok 'nothing is left' wait_until 20 is_empty

# ---- The server comes back with a certificate of another authority -------------

cp "$tls/ca.crt" "$W/authority"
tls_issue changed 2 '' other
mkdir "$W/first"
cp -p "$tls"/server.{crt,key} "$W/first"
begin holder -t 30s -u "$ETCD_URL?$with&tls_ca=$W/authority" nightly
ok 'a holder' wait_until 20 holds holder
etcd_stop e1
cp -p "$tls/changed.crt" "$tls/server.crt"
cp -p "$tls/changed.key" "$tls/server.key"
cp "$tls/other.crt" "$W/next" && mv "$W/next" "$W/authority"
ETCD_CTL=(--cacert "$tls/other.crt")
ok 'etcd starts with it' etcd_restart e1
before=$(grep -c '"renewed"' "$W/events.holder")
is_renewed() { [ "$(grep -c '"renewed"' "$W/events.holder")" -gt "$before" ]; }
ok 'the holder reads the authority again' wait_until 25 is_renewed
end holder
ok '... and releases the lock' wait_until 20 is_empty
ETCD_CTL=()
etcd_stop e1
cp -p "$W/first"/server.{crt,key} "$tls"
ok 'etcd has the first one again' etcd_restart e1

# ---- What is refused --------------------------------------------------------------

refused="TLS: the server's certificate is refused:"
says 69 "$refused unable to get local issuer certificate: name its authority with tls_ca" \
    'the system has no such authority' "$ETCD_URL?$with"
says 69 "$refused unable to get local issuer certificate: name its authority with tls_ca" \
    'another authority' "$ETCD_URL?$with&tls_ca=$tls/other.crt"
says 69 'the server closed the connection without an answer (a TLS port? use etcds://)' \
    'a TLS port behind etcd://' "etcd://$server?$with"
says 78 "TLS: tls_ca $W/none cannot be read" 'no such file' \
    "$ETCD_URL?tls_ca=$W/none" -u:
capture timeout 60 holdfast doctor -u "etcd://$server?$with"
like "$code:$out" "^2:unfit: $server: .*a TLS port\? use etcds://" 'doctor says so, too'

restarts() { # WHAT ARG...: e1 with other arguments
    etcd_stop e1
    rm -rf "$W/e1"
    ok "$1" etcd_start --tls -- "${@:2}"
    server=127.0.0.1:${ETCD_PORT[e1]}
}
tls_issue expired -1
tls_issue elsewhere 2 DNS:elsewhere
ETCD_CTL=(--insecure-skip-tls-verify)
restarts 'a server whose certificate has expired' \
    --cert-file "$tls/expired.crt" --key-file "$tls/expired.key"
says 69 "$refused certificate has expired: renew it at the server" \
    'an expired certificate' "$ETCD_URL?$trust"
restarts 'a server of another name' \
    --cert-file "$tls/elsewhere.crt" --key-file "$tls/elsewhere.key"
says 69 "$refused IP address mismatch: write a host that the certificate names" \
    'another address' "$ETCD_URL?$trust"
says 69 "$refused hostname mismatch: write a host that the certificate names" \
    'another name' "etcds://localhost:${ETCD_PORT[e1]}?$trust" \
    "job: localhost:${ETCD_PORT[e1]}"

# ---- Client certificates ------------------------------------------------------------

tls_issue client
tls_issue untrusted 2 DNS:untrusted other
ETCD_CTL=(--cert "$tls/client.crt" --key "$tls/client.key")
restarts 'a server that wants client certificates' --client-cert-auth \
    --trusted-ca-file "$tls/ca.crt"
export HOLDFAST_URL="$ETCD_URL?$trust&tls_cert=$tls/client.crt&tls_key=$tls/client.key"
gives 0 'a client certificate' run -n nightly -- true
begin holder nightly
ok 'a holder' wait_until 20 holds holder
begin waiter -w 60 nightly
ok 'a waiter' wait_until 20 waits
end holder
ok 'its watch has the certificate, too' wait_until 20 holds waiter
end waiter
ok 'nothing is left' wait_until 20 is_empty
capture timeout 60 holdfast run -n -u "$ETCD_URL?$trust" job -- echo ran
like "$code:$out$err" "^69:holdfast: job: $server .*name tls_cert and tls_key(: [a-z0-9 ]*certificate[a-z ]*)?\$" \
    'no client certificate'
capture timeout 60 holdfast run -n \
    -u "$ETCD_URL?$trust&tls_cert=$tls/untrusted.crt&tls_key=$tls/untrusted.key" \
    job -- echo ran
like "$code:$out$err" "^69:holdfast: job: $server TLS: the server refuses the certificate of tls_cert: " \
    'a client certificate of another authority'
says 78 'tls_cert and tls_key belong together: tls_key is missing' \
    'a certificate without its key' "$ETCD_URL?$trust&tls_cert=$tls/client.crt" -u:

# etcd's gateway does not pass the user of a certificate on.
etcd_ctl user add root:root >/dev/null
etcd_ctl user grant-role root root >/dev/null
ok 'authentication is enabled' etcd_ctl auth enable
ETCD_CTL+=(--user root:root)
named='its gateway refuses a client certificate with a CommonName where authentication'
says 77 "$named is enabled: use one without" 'a certificate with a name, no login' \
    "$HOLDFAST_URL"
says 77 "$named is enabled: use one without" 'a certificate with a name, and a login' \
    "${HOLDFAST_URL/\/\////root:root@}"
tls_issue nameless 2 '' ca /O=test
nameless="$ETCD_URL?$trust&tls_cert=$tls/nameless.crt&tls_key=$tls/nameless.key"
says 77 'wants a login: write etcd://USER:PASSWORD@HOST, or etcd://USER@HOST and HOLDFAST_PASSWORD_FILE=FILE' \
    'a certificate without a name, no login' "$nameless"
capture timeout 60 holdfast doctor -u "${nameless/\/\////root:root@}"
like "$code:$out" '^0:.*over TLS, as user root' 'a certificate without a name, and a login'
chmod 644 "$tls/client.key"
says 78 "tls_key $tls/client.key: all users may read or write it; chmod o= it" \
    'an exposed key' "$HOLDFAST_URL" -u:

# ---- A plain server -----------------------------------------------------------------

etcd_stop e1
rm -rf "$W/e1"
ETCD_CTL=()
ok 'etcd starts without TLS' etcd_start
server=127.0.0.1:${ETCD_PORT[e1]}
says 69 'the server closed the connection at the TLS handshake (a plain port? use etcd://)' \
    'a plain port behind etcds://' "etcds://$server?$trust"
capture timeout 60 holdfast doctor -u "etcd://$server?$with"
like "$code:$out" '^0:.*endpoint, without TLS' 'doctor: without TLS'
finish
