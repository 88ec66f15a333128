#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The contract of the client on five servers.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"

servers_start 5
contract "five servers" "$(contract_urls s{1..5})" "${CONTRACT_ONE[@]}" \
    "${CONTRACT_SEVERAL[@]}" sequences
finish
