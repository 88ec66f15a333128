#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP of stores' modules against a real etcd: requests in one write, a
# stream, TLS, a server that hangs, dies and comes back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/etcd.sh"

program=$HF_BUILD/tests/conformance/http_etcd
[ -x "$program" ] || skip_all "built without libhttp_parser"
have_etcd || skip_all "no etcd"

ask() { # ARG...
    timeout 60 "$program" "${ETCD_PORT[e1]}" "$@"
}

PUT='{"key":"YQ==","value":"MQ=="}' # a = 1
GET='{"key":"YQ=="}'
WATCH='{"create_request":{"key":"YQ=="}}'

answers() { # CA TITLE
    capture ask "$1" 20000 /v3/kv/put "$PUT" /v3/kv/range "$GET" \
        /v3/kv/range '{' /v3/lease/timetolive '{"ID":"77"}' /nothing ''
    is "$code $err" "0 " "$2: the program ends"
    like "$out" '^opened
1: 200 \[application/json\] \{"header":[^
]*
2: 200 \[application/json\] [^
]*"value":"MQ=="[^
]*
3: 400 \[application/json\] [^
]*
4: 200 \[application/json\] [^
]*"TTL":"-1"[^
]*
5: 404 ' "$2: five requests at once, five replies in order"
}

ok "etcd starts" etcd_start
answers '' plain

# ---- A stream ----------------------------------------------------------------

watch() { # NAME
    ask '' 20000 /v3/kv/range "$GET" /v3/watch@ "$WATCH" >"$W/$1.out" &
    watcher=$!
    wait_until 10 grep -q '"created":true' "$W/$1.out"
}

ok "a stream begins after an ordinary reply" watch one
like "$(<"$W/one.out")" '1: 200 .*"value":"MQ=="' "which came before it"
etcd_ctl put a 2 >/dev/null
ok "a change is a piece of it" wait_until 10 grep -q '^piece .*"value":"Mg=="' "$W/one.out"
etcd_kill e1
wait "$watcher"
like "$(tail -n 2 "$W/one.out")" '^2 lost, unknown
closed: .*' "the server is killed: the stream is lost, and the connection closed"

capture ask '' 20000 /v3/kv/range "$GET"
like "$out" '^1 lost, unsent
closed: .*refused' "no server: the request is unsent"

ok "etcd starts again" etcd_restart e1
capture ask '' 20000 /v3/kv/range "$GET"
like "$out" '1: 200 .*"value":"Mg=="' "and answers on the same port"

ok "etcd is paused" etcd_pause e1
capture ask '' 500 /v3/kv/range "$GET" /v3/kv/range "$GET"
is "$out" "opened
1 lost, unknown
2 lost, unknown
closed: no answer within 500 ms" "a server that hangs is given up"
etcd_continue e1

# ---- TLS ---------------------------------------------------------------------

etcd_stop e1
rm -rf "$W/e1"
ok "etcd starts with TLS" etcd_start --tls
answers "$W/tls/ca.crt" TLS
capture ask '' 20000 /v3/kv/range "$GET"
like "$out" 'closed: .*\(a TLS port\? use etcds://\)' "a plain request to it is recognised"
capture ask "$W/tls/other.crt" 20000 /v3/kv/range "$GET"
like "$out" '^1 lost, unsent
closed: .*certificate' "another authority's certificate is refused"
finish
