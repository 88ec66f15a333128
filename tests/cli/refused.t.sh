#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Each call of holdfast(1) to the C library is refused once, by a limit, a disk, a
# right or a signal.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

export W
server_start one
mkdir "$W/store"
nested 'the embedded store' "$HF_BUILD/tests/lib/refuse" "local://$W/store"
nested 'one Redis' "$HF_BUILD/tests/lib/refuse" \
    "${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
finish
