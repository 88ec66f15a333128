#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The second connection to a Redis server, on which grants are pushed: doctor reports
# each of its failures, and an address that leads to two servers is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

servers_start 2
for one in s1 s2; do
    servers_declare "${SERVER_URL[$one]}?max_ttl=1m"
done

# A load balancer in front of two targets; $url leads to it.
balanced_pid=''
balance() { # TARGET TARGET
    [ -z "$balanced_pid" ] || { kill "$balanced_pid" && wait "$balanced_pid"; } \
        2>/dev/null
    rm -f "$W/port"
    "$HF_BUILD/tests/lib/alternate" "$@" >"$W/port" &
    balanced_pid=$!
    wait_until 10 test -s "$W/port"
    url="redis://127.0.0.1:$(<"$W/port")?max_ttl=1m&connect_timeout=3s"
}
balance_end() {
    kill "$balanced_pid"
} 2>/dev/null
at_exit balance_end
first=${SERVER_SOCK[s1]}

# ---- It fails ------------------------------------------------------------------

balance "$first" "$first"
capture holdfast doctor -u "$url"
is "$code" 0 'both connections: fit'
for how in close hang; do
    balance "$first" $how
    capture holdfast doctor -u "$url"
    is "$code" 1 "the second connection, $how: a warning"
    like "$out" 'second connection.*waiters poll' "$how: it says what that costs"
done
server_cli s1 config set maxclients 1 >"$W/log"
capture holdfast doctor -u "${SERVER_URL[s1]}?max_ttl=1m"
is "$code" 1 'room for one connection: a warning'
# Its last words are lost if it has closed the connection before the client writes.
like "$out" 'second connection.*(max number of clients|Broken pipe).*waiters poll' \
    'its words, and what that costs'
server_cli s1 config set maxclients 100 >"$W/log"

# ---- It leads to another server ------------------------------------------------

balance "$first" "${SERVER_SOCK[s2]}"
capture holdfast doctor -u "$url"
is "$code" 2 'two servers behind one address: unfit'
like "$out" 'another server answers at this address.*lead to one server' \
    'and what to do'

holdfast acquire -t 1m -u "${SERVER_URL[s1]}?max_ttl=1m" busy >"$W/log"
balance "$first" "${SERVER_SOCK[s2]}"
capture timeout 60 holdfast run -v -w 2s -u "$url" busy -- echo ran
is "$out" '' 'a waiter that meets the other server does not run'
like "$err" "127.0.0.1:[0-9]+.*another server answers at this address" 'and logs why'

finish
