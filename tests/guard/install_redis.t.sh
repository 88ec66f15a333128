#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard redis --install, on a real server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 240
server_start s --tcp || fail 'a server'
url=${SERVER_URL[s]}
sha=$(holdfast guard redis | sha1sum | cut -d ' ' -f 1)

install() { # [ARG...]
    capture holdfast guard redis --install "$@"
}

installs() { # TITLE REGEX [ARG...]
    local title=$1 regex=$2
    shift 2
    install "$@"
    is "$code:$out" "0:$sha" "$title: prints the hash"
    like "$err" "^holdfast: guard: Redis: the script $regex" "$title: says it"
}

refused() { # CODE REGEX TITLE [ARG...]
    local want=$1 regex=$2 title=$3
    shift 3
    install "$@"
    is "$code:$out" "$want:" "$title: exit $want"
    like "$err" "^holdfast: guard: $regex" "$title: says it"
    is "$(wc -l <<<"$err")" 1 "$title: in one line"
}

scripts() {
    server_cli s INFO memory | tr -d '\r' | sed -n 's/^number_of_cached_scripts://p'
}

installs fresh "is loaded: EVALSHA $sha 1 KEY NAME FENCE COMMAND\$" "$url"
is "$(server_cli s EVALSHA "$sha" 1 k a 42 SET 1)" OK 'a fence passes'
like "$(server_cli s EVALSHA "$sha" 1 k a 41 SET 1 2>&1)" \
    "STALEFENCE .* fence 41 of 'a' is stale: 42" 'a stale one is refused'
installs again 'was loaded already' "$url"
is "$(scripts)" 1 'the server has one script'
install -q "$url"
is "$code:$out:$err" "0:$sha:" 'with -q only the hash'
older=$(holdfast guard redis | sed '1a -- older' | server_cli s -x SCRIPT LOAD)
server_cli s SCRIPT FLUSH >"$W/flush"
isnt "$older" "$sha" 'an older version has another hash'
holdfast guard redis | sed '1a -- older' | server_cli s -x SCRIPT LOAD >"$W/load"
is "$(server_cli s EVALSHA "$older" 1 k a 43 SET 1)" OK 'an older one'
installs 'beside an older one' 'is loaded' "$url/3"
like "$(server_cli s EVALSHA "$sha" 1 k a 42 SET 1 2>&1)" 'stale: 43' \
    'the memory is that of the older one'

# ---- Servers
for policy in allkeys-lru volatile-ttl; do
    server_cli s CONFIG SET maxmemory-policy $policy >"$W/set"
    refused 78 "Redis: may evict the largest fence \(maxmemory-policy $policy\): set " \
        "$policy" "$url"
done
server_cli s CONFIG SET maxmemory-policy noeviction >"$W/set"
server_start r -- --replicaof 127.0.0.1 "${SERVER_PORT[s]}"
refused 78 'Redis: is a replica \(role slave\): install on its primary$' 'a replica' \
    "${SERVER_URL[r]}"
server_start c --tcp -- --cluster-enabled yes || fail 'a cluster'
installs 'a node of a cluster' \
    'is loaded: .*; on this node of the cluster alone: install it on each' \
    "${SERVER_URL[c]}"
server_start u || fail 'a server on a unix socket'
installs 'a unix socket' 'is loaded' "${SERVER_URL[u]}"
refused 69 'Redis: Could not connect to Redis at .*: No such file' 'no server' \
    "redis+unix://$W/none"
refused 64 'which server\? holdfast guard redis --install redis://HOST$' 'no URL'
refused 64 '--install localhost: must be redis://HOST' 'no scheme' localhost
refused 64 '--install http://x: must be redis://HOST' 'another one' http://x
refused 64 '--install redis://\*+: write a / in the login as %2F' 'a / in the password' \
    redis://:SE/CRET@h
refused 64 '--install redis://a,b: one server, that of the data' 'two' redis://a,b
refused 64 '--install redis://a\?ttl=1: its parameters may be tls_ca' 'a parameter' \
    'redis://a?ttl=1'
refused 64 '--table: Redis has no tables' 'a table' "$url" --table t --lock x
mkdir "$W/empty"
capture env PATH="$W/empty" "$(command -v holdfast)" guard redis --install "$url"
is "$code:$err" '127:holdfast: guard: Redis: redis-cli: command not found; Debian '\
'has it in the package redis-tools' 'no client program'

# ---- Users
server_cli s ACL SETUSER app on '>s3cr@t/%' '~*' +info >"$W/acl"
host=127.0.0.1:${SERVER_PORT[s]}
refused 77 'Redis: NOPERM .*; ACL SETUSER USER \+info \+script\|load' 'no right' \
    "redis://app:s3cr%40t%2f%25@$host"
refused 77 'Redis: AUTH failed: WRONGPASS' 'a wrong password' \
    "redis://app:wrong@$host"
server_cli s ACL SETUSER app '+script|load' '+script|exists' >"$W/acl"
server_cli s SCRIPT FLUSH >"$W/flush"
mkdir "$W/bin"
cat >"$W/bin/redis-cli" <<SH
#!/bin/sh
cat /proc/\$\$/cmdline /proc/\$PPID/cmdline | tr '\0' ' ' >>"$W/seen"
exec $(command -v redis-cli) "\$@"
SH
chmod +x "$W/bin/redis-cli"
PATH=$W/bin:$PATH installs 'these rights' 'is loaded' \
    "redis://app:s3cr%40t%2f%25@$host"
like "$(<"$W/seen")" 'redis-cli .*--user app -h 127.0.0.1' 'the client has the user'
like "$(<"$W/seen")" 'holdfast .*redis://app:\*+@127' 'ours is overwritten'
unlike "$(<"$W/seen")" 's3cr' 'ps shows no password'
server_cli s CONFIG SET requirepass secret >"$W/set"
refused 77 'Redis: NOAUTH ' 'a password that is missing' "$url"
installs 'the default user' 'was loaded already' "redis://:secret@$host"
finish
