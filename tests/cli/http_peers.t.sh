#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# What is at an address of etcd or Consul that is no etcd or Consul, or not the one
# that is meant: a web server, a proxy, a peer that drips, another cluster.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_etcd || skip_all 'no etcd'
peers=()
stop_peers() {
    local peer
    for peer in "${peers[@]}"; do
        kill "$peer"
        pkill -P "$peer"
        wait "$peer"
    done 2>/dev/null
}
at_exit stop_peers
listens() {
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
# Set $peer: an address at which the script $W/KIND serves each connection. Its
# head of a request is read up to its blank line; the body is the next line's begin.
begin_peer() { # KIND
    local port
    port=$(free_port)
    timeout 280 socat "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" \
        "EXEC:bash $W/$1" >/dev/null 2>&1 &
    peers+=($!)
    wait_until 10 listens "$port"
    peer=127.0.0.1:$port
}
begin_web() { # KIND STATUS: the same page for each request
    local page='<html><title>Welcome</title></html>'
    cat >"$W/$1" <<END
while IFS= read -r line; do
    [ "\$line" != $'\\r' ] ||
        printf 'HTTP/1.1 $2 Reason\\r\\nContent-Length: ${#page}\\r\\n\\r\\n$page'
done
END
    begin_peer "$1"
}

# One more of taken. It has served, so it counts: those of commands before it may count
# for some time after they have ended, and a connection above the limit is closed.
take_connection() { # PORT
    local line=
    exec {fd}<>"/dev/tcp/127.0.0.1/$1" || return
    (printf 'GET /v1/status/leader HTTP/1.1\r\nHost: x\r\n\r\n' >&"$fd") 2>/dev/null
    IFS= read -r -t 10 line <&"$fd"
    if [[ $line == 'HTTP/1.1 200'* ]]; then
        taken+=("$fd")
    else
        exec {fd}>&-
        false
    fi
}

# ---- A web server --------------------------------------------------------------------

for status in 200 301 404 502; do
    begin_web "web.$status" "$status"
    for store in 'etcd:etcd 3.4 or later' consul:Consul; do
        why="$peer answers with HTTP status $status.*: is it ${store#*:}\\?"
        for command in 'run -n job -- echo ran' 'ls' 'get job'; do
            # shellcheck disable=SC2086 # the words of a command
            set -- $command
            capture timeout 60 holdfast "$1" -u "${store%:*}://$peer" "${@:2}"
            is "$code:$out" 69: "${store%:*}, a page with $status: $1 fails"
            like "$err" "^holdfast: [a-z]+: $why\$" '... and says why'
        done
        capture timeout 60 holdfast doctor -u "${store%:*}://$peer"
        like "$code:$out$err" "^2:unfit: $peer: cannot be examined: ${why#* }" \
            '... doctor, too'
    done
done
# A proxy before Consul that has lost its way to the keys: an answer of its own is
# no list without names.
page='<html><title>Not here</title></html>'
cat >"$W/astray" <<END
while IFS= read -r line; do
    case \$line in
    *status/leader*) answer='200 OK' body='"127.0.0.1:8300"' ;;
    *' HTTP/1.1'*) answer='404 Not Found' body='$page' ;;
    \$'\\r') printf 'HTTP/1.1 %s\\r\\nContent-Length: %d\\r\\n\\r\\n%s' \
        "\$answer" "\${#body}" "\$body" ;;
    esac
done
END
begin_peer astray
for command in 'ls' 'ls job' 'run -n job -- echo ran' 'get job' 'break --now job'; do
    # shellcheck disable=SC2086 # the words of a command
    set -- $command
    capture timeout 60 holdfast "$1" -u "consul://$peer" "${@:2}"
    is "$code:$out" 69: "a proxy without the keys: $command fails"
    like "$err" 'answers with HTTP status 404: is it Consul\?' '... and says why'
done

# ---- A peer that drips ---------------------------------------------------------------

ok 'etcd starts' etcd_start
etcd=127.0.0.1:${ETCD_PORT[e1]}
cat >"$W/drip" <<'END'
while IFS= read -r line && [ "$line" != $'\r' ]; do :; done
printf 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n'
while printf x; do
    sleep 0.05 # sleeps: a byte now and then
done
END
begin_peer drip
# Half of the clients begin at each.
for try in {1..8}; do
    capture timeout 60 holdfast run -w 20 -u "etcd://$peer,$etcd?connect_timeout=1s" \
        job -- echo ran
    echo "$code:$out"
done >"$W/dripped"
is "$(sort "$W/dripped" | uniq -c | xargs)" '8 0:ran' \
    'a peer that drips: the next endpoint is used'
