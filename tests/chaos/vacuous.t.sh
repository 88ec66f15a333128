#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether tests/chaos/run can fail: with servers that lose their data,
# quarantine=off and a holder that is stopped, it must find two holders at once.
# timeout: 400
. "$(dirname "$0")/../lib/tap.sh"

command -v redis-server >/dev/null || skip_all "redis-server is not installed"
if grep -qE '__[at]san_init' "$HF_BUILD/tests/chaos/client"; then
    skip_all "once is enough, and the plain build does it"
fi
# A lease that outlasts the restart of the servers, on a loaded machine too.
export TTL_MS=4000
found=''
for seed in 1 2 3 4 5 6 7 8; do
    "$HF_SOURCE/tests/chaos/run" --soak 25s --seed $seed \
        --only 'empty-majority,stop-client' --parameters quarantine=off \
        >"$W/out" 2>&1
    code=$?
    if grep -q '^not ok - holdfast: no two believe' "$W/out"; then
        found=1
        break
    fi
done
is "$found" 1 "without a quarantine two hold at once, and it is found"
is $code 1 "and the run fails"
like "$(grep '^# ' "$W/out")" 'two held at once' "and says which"
diag "$(cat "$W/out")"
finish
