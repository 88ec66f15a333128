#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# Waiting and sharing, as on the embedded store, on one server and on five.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"

server_start alone
contract "one server" "$(contract_urls alone)" wait share
servers_start 5
contract "five servers" "$(contract_urls s{1..5})" wait share
finish
