#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Every allocation fails once, on the embedded store and on a server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

nested "embedded" "$HF_BUILD/tests/conformance/client_memory"
server_start alone
HF_TEST_URL="${SERVER_URL[alone]}?quarantine=off&node_timeout=1s" \
    nested "one server" "$HF_BUILD/tests/conformance/client_memory"
finish
