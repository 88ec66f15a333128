#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Calls of the system that fail: against one server by its name, against one
# with TLS, and against three. And bad arguments on one server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"

server_start alone
contract "one server" "$(contract_urls alone)" calls bad_args
server_start named --tcp
contract "by name" "redis://localhost:${SERVER_PORT[named]}$CONTRACT_QUERY" calls
server_start sealed --tls
contract "sealed" "$(contract_urls sealed)&tls_ca=$W/tls/ca.crt" calls
servers_start 3
contract "three servers" "$(contract_urls s{1..3})" calls bad_args
finish
