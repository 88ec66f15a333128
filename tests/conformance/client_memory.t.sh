#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Every allocation fails once, on the embedded store and on a server; of those on
# three servers a part, drawn from the sources.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/drawn.sh"
. "$(dirname "$0")/../lib/nested.sh"

nested "embedded" "$HF_BUILD/tests/conformance/client_memory"
server_start alone
HF_TEST_URL="${SERVER_URL[alone]}?quarantine=off&node_timeout=1s" \
    nested "one server" "$HF_BUILD/tests/conformance/client_memory"
servers_start 3
HF_TEST_SEED=$(drawn_seed)
export HF_TEST_SEED
diag "HF_TEST_SEED=$HF_TEST_SEED"
three=''
for server in s1 s2 s3; do
    three+=" ${SERVER_URL[$server]}?quarantine=off&node_timeout=1s"
done
HF_TEST_EVERY=${HF_TEST_EVERY:-4} HF_TEST_URL=${three# } \
    nested "three servers" "$HF_BUILD/tests/conformance/client_memory"
finish
