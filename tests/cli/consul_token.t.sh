#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# Consul over TLS, with rules of access: where the token comes from, what it may
# do, and the line for each that is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
[ -e "$HF_BUILD/holdfast-tls.so" ] || skip_all 'built without TLS'

CONSUL_TOKEN=4f6e6c79-2d66-6f72-2d61-2d74657374aa
ok 'Consul starts with TLS and rules' consul_start --tls -- -hcl "acl {
    enabled = true default_policy = \"deny\"
    tokens { master = \"$CONSUL_TOKEN\" agent = \"$CONSUL_TOKEN\" } }"
token() { # NAME RULES: prints a token that has them
    consul_api PUT acl/policy "$(jq -n --arg name "$1" --arg rules "$2" \
        '{Name: $name, Rules: $rules}')" >/dev/null &&
        consul_api PUT acl/token "$(jq -n --arg name "$1" \
            '{Policies: [{Name: $name}]}')" | jq -r .SecretID
}
sessions='session_prefix "" { policy = "write" }'
locks=$(token locks "key_prefix \"lock:\" { policy = \"write\" } $sessions")
reads=$(token reads "key_prefix \"lock:\" { policy = \"read\" } $sessions")
like "$locks $reads" '^[0-9a-f-]{36} [0-9a-f-]{36}$' 'two tokens'

server=127.0.0.1:${CONSUL_PORT[c1]}
query="?node_timeout=3s&connect_timeout=5s&tls_ca=$W/tls/ca.crt"
export HOLDFAST_URL="consuls://$server$query"
is_empty() { [ -z "$(consul_keys)" ]; }
refused() { # CODE PATTERN WHAT [VARIABLE...]
    capture timeout 60 env "${@:4}" holdfast run -n job -- echo ran
    is "$code" "$1" "$3: exit $1"
    like "$err" "$2" '... with the reason'
    unlike "$err$out" "$locks|$reads|^ran|"$'\n' '... in one line, without the token'
}

# ---- The token -----------------------------------------------------------------

refused 77 'denied|token' 'no token'
refused 77 'denied|token|ACL' 'a token that is none' \
    CONSUL_HTTP_TOKEN=00000000-2d66-6f72-2d61-2d7465737400
refused 77 'denied|token' 'a token that may not write' "CONSUL_HTTP_TOKEN=$reads"
capture timeout 60 env "CONSUL_HTTP_TOKEN=$reads" holdfast doctor
isnt "$code" 0 'doctor: not fit'
like "$out$err" 'denied|right|token' '... for want of a right'
unlike "$out$err" "$reads" '... without the token'
keys=$(token keys 'key_prefix "lock:" { policy = "write" }')
refused 77 'denied|token' 'a token without sessions' "CONSUL_HTTP_TOKEN=$keys"
capture timeout 60 env "CONSUL_HTTP_TOKEN=$keys" holdfast doctor
is "$code" 2 'doctor: not fit'
like "$out" 'unfit: .*: no session can be created, with this token' \
    '... for want of that right'
rule='session_prefix "" { policy = "write" }'
is "$(grep -oF "$rule" <<<"$out")" "$rule" '... which it names'
is "$(consul_api GET session/list)" '[]' '... and has created none to see it'
works() { # WHAT VARIABLE...
    capture timeout 60 env "${@:2}" holdfast run -n job -- echo ran
    is "$code $out" '0 ran' "the token of $1"
}
echo "$locks" >"$W/token"
chmod 600 "$W/token"

# Values lie apart from the prefix.
values=$(token values 'key_prefix "~value/lock:" { policy = "write" }')
capture env CONSUL_HTTP_TOKEN="$locks" holdfast get cfg
is "$code" 77 'a token for locks reads no values'
like "$err" 'for values key_prefix "~value/lock:"' '... and is told the rule'
capture env CONSUL_HTTP_TOKEN="$locks" holdfast put cfg x
is "$code" 77 '... nor writes any'
like "$err" 'for values key_prefix "~value/lock:"' '... by that rule'
capture env CONSUL_HTTP_TOKEN="$values" holdfast put -q cfg x
is "$code$err" 0 'one for values does'
is "$(CONSUL_HTTP_TOKEN=$values holdfast get cfg)" x '... and needs no session'
capture env CONSUL_HTTP_TOKEN="$values" holdfast put -q --delete cfg
is "$code$err" 0 '... and is deleted'
works CONSUL_HTTP_TOKEN "CONSUL_HTTP_TOKEN=$locks"
works CONSUL_HTTP_TOKEN_FILE "CONSUL_HTTP_TOKEN_FILE=$W/token"
works token_file "HOLDFAST_URL=$HOLDFAST_URL&token_file=$W/token"
works 'the URL' "HOLDFAST_URL=consuls://:$locks@$server$query"
works 'the URL, before that of the environment' "CONSUL_HTTP_TOKEN=$reads" \
    "HOLDFAST_URL=consuls://:$locks@$server$query"
chmod 644 "$W/token"
holds='holds a token and all users may read or write it; chmod o= it$'
refused 78 "token_file $W/token: $holds" 'a file that all users may read' \
    "HOLDFAST_URL=$HOLDFAST_URL&token_file=$W/token"
chmod 602 "$W/token"
refused 78 "token_file $W/token: $holds" 'one that all users may write' \
    "HOLDFAST_URL=$HOLDFAST_URL&token_file=$W/token"
refused 78 "CONSUL_HTTP_TOKEN_FILE $W/token: $holds" '... or that of the variable' \
    "CONSUL_HTTP_TOKEN_FILE=$W/token"
chmod 640 "$W/token"
works 'a file that a group may read' "CONSUL_HTTP_TOKEN_FILE=$W/token"
refused 78 'token_file .*No such file' 'no such file' \
    "HOLDFAST_URL=$HOLDFAST_URL&token_file=$W/none"
capture timeout 60 env "CONSUL_HTTP_TOKEN=$locks" holdfast doctor
is "$code" 0 'doctor: fit'
like "$out$err" 'over TLS, with a token' '... over TLS, with a token'
rule='key_prefix "~value/lock:" { policy = "write" }'
named=$(grep -oF "$rule" <<<"$out")
is "$named" "$rule" '... and names the rule that values need'
all=$(token all "key_prefix \"lock:\" { policy = \"write\" } $sessions $named")
capture timeout 60 env "CONSUL_HTTP_TOKEN=$all" holdfast doctor
is "$code" 0 'doctor, with that rule: fit'
unlike "$out$err" '~value' '... and no rule is missing'
capture env CONSUL_HTTP_TOKEN="$all" holdfast put -q cfg y
is "$code$err" 0 '... and a value is written'
capture env CONSUL_HTTP_TOKEN="$all" holdfast put -q --delete cfg
ok 'nothing is left' wait_until 20 is_empty

export CONSUL_HTTP_TOKEN=$locks
begin holder job
ok 'a holder' wait_until 20 holds holder
begin waiter -w 60 job
is_second() { [ "$(consul_keys | wc -l)" = 2 ]; }
ok 'a waiter, whose query is over TLS too' wait_until 20 is_second
end holder
ok 'is granted the lock' wait_until 20 holds waiter
end waiter
gives 0 'it is listed' ls

# A token that is deleted while its client waits.
revoked=$(token revoked "key_prefix \"lock:\" { policy = \"write\" } $sessions")
begin holder revoked
ok 'a holder' wait_until 20 holds holder
CONSUL_HTTP_TOKEN=$revoked begin waiter -t 10s revoked
waiter=$begun
ok 'a waiter with a token of its own' wait_until 20 is_queued waiter
revoke() {
    local accessor
    accessor=$(consul_api GET acl/tokens |
        jq -r '.[] | select(.Policies[0].Name == "revoked") | .AccessorID')
    [ -n "$accessor" ] && consul_api DELETE "acl/token/$accessor" >/dev/null
}
ok 'that is deleted' revoke
ends_denied waiter "$waiter" 'ACL not found|denied'
end holder

# ---- TLS -----------------------------------------------------------------------

refused 69 'certificate' 'an authority that is not known' \
    "HOLDFAST_URL=consuls://$server?tls_ca=$W/tls/other.crt"
refused 78 'HTTPS server' 'a server with TLS, asked without' \
    "HOLDFAST_URL=consul://$server?connect_timeout=2s"
gives 0 'the name of the host' \
    run -n -u "consuls://localhost:${CONSUL_PORT[c1]}$query" job -- true
ok 'nothing is left' wait_until 20 is_empty

# ---- The server comes back with a certificate of another authority -------------

cp "$W/tls/ca.crt" "$W/authority"
begin holder -t 30s -u "consuls://$server?node_timeout=3s&connect_timeout=5s&tls_ca=$W/authority" \
    nightly
ok 'a holder' wait_until 20 holds holder
consul_stop c1
tls_issue changed 2 '' other
cp -p "$W/tls/changed.crt" "$W/tls/server.crt"
cp -p "$W/tls/changed.key" "$W/tls/server.key"
cp "$W/tls/other.crt" "$W/next" && mv "$W/next" "$W/authority"
cp "$W/tls/other.crt" "$W/tls/ca.crt" # of the test's own requests
ok 'Consul starts with it' consul_restart c1
before=$(grep -c '"renewed"' "$W/events.holder")
is_renewed() { [ "$(grep -c '"renewed"' "$W/events.holder")" -gt "$before" ]; }
ok 'the holder reads the authority again' wait_until 25 is_renewed
end holder
ok '... and releases the lock' wait_until 20 is_empty
finish
