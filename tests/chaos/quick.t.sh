#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every fault once, on real servers, with our own clients: tests/chaos/run.
# timeout: 500
. "$(dirname "$0")/../lib/tap.sh"

command -v redis-server >/dev/null || skip_all "redis-server is not installed"
options=(--quick)
# A sanitized build has been through the library's own tests: here a part.
if is_sanitized "$HF_BUILD/tests/chaos/client"; then
    options+=(--only 'cut,reset,swallow,stop-client,kill-client,empty-majority')
fi
"$HF_SOURCE/tests/chaos/run" "${options[@]}" --report "$W/report.md" \
    --keep "$W/run" >"$W/out" 2>"$W/err"
code=$?
while read -r line; do
    case $line in
    'ok - '*) pass "${line#ok - }" ;;
    'not ok - '*) fail "${line#not ok - }" ;;
    'skip - '*) line=${line#skip - } && skip "${line%%: *}" "${line#*: }" ;;
    '#'*) echo "$line" ;;
    esac
done <"$W/out"
is $code 0 "the run says that all is well"
is "$(cat "$W/run/holdfast/clients.out")" "" "no client complains"
ok "there is a report" grep -q '^| seconds |' "$W/report.md"
diag "$(tail -n 1 "$W/out")"
diag "$(cat "$W/err" "$W/report.md")"
finish
