#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The client on servers that are stopped, dead, or refuse. See client_faults.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

server_start one
server_start secret -- --requirepass secret
servers_start 5
export HF_ONE_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=500ms"
export HF_ONE_PID=${SERVER_PID[one]}
export HF_SECRET_URL="${SERVER_URL[secret]}?quarantine=off"
HF_PIDS=$(for i in 1 2 3 4 5; do echo "${SERVER_PID[s$i]}"; done)
HF_TEST_URL=$(for i in 1 2 3 4 5; do
    echo "${SERVER_URL[s$i]}?quarantine=off&node_timeout=2s&connect_timeout=10s"
done)
HF_TEST_URL=${HF_TEST_URL//$'\n'/ }
export HF_PIDS HF_TEST_URL

nested faults "$HF_BUILD/tests/conformance/client_faults"
finish
