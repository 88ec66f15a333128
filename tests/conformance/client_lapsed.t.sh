#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A lock that is detached after its deadline.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

ok 'a server' servers_start 1
export HF_TEST_URL="${SERVER_URL[s1]}?quarantine=off&node_timeout=2s&connect_timeout=10s"
nested lapsed "$HF_BUILD/tests/conformance/client_lapsed"
finish
