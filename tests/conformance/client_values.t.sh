#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Values in an embedded store and on one server. See client_values.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"

server_start one
export HF_TEST_SOCKET=${SERVER_SOCK[one]}
contract 'embedded' "local://$W/store?node_timeout=3s" values
contract 'one server' "$(contract_urls one)" values
finish
