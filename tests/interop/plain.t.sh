#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Plain redis-cli, SET NX PX and compare-and-delete, and Holdfast on one key.
# timeout: 300
# alone
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/contest.sh"

ok "a server" server_start s1
url=${SERVER_URL[s1]}
ok "it is a store" servers_declare "$url"
contest "redis-cli" "$url" "$HF_SOURCE/tests/interop/plain.sh" lock:contended \
    "${SERVER_SOCK[s1]}"

# Neither side can release or acquire the other's lock.
server_cli s1 set lock:strange theirs px 60000 >/dev/null
capture holdfast acquire -u "$url" --try strange
is "$code" 75 "what redis-cli holds is not acquired"
capture holdfast release -u "$url" strange --owner "theirs@1"
isnt "$code" 0 "nor released under a name that is no owner of ours"
capture holdfast acquire -u "$url" -t 20s mine
is "$code" 0 "a lock of ours"
is "$(server_cli s1 set lock:mine theirs px 1000 nx)" "" "redis-cli is refused"
server_cli s1 del lock:mine >/dev/null
server_cli s1 set lock:mine theirs px 60000 >/dev/null
capture holdfast release -u "$url" mine --owner "${out%% *}"
is "$code" 76 "taken over by force: our release says that it was lost"
is "$(server_cli s1 get lock:mine)" theirs "and leaves theirs alone"
finish
