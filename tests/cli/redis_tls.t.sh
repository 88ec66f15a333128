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
finish
