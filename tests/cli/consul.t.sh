#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Commands on a real Consul: exit codes, order, fences, dead holders, a session
# that is destroyed, a server that stands still, other programs' locks, odd names;
# locks that are broken, handed on, reserved; permits; lists.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/ordered.sh"

have_consul || skip_all 'no Consul'
KIND=consul NODE=c1
unset "${!CONSUL_HTTP_@}"
entries() { consul_keys | grep "^lock:${1:+$1[/#~]}"; }
first_entry() { # of those that are read: the least index
    local key
    while read -r key; do
        echo "$(consul_index "$key") $key"
    done | sort -n | sed -n '1s/^[0-9]* //p'
}
session_of() { consul_session "$1"; }
session_end() { consul_api PUT "session/destroy/$1" >/dev/null; }
entry_remove() { consul_api DELETE "kv/$(consul_escaped "$1")" >/dev/null; }

# ---- The URL -------------------------------------------------------------------

refuses() { ordered_refuses "$@"; }
refuses 64 'write consul://HOST:PORT,HOST:PORT' 'no host' 'consul://'
refuses 64 'write consul://HOST:PORT,HOST:PORT' 'a port' 'consul://h:99999'
refuses 64 'write consul://HOST:PORT,HOST:PORT' 'a path' 'consul://h/db'
refuses 64 'Consul has tokens, and no users' 'a user' 'consul://u:secret@h'
refuses 64 'write consul://HOST:PORT,HOST:PORT' 'an @ in a token' \
    'consul://:se@secret@h'
refuses 78 'no server of this URL is reached over TLS: write consuls://' \
    'TLS without consuls' 'consul://h?tls_ca=/ca.crt'
refuses 64 'unknown URL parameter "datacentre".*"datacenter"' \
    'an unknown parameter' 'consul://h?datacentre=1'
refuses 69 '127.0.0.1:1.*Connection refused' 'no server' 'consul://127.0.0.1:1'
capture ldd "$HF_BUILD/holdfast"
unlike "$out" 'jansson|http_parser' 'the command is not linked with a parser of JSON'

# ---- The server ----------------------------------------------------------------

consul_start || { fail 'Consul starts'; finish; }
export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"
ordered_one 'Consul 1\.[0-9.]+, datacenter dc1'
ordered_server

# ---- A dead holder, and what others do meanwhile ---------------------------------

export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s&prefix=dead:"
ordered_dead_begin
HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"
ordered_order
ordered_lost
ordered_top
ordered_names
ordered_permits
ordered_list
ordered_break

begin holder -t 30s nightly
ok 'a holder' wait_until 20 holds holder
key=$(entries nightly)
is "$(sed -n 's/^holder //p' "$W/held" | tail -n 1)" "$(consul_index "$key")" \
    'the fence is the CreateIndex of its key'
like "$key" '^lock:nightly/[0-9a-f-]{36}-x30-[0-9a-f]{32}:' \
    'the key names session, mode, ttl and owner'
end holder
session=$(consul_api GET session/list | jq -r '.[] | select(.TTL) | .TTL' | sort -u)
unlike "$session" '^[1-9]s' 'no session of less than 10 s'

# ---- Other programs ----------------------------------------------------------------

mkfifo "$W/until"
consul_lock() { # until something is written to $W/until
    consul_ctl lock "lock:$1" "echo in >'$W/ctl'; read -r x <'$W/until'" 2>/dev/null
}
has_ctl() { [ -s "$W/ctl" ]; }
rm -f "$W/ctl"
consul_lock foreign &
ctl=$!
ok '"consul lock" holds' wait_until 20 has_ctl
gives 75 'a try is refused' run -n foreign -- true
like "$err" 'consul.*lock' '... and tells of it'
gives 0 'it is listed' ls foreign
like "$out" 'consul.*lock' '... as what it is'
gives 75 'it is not broken' break foreign
like "$err" 'only with --now' '... with the reason'
begin after -w 60 foreign
is_second() { [ "$(entries foreign | wc -l)" = 2 ]; }
ok 'a waiter' wait_until 20 is_second
is "$(holds after && echo held)" '' 'it waits'
echo x >"$W/until"
ok 'it is granted the lock when "consul lock" has ended' wait_until 20 holds after
wait "$ctl" 2>/dev/null
end after

# ---- Locks that change hands ------------------------------------------------------------

read -r owner fence left < <(holdfast acquire -t 20s handed)
like "$owner $fence" '^[0-9a-f]{32}:.*@[0-9]+/20000 [0-9]+' 'acquire prints an owner'
gives 75 'it is held' run -n handed -- true
gives 0 'extend' extend handed --owner "$owner" -t 30s
gives 76 'another owner' release handed --owner \
    "$(tr 0-9a-f 1-9a-f0 <<<"${owner:0:32}")${owner:32}"
gives 0 'release' release handed --owner "$owner"
gives 76 'it is released once' release handed --owner "$owner"
gives 0 'the name is free' run -n handed -- true

ordered_dead_end 10000 40000

# ---- Several endpoints -------------------------------------------------------------

export HOLDFAST_URL="consul://127.0.0.1:1,127.0.0.1:${CONSUL_PORT[c1]},127.0.0.1:2?connect_timeout=5s"
for i in 1 2 3 4; do
    gives 0 "an endpoint that answers is found ($i)" run -n job -- true
done
finish
