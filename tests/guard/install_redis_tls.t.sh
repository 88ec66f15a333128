#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard redis --install over TLS: the certificate and the host in the URL are
# checked on each connection before the login, which redis-cli alone does not do.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 240
[ -e "$HF_BUILD/holdfast-tls.so" ] || skip_all 'built without TLS'
tls=$W/tls
tls_make
tls_issue elsewhere 2 DNS:elsewhere
tls_issue expired -1
tls_issue client
# The test itself comes without TLS.
with_tls() { # NAME PORT [ARG...]
    local name=$1 port=$2
    shift 2
    server_start "$name" --tcp -- --tls-port "$port" --tls-cert-file "$tls/server.crt" \
        --tls-key-file "$tls/server.key" --tls-ca-cert-file "$tls/ca.crt" "$@"
}
port=$(free_port)
with_tls s "$port" --tls-auth-clients no || fail 'a server with TLS'
sha=$(holdfast guard redis | sha1sum | cut -d ' ' -f 1)
trust="tls_ca=$tls/ca.crt"
login=app:s3cr%40t
mkdir "$W/tmp" "$W/bin"
export TMPDIR=$W/tmp
redis_cli=$(command -v redis-cli)
server_cli s ACL SETUSER app on '>s3cr@t' '~*' +@all >"$W/acl"

serve() { # CERTIFICATE: of the next connections
    server_cli s CONFIG SET tls-cert-file "$tls/$1.crt" tls-key-file "$tls/$1.key" \
        >"$W/set"
    server_cli s CONFIG RESETSTAT >"$W/set"
}
# Those since serve(). The test itself sends none.
logins() {
    server_cli s INFO commandstats | tr -d '\r' | grep -c '^cmdstat_auth:'
}
install() { # [ARG...]
    capture timeout 60 holdfast guard redis --install "$@"
    is "$(ls "$TMPDIR")" '' '... and leaves no file'
}
installs() { # TITLE URL
    install "$2"
    is "$code:$out" "0:$sha" "$1: prints the hash"
    like "$err" '^holdfast: guard: Redis: the script (is loaded|was loaded already)' \
        "$1: says it"
}
refused() { # CODE REGEX TITLE URL
    install "$4"
    is "$code:$out" "$1:" "$3: exit $1"
    like "$err" "^holdfast: guard: $2\$" "$3: says it"
    is "$(wc -l <<<"$err")" 1 "$3: in one line"
}
is_loaded() {
    server_cli s SCRIPT EXISTS "$sha"
}

# ---- What is refused: none is sent the password
at=127.0.0.1:$port
bad="Redis: $at: TLS: the server's certificate is refused: "
authority='.*: name its authority with tls_ca'
serve server
refused 69 "$bad$authority" 'the system has no such authority' "rediss://$login@$at"
refused 69 "$bad$authority" 'another authority' "rediss://$login@$at?tls_ca=$tls/other.crt"
is "$(logins)" 0 'neither was sent the password'
serve elsewhere
other='.*mismatch: write a host that the certificate names'
refused 69 "$bad$other" 'another address' "rediss://$login@$at?$trust"
refused 69 "Redis: localhost:$port: TLS: .*$other" 'another name' \
    "valkeys://$login@localhost:$port?$trust"
is "$(logins)" 0 'a server of another host was not sent the password'
serve expired
refused 69 "${bad}certificate has expired: renew it at the server" 'an expired one' \
    "rediss://$login@$at?$trust"
serve server
is "$(is_loaded)" 0 'nothing was loaded'
refused 77 'Redis: .*WRONGPASS.*' 'a wrong password' "rediss://app:wrong@$at?$trust"
isnt "$(logins)" 0 'the server counts a login'
server_start plain --tcp || fail 'a server without TLS'
refused 69 "Redis: 127.0.0.1:${SERVER_PORT[plain]}: .*" 'a server without TLS' \
    "rediss://127.0.0.1:${SERVER_PORT[plain]}?$trust"
# The head of a record of 16 KiB, and a byte of it now and then.
drips=$(free_port)
cat >"$W/drip" <<'X'
#!/bin/sh
printf '\026\003\003\100\000'
while sleep 1; do printf x; done
X
chmod +x "$W/drip"
socat "TCP-LISTEN:$drips,bind=127.0.0.1,reuseaddr,fork" "EXEC:$W/drip" 2>"$W/socat" &
at_exit kill $!
ok 'a server that drips' wait_until 10 eval "(: <'/dev/tcp/127.0.0.1/$drips')"
refused 69 "Redis: 127.0.0.1:$drips: TLS: the server does not answer .*" \
    'a server that sends a byte a second' "rediss://127.0.0.1:$drips?$trust"
