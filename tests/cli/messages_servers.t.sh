#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Messages about servers: which server has which fault, and the remedy.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

says() { # CODE LINE TITLE COMMAND...
    local want=$1 line=$2 title=$3
    shift 3
    capture "$@"
    # Of servers with the same fault, the first one that replies is named.
    is "$code:$(sed -E 's/ [0-9]+ (ms|s)\>/ N \1/g
        s,/s[23]/s belongs,/s1/s belongs,' <<<"$err")" \
        "$want:holdfast: $line" "$title"
}

pids=()
stop_all() {
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
}
at_exit stop_all

# ---- TLS or not ------------------------------------------------------------

server_start plain --tcp
server_start tls --tls
plain=127.0.0.1:${SERVER_PORT[plain]} tls=127.0.0.1:${SERVER_PORT[tls]}
trust="quarantine=off&tls_ca=$W/tls/ca.crt"
closed='closed the connection without an answer (a TLS port? use rediss://; a proxy? name its server)'
late='no answer to the TLS handshake within N ms (a plain port? use redis://)'
for command in 'run -n a -- true' 'acquire -w 0.2 a' 'ls'; do
    # shellcheck disable=SC2086 # the words of a command
    set -- $command
    title=a
    [ "$1" != ls ] || title='ls'
    says 69 "$title: $tls $closed" "$1: no TLS to a TLS port" \
        holdfast "$1" -u "redis://$tls?quarantine=off" "${@:2}"
    says 69 "$title: $plain $late" "$1: TLS to a plain port" \
        holdfast "$1" -u "rediss://$plain?$trust" "${@:2}"
done
capture holdfast doctor -u "redis://$tls"
like "$code:$out" "^2:unfit: $tls: cannot be examined: closed .*use rediss://; " \
    'doctor: no TLS to a TLS port'
capture holdfast doctor -u "rediss://$plain?$trust"
like "$code:$out" "^2:unfit: $plain: .*TLS handshake within .*use redis://\\)" \
    'doctor: TLS to a plain port'
# A name may have several addresses; each gets a share of the time.
says 69 "a: localhost:${SERVER_PORT[plain]} $late" 'TLS to a plain port, by name' \
    holdfast run -n -u "rediss://localhost:${SERVER_PORT[plain]}?$trust" \
    a -- true
# A password that is missing, or wrong: no other parameter helps.
server_cli plain config set requirepass secret >"$W/log"
says 77 "a: $plain NOAUTH Authentication required." 'no password' \
    holdfast run -n -u "redis://$plain" a -- true
says 77 "a: $plain WRONGPASS invalid username-password pair or user is disabled." \
    'a wrong one' holdfast run -n -u "redis://:wrong@$plain" a -- true
redis-cli -p "${SERVER_PORT[plain]}" -a secret --no-auth-warning \
    config set requirepass '' >"$W/log"
# A server that has no room for a client says so unasked, and closes: most often
# before the client has written its first bytes.
exec 9<>"/dev/tcp/127.0.0.1/${SERVER_PORT[plain]}"
printf 'CONFIG SET maxclients 1\r\n' >&9
read -r -t 10 reply <&9
is "${reply%$'\r'}" +OK 'a server with one client at most, and this is it'
for query in '' '?quarantine=off'; do
    for try in {1..20}; do
        capture holdfast run -n -u "redis://$plain$query" a -- true
        echo "$code $err"
    done >"$W/full"
    is "$(sort "$W/full" | uniq -c | xargs)" \
        "20 69 holdfast: a: $plain ERR max number of clients reached" \
        "$query: no room for a client: each says so"
done
printf 'CONFIG SET maxclients 100\r\n' >&9
read -r -t 10 reply <&9
exec 9>&-
# A server repeats the arguments of a command that it does not have.
server_start unauth -- --rename-command AUTH ''
for command in 'run -n a -- true' 'ls' 'doctor'; do
    # shellcheck disable=SC2086 # the words of a command
    set -- $command
    capture holdfast "$1" -u "redis+unix://:s3cret@${SERVER_SOCK[unauth]}" "${@:2}"
    like "$out$err" "ERR unknown command 'AUTH'" "$1: a server without AUTH"
    unlike "$out$err" 's3cret' "$1: the password is not shown"