capture timeout 60 holdfast run -w 3 -u "etcd://$peer?connect_timeout=1s" job -- echo ran
is "$code:$out" 69: '... and if there is none, it fails'
like "$err" "$peer no answer within 1000 ms" '... with the reason'

# ---- Another cluster -----------------------------------------------------------------
#
# Clients that begin at one do not see the locks of the other, so doctor looks at each.

ETCD_PORT[e2]=$(free_port) ETCD_MEMBERS=e2=unix://e2:1
mkdir "$W/e2"
etcd_launch e2
ok 'another etcd starts' wait_until 30 etcd_answers e2
other=127.0.0.1:${ETCD_PORT[e2]}
for try in 1 2 3 4; do
    capture timeout 60 holdfast doctor -u "etcd://$etcd,$other"
    like "$code:$out" '^2:(.*
)*unfit: .*: endpoint 127.0.0.1:[0-9]+ is of another cluster \([0-9a-f]+\)' \
        "etcd: doctor finds another cluster ($try)"
done
capture timeout 60 holdfast doctor -u "etcd://$etcd,$other,$etcd"
like "$code:$out" '^2:.*another cluster' '... among three'
capture timeout 60 holdfast doctor -u "etcd://$etcd,localhost:${ETCD_PORT[e1]}"
unlike "$code:$out" '^2:|: endpoint ' 'the same cluster twice: nothing to find'
for try in 1 2 3 4; do
    capture timeout 60 holdfast doctor -u "etcd://$etcd,127.0.0.1:1"
    like "$code:$out" '^1:(.*
)*warning: .*: endpoint 127.0.0.1:1 .*Connection refused' \
        "an endpoint that refuses: doctor warns ($try)"
done
begin_peer drip
took=$(now_ms)
capture timeout 60 holdfast doctor -u "etcd://$etcd,$peer?connect_timeout=1s"
took=$(($(now_ms) - took))
like "$code:$out" "^1:(.*
)*warning: .*: endpoint $peer .*no answer" "one that drips ($took ms)"
begin_web web 200
capture timeout 60 holdfast doctor -u "etcd://$etcd,$peer"
like "$code:$out" "^1:(.*
)*warning: .*: endpoint $peer .*HTTP status 200" 'a web server'

# Members that are there, and refuse all but the greeting.
curl -sSf --noproxy '*' -m 10 "http://$other/v3/maintenance/alarm" >"$W/alarm" \
    -d '{"action":"ACTIVATE","memberID":"1","alarm":"CORRUPT"}'
like "$(cat "$W/alarm")" CORRUPT 'an alarm'
capture timeout 60 holdfast doctor -u "etcd://$other,localhost:${other#*:},$other"
like "$code:$out" '^2:unfit: .*: cannot be examined: .*corrupt cluster' \
    'doctor: three endpoints of a corrupt cluster, and why'
capture timeout 60 holdfast run -w 2 -u "etcd://$other,localhost:${other#*:}" job -- echo ran
is "$code:$out" 69: '... a wait fails'
like "$err" 'corrupt cluster' '... with the reason'

if have_consul; then
    ok 'Consul starts' consul_start -- -hcl 'limits { http_max_conns_per_client = 40 }'
    consul=127.0.0.1:${CONSUL_PORT[c1]}
    begin_peer astray
    for try in 1 2 3 4; do
        capture timeout 60 holdfast doctor -u "consul://$consul,$peer"
        like "$code:$out" "^2:(.*
)*unfit: .*: endpoint $peer has 127.0.0.1:8300 for its leader, not 127.0.0.1:" \
            "Consul: doctor finds another cluster ($try)"
    done
    capture timeout 60 holdfast doctor -u "consul://$consul,localhost:${CONSUL_PORT[c1]}"
    like "$code:$out" '^0:' 'the same cluster twice: fit'
    unlike "$out" ': endpoint ' '... and nothing to find'
    # Consul closes the connections above its limit without a word.
    taken=()
    for _ in {1..40}; do
        wait_until 20 take_connection "${CONSUL_PORT[c1]}"
    done
    is "${#taken[@]}" 40 'Consul: all connections are taken'
    for try in {1..10}; do
        capture timeout 60 holdfast run -n -u "consul://$consul" job -- echo ran
        echo "$code $err"
    done >"$W/full"
    like "$(sort -u "$W/full")" "^69 holdfast: job: $consul [^$]*http_max_conns_per_client" \
        'Consul has no more connections for this host: it says so'
    is "$(grep -c http_max_conns_per_client "$W/full")" 10 '... each time'
    capture timeout 60 holdfast doctor -u "consul://$consul"
    like "$code:$out" '^2:.*http_max_conns_per_client' '... doctor, too'
    for fd in "${taken[@]}"; do
        exec {fd}>&-
    done
else
    skip 'Consul' 'no Consul'
fi
finish
