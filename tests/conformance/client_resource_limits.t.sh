#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Resources that run out, on the embedded store and on a server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

nested "embedded" "$HF_BUILD/tests/conformance/client_resource_limits"
server_start alone
# A long timeout: on a loaded machine a reply may be slow.
HF_TEST_URL="${SERVER_URL[alone]}?quarantine=off&node_timeout=1s" \
    nested "one server" "$HF_BUILD/tests/conformance/client_resource_limits"

# The command without a free descriptor reports it, and runs nothing.
for n in 3 4 5 6 7 8 40; do
    out=$(ulimit -n "$n" && holdfast -u "local://$W/store" run -n x -- \
        true 2>&1)
    code=$?
    if [ "$n" = 40 ]; then
        is "$code" 0 "$n descriptors are enough"
    elif [ "$code" != 0 ]; then
        like "$out" '^holdfast: .+|error while loading' "$n descriptors: said"
    else
        pass "$n descriptors are enough"
    fi
done
finish