done
server_stop unauth
listens() {
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
http=$(free_port)
cat >"$W/http" <<'END'
printf 'HTTP/1.1 400 Bad Request\r\n\r\n'
exec cat >/dev/null
END
socat "TCP-LISTEN:$http,bind=127.0.0.1,fork,reuseaddr" \
    "EXEC:bash $W/http" &
pids+=($!)
wait_until 10 listens "$http"
says 69 "a: 127.0.0.1:$http answers without TLS (a plain port? use redis://)" \
    'TLS to a port that speaks first' \
    holdfast run -n -u "rediss://127.0.0.1:$http?$trust" a -- true

# ---- No connection ---------------------------------------------------------

deaf=$(free_port)
"$HF_BUILD/tests/lib/blackhole" "$deaf" >"$W/deaf" &
pids+=($!)
wait_until 10 grep -q deaf "$W/deaf"
deaf=127.0.0.1:$deaf
says 69 "a: $deaf no connection within N ms" 'no connection' \
    holdfast run -n -u "redis://$deaf?quarantine=off" a -- true
refusing=127.0.0.1:$(free_port)
two=127.0.0.1:$(free_port)
refused='cannot connect: Connection refused'
# A loaded machine takes longer than that, and then the figure is true.
capture holdfast run -w 1ms -u "redis://$refusing,$two,$deaf?quarantine=off" \
    a -- true
is "$code" 69 'no figure before a millisecond is over: exit 69'
like "${err##*; }" "^$deaf no connection (yet|within [1-9][0-9]* ms)$" \
    'no figure before a millisecond is over'
like "$err" "^holdfast: a: no majority \(0 of 3 nodes\): $refusing $refused; $two $refused; " \
    'and the others are named'

# ---- Another store ---------------------------------------------------------

servers_start 3
fresh='locks from before may still be held, so it counts in N s'
says 69 "a: no majority (0 of 3 nodes): $(
)${SERVER_SOCK[s1]}, ${SERVER_SOCK[s2]}, ${SERVER_SOCK[s3]}: $(
)each shows no trace of Holdfast (new, restarted or emptied): $fresh" \
    'new servers are one line' holdfast run -n -u "$URLS" a -- true
servers_declare "$URLS"
s1=${SERVER_SOCK[s1]}
says 78 "a: $s1 belongs to a store of 3 servers, this client's URL names 1: $(
)name all of them (max_ttl=1m)" 'one server of three' \
    holdfast run -n -u "redis+unix://$s1" a -- true
says 78 "a: $s1 belongs to a store with max_ttl=1m, this client says 2m: $(
)all clients of a store must say the same" 'another max_ttl' \
    holdfast run -n -u "$URLS?max_ttl=2m" a -- true
says 78 "a: $s1 belongs to a store with fence_keep=1h, this client says 2d: $(
)all clients of a store must say the same" 'another fence_keep' \
    holdfast run -n -u "$URLS?fence_keep=2d" a -- true
# With two reachable servers of the store, their majority could reply first.
server_kill s2
server_start alone
servers_declare "${SERVER_URL[alone]}"
says 78 "a: ${SERVER_SOCK[alone]} belongs to a store of 1 server, $(
)this client's URL names 3: name those of that store alone (max_ttl=1m)" \
    'a server of another store' holdfast run -n \
    -u "${SERVER_URL[alone]} ${SERVER_URL[s2]} ${SERVER_URL[s3]}" a -- true

# ---- No majority -----------------------------------------------------------

# The attempt fails before the server that counts can reply: that is no reason.
server_kill s3
says 69 "a: no majority (1 of 3 nodes): $(
)${SERVER_SOCK[s2]} $refused; ${SERVER_SOCK[s3]} $refused" \
    'a server that counts is not named' holdfast run -n -u "$URLS" a -- true

