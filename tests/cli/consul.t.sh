#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Commands on a real Consul: exit codes, order, fences, dead holders, a session
# that is destroyed, a server that stands still, other programs' locks, odd names;
# locks that are broken, handed on, reserved; permits; lists.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/killed.sh"
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
killed_begin true -t 3s
HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"
ordered_order
ordered_lost
ordered_watched session
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

consul_lock() { # NAME
    consul_ctl lock "lock:$1" "$foreign_script" 2>/dev/null
}
ordered_foreign_begin '"consul lock"' consul_lock
capture timeout 20 holdfast ls foreign
like "$out" 'consul.*lock' 'it is listed as what it is'
ordered_foreign_wait '"consul lock"'
end after
ordered_handed
ordered_dead_end 10000 40000
killed_end 30000 # its session has 10 s, and ends within 20 s

# ---- A node that is not in the catalog -----------------------------------------------------

# The agent registers it again, a minute later at most.
member=$(consul_api GET agent/self | jq -c '{Node: .Config.NodeName, Address: .Member.Addr,
    ID: .Config.NodeID, Datacenter: .Config.Datacenter}')
is_unregistered() { # COMMAND...: the command meets a node without registration
    consul_api PUT catalog/deregister "$(jq '{Node, Datacenter}' <<<"$member")" \
        >/dev/null || return
    "$@"
    grep -q 'not registered' "$W/unregistered"
}
try_unregistered() {
    capture timeout 60 holdfast run -n unregistered -- true
    echo "$err" >"$W/unregistered"
}
waiter=''
wait_unregistered() {
    [ -z "$waiter" ] || { kill "$waiter" && wait "$waiter"; } 2>/dev/null
    holdfast run -vv -w 200 unregistered -- echo ran >"$W/ran" 2>"$W/unregistered" &
    waiter=$!
    pids+=("$waiter")
    wait_until 5 grep -q 'not registered' "$W/unregistered"
}
ok 'a node that is not registered' wait_until 20 is_unregistered try_unregistered
is "$code" 69 '... grants no lock yet'
ok 'a waiter meets one' wait_until 20 is_unregistered wait_unregistered
consul_api PUT catalog/register "$member" >/dev/null
wait "$waiter"
is "$?:$(cat "$W/ran")" 0:ran '... and goes on to wait, until it is registered'

# ---- Several endpoints -------------------------------------------------------------

ordered_endpoints "consul://127.0.0.1:1,127.0.0.1:${CONSUL_PORT[c1]},127.0.0.1:2?connect_timeout=5s"
finish
