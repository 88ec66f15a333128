#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# Three servers of Redis over TLS in one URL: the certificate of each is checked
# against its own host, and one that is refused, stopped or of another host is one
# vote less.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
[ -e "$HF_BUILD/holdfast-tls.so" ] || skip_all 'built without TLS'
tls=$W/tls
tls_make
tls_issue number 2 IP:127.0.0.1
tls_issue name 2 DNS:localhost
with() { # NAME CERTIFICATE: a server
    server_start "$1" --tls -- --tls-cert-file "$tls/$2.crt" --tls-key-file "$tls/$2.key"
}
query="quarantine=off&node_timeout=2s&connect_timeout=2s&tls_ca=$tls/ca.crt"
at() { # HOST...: the URL of a, b and c
    printf 'rediss://%s:%s,%s:%s,%s:%s/?%s' "$1" "${SERVER_PORT[a]}" \
        "$2" "${SERVER_PORT[b]}" "$3" "${SERVER_PORT[c]}" "$query"
}
runs() { # WHAT URL
    capture timeout 60 holdfast run -n -u "$2" job -- echo ran
    is "$code:$out:$err" 0:ran: "$1"
}
with a number && with b name && with c server || fail 'the servers start'

# ---- Each against its own host
url=$(at 127.0.0.1 localhost 127.0.0.1)
runs 'each of its own host' "$url"
capture timeout 60 holdfast doctor -u "$url"
like "$out" ': 3 of 3 servers count' 'doctor says so'
holds_all() { # 1 or 0 for each server: it has the lock
    local n
    for n in a b c; do server_cli $n --tls --cacert "$tls/ca.crt" EXISTS lock:job; done
}
token=$(holdfast acquire -u "$url" --ttl 60 job)
is "$(holds_all | tr -d '\n')" 111 'all three have the lock'
holdfast release -u "$url" job --owner "${token%% *}"
other='TLS: the server.s certificate is refused: '
runs 'one of another host is one vote less' "$(at 127.0.0.1 127.0.0.1 127.0.0.1)"
capture timeout 60 holdfast doctor -u "$(at 127.0.0.1 127.0.0.1 127.0.0.1)"
like "$out$err" "127.0.0.1:${SERVER_PORT[b]}: cannot be examined: $other" 'doctor names it'
is "$(grep -c 'certificate is refused' <<<"$out$err")" 1 '... alone'
capture timeout 60 holdfast run -n -u "$(at localhost 127.0.0.1 127.0.0.1)" job -- echo ran
is "$code:$out" 69: 'two of another host: the third alone is no majority'
like "$err" "$other" '... and it says why'
is "$(wc -l <<<"$err")" 1 '... in one line'
is "$(holds_all | tr -d '\n')" 000 'and none has a lock left'
capture timeout 60 holdfast run -n -u "${url/ca.crt/other.crt}" job -- echo ran
is "$code:$out" 69: 'another authority'
like "$err" "$other.*tls_ca" '... and it says why'

# ---- A server that does not answer, the first one of the URL
server_pause a
runs 'the first one never answers' "$url"
server_kill a
runs 'the first one is refused' "$url"

# ---- Files that are replaced while a command leads and another one waits
# As a container platform mounts them: links through a folder that is a link.
mounted=$W/mounted
mount_set() { # SET
    ln -sfn "$1" "$mounted/..next" && mv -T "$mounted/..next" "$mounted/..data"
}
mkdir -p "$mounted/old" "$mounted/half" "$mounted/new"
tls_issue client
tls_issue client2 2 '' other
tls_issue server2 2 '' other
for set in old half new; do
    cp "$tls/ca.crt" "$mounted/$set/ca.crt"
    cp -p "$tls/client.crt" "$mounted/$set/tls.crt"
    cp -p "$tls/client.key" "$mounted/$set/tls.key"
done
cp -p "$tls/client2.crt" "$mounted/half/tls.crt"
cp -p "$tls/client2.crt" "$mounted/new/tls.crt"
cp -p "$tls/client2.key" "$mounted/new/tls.key"
cp "$tls/other.crt" "$mounted/new/ca.crt"
mount_set old
for file in ca.crt tls.crt tls.key; do ln -s "..data/$file" "$mounted/$file"; done

server_start rotated --tls || fail 'the server starts'
admin() { # AUTHORITY CLIENT ARG...
    server_cli rotated --tls --cacert "$tls/$1.crt" --cert "$tls/$2.crt" \
        --key "$tls/$2.key" "${@:3}"
}
is "$(admin ca client CONFIG SET tls-auth-clients yes)" OK 'the server wants certificates'
common="quarantine=off&node_timeout=2s&connect_timeout=2s"
mine="tls_cert=$mounted/tls.crt&tls_key=$mounted/tls.key"
url="${SERVER_URL[rotated]}/?$common&$mine"
holdfast run --again -t 6s -u "$url&tls_ca=$mounted/ca.crt" --status-fd 9 \
    lead -- sleep 300 9>"$W/leader.events" 2>"$W/leader.err" &
leader=$!
waiter=''
ends_both() { kill "$leader" $waiter 2>/dev/null; }
at_exit ends_both
renewals() { grep -c '"renewed"' "$W/leader.events"; }
renewed_since() { [ "$(renewals)" -gt "$1" ]; } # COUNT
said() { grep -q "\"$2\"" "$W/$1.events"; } # COMMAND EVENT
cut_all() { # AUTHORITY CLIENT
    admin "$1" "$2" CLIENT KILL TYPE normal >"$W/killed"
    admin "$1" "$2" CLIENT KILL TYPE pubsub >>"$W/killed"
}
keeps() { # WHAT: a reply that was on its way may be the first
    ok "$1" wait_until 20 renewed_since $(($(renewals) + 1))
}
ok 'one leads' wait_until 20 renewed_since 0
# The system's authorities are files, too.
SSL_CERT_FILE=$mounted/ca.crt holdfast run -w 100 -t 6s -u "$url" --status-fd 9 \
    lead -- echo next 9>"$W/waiter.events" >"$W/waiter.out" 2>"$W/waiter.err" &
waiter=$!
ok '... and another one waits' wait_until 20 said waiter ahead
mount_set half
cut_all ca client
keeps 'a certificate without its key: the old pair is used'
mount_set new
is "$(admin ca client CONFIG SET tls-cert-file "$tls/server2.crt" \
    tls-key-file "$tls/server2.key" tls-ca-cert-file "$tls/other.crt")" OK \
    'the server has another authority and trusts another one'
cut_all other client2
keeps 'authority, certificate and key are read again'
is "$(grep -c '"lost"' "$W/leader.events"):$(cat "$W/leader.err")" 0: \
    '... and the leader lost nothing'
kill "$leader"
wait "$leader"
is $? 143 'the leader ends'
wait "$waiter"
is "$?:$(cat "$W/waiter.out" "$W/waiter.err")" 0:next 'the waiter follows'
finish
