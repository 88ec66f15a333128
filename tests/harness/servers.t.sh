#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tools of the tests: servers start, belong to the test, take commands, and
# are stopped at its end.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

ok "three servers on unix sockets" servers_start 3
is "$(server_cli s2 set a 1 px 60000)" OK "they serve"
is "$(wc -w <<<"$URLS")" 3 "URLS has one URL for each"
ok "one on TCP" server_start tcp --tcp
is "$(server_cli tcp ping)" PONG "it serves"
ok "one with TLS" server_start tls --tls
is "$(server_cli tls ping)" PONG "it serves"
ok "with a password" server_start secret -- --requirepass 'p w'
is "$(server_cli secret -a 'p w' ping)" PONG "it serves"

ok "with an append-only file" server_start aof --aof always
is "$(server_cli aof set kept 1)" OK "it serves"
pid=${SERVER_PID[aof]}
server_kill aof
ok "a killed server is gone" is_gone "$pid"
ok "it restarts" server_restart aof
is "$(server_cli aof get kept)" 1 "and has kept its data"

ok "under the clock shim" server_start clock --clock
server_cli clock set a 1 px 60000 >/dev/null
server_clock clock -3600
ttl=$(server_cli clock pttl a)
ok "its clock goes back an hour" test "$ttl" -gt 3600000
server_clock clock 120
is "$(server_cli clock get a)" "" "its clock goes on two minutes: expired"

ok "a server is stopped" server_pause s1
server_resume s1
is "$(server_cli s1 ping)" PONG "and goes on"
if have_valkey; then
    ok "valkey" server_start valkey --valkey
    like "$(server_cli valkey info server)" server_name:valkey "it is valkey"
else
    skip "valkey" "valkey-server is not installed"
fi
finish
