#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Redis store on Valkey: the same tests as on Redis.
. "$(dirname "$0")/../lib/tap.sh"

command -v valkey-server >/dev/null || skip_all "no valkey-server"
failed=0
for test in redis_scripts redis_data_loss redis_watch redis_faults redis_listen \
    redis_queue redis_shared redis_edited; do
    HF_TEST_SERVER=valkey-server "$HF_BUILD/tests/conformance/$test" || failed=1
done
tap_finished=1
exit $failed