refused 69 'Redis: 127.0.0.1:1: Connection refused' 'no server' "rediss://127.0.0.1:1?$trust"
refused 69 'Redis: none.invalid:6379: .*' 'no such host' "rediss://none.invalid?$trust"

# ---- Addresses
names='its parameters may be tls_ca, tls_cert and tls_key'
refused 64 "--install rediss://:\\*+@h\\?ssl-ca=x: $names" 'another parameter' \
    'rediss://:secret@h?ssl-ca=x'
names="$names, with rediss://"
refused 64 "--install redis://h\\?tls_ca=x: $names" 'without TLS' 'redis://h?tls_ca=x'
refused 64 "--install redis\\+unix:///s\\?tls_ca=x: $names" 'a unix socket' \
    'redis+unix:///s?tls_ca=x'
refused 64 '--install rediss:///0: TLS needs a host' 'no host' rediss:///0
refused 78 "--install: tls_ca $W/none: No such file or directory" 'no such file' \
    "rediss://$at?tls_ca=$W/none"
certificate="tls_cert=$tls/client.crt&tls_key=$tls/client.key"
chmod 644 "$tls/client.key"
refused 78 "--install: tls_key $tls/client.key: all users may read or write it; chmod o= it" \
    'an exposed key' "rediss://$at?$trust&$certificate"
chmod 600 "$tls/client.key"
refused 64 '.*: tls_cert and tls_key belong together' 'no key' \
    "rediss://$at?$trust&tls_cert=$tls/client.crt"

# ---- What is installed
installs 'by the name of the host' "rediss://$login@localhost:$port?$trust"
is "$(is_loaded)" 1 'the script is there'
installs 'by its address' "rediss://$login@$at/3?$trust"
x_port=$(free_port)
in_x=127.0.0.1:$x_port
with_tls x "$x_port" --tls-auth-clients yes || fail 'one that demands a certificate'
refused 69 "Redis: $in_x: .*client certificate: name tls_cert and tls_key.*" \
    'no client certificate' "rediss://$in_x?$trust"
installs 'a client certificate' "rediss://$in_x?$trust&$certificate"

# ---- A server that is another one from the second connection on
server_cli s SCRIPT FLUSH >"$W/flush"
cat >"$W/bin/redis-cli" <<SH
#!/bin/bash
$redis_cli "\$@"
code=\$?
env -u REDISCLI_AUTH $redis_cli -h 127.0.0.1 -p ${SERVER_PORT[s]} CONFIG SET \\
    tls-cert-file "$tls/elsewhere.crt" tls-key-file "$tls/elsewhere.key" >"$W/swap"
exit \$code
SH
chmod +x "$W/bin/redis-cli"
PATH=$W/bin:$PATH refused 69 "$bad$other" 'only its first connection is right' \
    "rediss://$login@$at?$trust"
is "$(cat "$W/swap")" OK 'the certificate changed in between'
is "$(is_loaded)" 0 'and that server got no script'
serve server

# ---- Its socket needs a folder
capture env TMPDIR="$W/none" holdfast guard redis --install "rediss://$login@$at?$trust"
is "$code:$out:$err" "78::holdfast: guard: --install: TLS needs a folder in $W/none \
(TMPDIR, else /tmp): No such file or directory" 'no such folder: is named'

# ---- A signal ends all of it
cat >"$W/bin/redis-cli" <<SH
#!/bin/bash
echo "\$@" >"$W/words"
exec sleep 60
SH
PATH=$W/bin:$PATH holdfast guard redis --install "rediss://$login@$at?$trust" \
    >"$W/killed" 2>&1 &
ended=$!
ok 'it runs' wait_until 20 test -s "$W/words"
like "$(cat "$W/words")" "^--no-auth-warning --user app -s $TMPDIR/" 'on a socket of its own'
is "$(stat -c %a "$TMPDIR"/*)" 700 'in a folder that only this user enters'
kill -9 "$ended"
wait "$ended" 2>/dev/null
is_empty() {
    [ -z "$(ls "$TMPDIR")" ]
}
ok 'a kill leaves none behind' wait_until 20 is_empty
finish
