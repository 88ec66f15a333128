#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# node-redlock (npm "redlock") and Holdfast on one key.
# Of two contests, one is drawn; the other library's test runs the other kind.
# timeout: 300
# alone
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/contest.sh"

npm_install
ok "three servers" servers_start 3
ok "one is a store" servers_declare "${SERVER_URL[s1]}"
! drawn_half 0 ||
    contest "node-redlock, one server" "${SERVER_URL[s1]}" \
        node "$W/node/contender.js" redlock lock:contended "${SERVER_SOCK[s1]}"

servers_empty
ok "three are a store" servers_declare "$URLS"
HF_VICTIM=s3
! drawn_half 1 ||
    contest "node-redlock, three servers, one dies" "$URLS" \
        node "$W/node/contender.js" redlock lock:contended "$SOCKETS"

ok "the third server is back" server_restart s3
servers_empty
ok "three are a store again" servers_declare "$URLS"
contest_strangers "$URLS" node "$W/node/stranger.js" redlock lock:strange \
    "$SOCKETS"
finish