# An adoption of which each server answers at once, and too few confirm.
server_launch s2
server_launch s3
servers_declare "$URLS"
owner=$(holdfast acquire -u "$URLS" -t 1m ex | cut -d' ' -f1)
server_cli s1 del lock:ex >"$W/log"
server_cli s2 flushall >"$W/log"
says 69 "ex: no majority (1 of 3 nodes): ${SERVER_SOCK[s1]} does not have it; $(
)${SERVER_SOCK[s2]} shows no trace of Holdfast (new, restarted or emptied): $fresh" \
    'extend: who lost it, and who does not count' \
    holdfast extend -u "$URLS" ex --owner "$owner"
servers_declare "$URLS"
server_pause s3
capture holdfast extend -u "$URLS?node_timeout=1s" ex --owner "$owner"
is "$code" 76 'extend: two that count do not have it'
server_resume s3

# An adoption that all servers confirm, at a counter that was edited by hand.
owner=$(holdfast acquire -u "$URLS" -t 1m raised | cut -d' ' -f1)
for server in s1 s2 s3; do
    key='hf:{lock:raised}:fence'
    fence=$(server_cli "$server" get "$key")
    digits=${fence%% *}
    server_cli "$server" set "$key" \
        "$(printf %016d $((10#$digits + 7)))${fence#"$digits"}" keepttl >"$W/log"
done
capture holdfast extend -u "$URLS?node_timeout=2s" raised --owner "$owner"
# It ends at the second reply, before the third server is connected or replies.
s="$W/s[123]/s has it with another fence"
like "$code:$err" "^69:holdfast: raised: no majority \([01] of 3 nodes\): .*$s; .*$s" \
    'extend: all have it, with another fence'
unlike "$err" 'no answer' 'and none is silent'

# ---- Which product ---------------------------------------------------------

# Valkey reports its version in a field of its own. So does Redis under this
# filter.
sock=$W/valkey.s
cat >"$W/filter" <<END
socat - "UNIX-CONNECT:${SERVER_SOCK[alone]}" |
    sed -u 's/^redis_version:\(.*\).\r\$/valkey_version:\1\r/'
END
socat "UNIX-LISTEN:$sock,fork" "EXEC:bash $W/filter" &
pids+=($!)
wait_until 10 test -S "$sock"
capture holdfast doctor -u "redis+unix://$sock"
like "$out" "^ok: $sock: Valkey [0-9]+\.[0-9.]+, up for " 'Valkey by its own name'
capture holdfast doctor -u "${SERVER_URL[alone]}"
like "$out" "^ok: ${SERVER_SOCK[alone]}: Redis [0-9]+\.[0-9.]+, up for " 'Redis too'
# ---- Refusals that name their remedy ---------------------------------------

# server_start asks for INFO.
renamed=$W/renamed.sock
redis-server --port 0 --unixsocket "$renamed" --save '' --dir "$W" \
    --rename-command INFO '' >"$W/log" 2>&1 &
pids+=($!)
wait_until 20 redis-cli -s "$renamed" ping >"$W/reply" 2>&1
says 69 "a: $renamed ERR unknown command 'INFO' (renamed or disabled: remove rename-command from its configuration)" \
    'a server without INFO' holdfast run -n -u "redis+unix://$renamed" a -- true
mkdir "$W/gone"
server_start unsaved -- --dir "$W/gone"
servers_declare "${SERVER_URL[unsaved]}"
rmdir "$W/gone"
server_cli unsaved config set save '3600 1000' >"$W/log"
server_cli unsaved bgsave >"$W/log"
save_failed() {
    server_cli unsaved info persistence | grep -q rdb_last_bgsave_status:err
}
ok 'a snapshot that fails' wait_until 20 save_failed
says 69 "a: ${SERVER_SOCK[unsaved]} MISCONF it cannot save its snapshots, so it refuses writes (stop-writes-on-bgsave-error): see its log" \
    'which stops writes' holdfast run -n -u "${SERVER_URL[unsaved]}" a -- true

finish
