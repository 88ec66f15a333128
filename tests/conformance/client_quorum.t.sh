#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The contract of the client on five servers.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"

servers_start 5
url=$(for i in 1 2 3 4 5; do echo "${SERVER_URL[s$i]}$CONTRACT_QUERY"; done)
contract "five servers" "${url//$'\n'/ }" "${CONTRACT_ONE[@]}" \
    "${CONTRACT_SEVERAL[@]}"
finish
