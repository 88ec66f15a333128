#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The contract of the client, as on the embedded store, on one server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"

# Keys of a name other than its counter: holder, queue, sharers.
keys() { # SERVER
    server_cli "$1" --raw keys '*' | # some names are not text
        LC_ALL=C grep -a -v -e ':fence$' -e '^hf:node$' | LC_ALL=C sort
}

server_start alone
url=$(contract_urls alone)
contract "one server" "$url" "${CONTRACT_ONE[@]}"
keys alone >"$W/before"
contract "one server" "$url" "${CONTRACT_SEVERAL[@]}"
left=$(keys alone | LC_ALL=C comm -13 "$W/before" -)
is "$left" "" "several names and permits leave no key"
contract "one server" "$url" sequences
finish
