#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is said of a server that is stopped. See client_unanswered.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

server_start one
export HF_TEST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=3s"
export HF_PID=${SERVER_PID[one]}
nested unanswered "$HF_BUILD/tests/conformance/client_unanswered"
finish
