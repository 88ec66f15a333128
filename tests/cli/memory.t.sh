#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# valgrind on the command: no error and no leak, in wrapper and keeper.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 300
command -v valgrind >/dev/null || skip_all 'no valgrind'
! is_sanitized "$HF_BUILD/holdfast" || skip_all 'a sanitizer is in'

# COMMAND ends with CODE, under valgrind as without. valgrind writes a file for
# each process.
clean() { # CODE COMMAND...
    local want=$1
    shift
    rm -f "$W"/vg.*
    capture valgrind -q --leak-check=full --show-leak-kinds=definite \
        --errors-for-leak-kinds=definite \
        --error-exitcode=99 --trace-children=no --log-file="$W/vg.%p" \
        holdfast "$@"
    is "$code" "$want" "holdfast ${1:-} ${2:-} ${3:-} ...: exit $want"
    is "$(cat "$W"/vg.* | grep '^==')" '' "holdfast ${1:-} ${2:-} ...: clean"
}

server_start one
# Shared by root's group: as doctor --init leaves it.
install -d -m 2750 "$W/store"
# A command under valgrind may take seconds to start and to read what has come.
local_url="local://$W/store?max_ttl=10m"
redis_url="${SERVER_URL[one]}?quarantine=off&max_ttl=10m&node_timeout=10s"
holdfast doctor --init -u "$local_url" 2>/dev/null
for HOLDFAST_URL in "$local_url" "$redis_url"; do
    export HOLDFAST_URL
    clean 0 run x -- true
    clean 3 run x -- sh -c 'exit 3'
    clean 127 run x -- "$W/nosuch"
    clean 0 run --once 1h once -- true
    clean 0 run --once 1h once -- true
    clean 124 run --max-hold 1s --kill-grace 100ms x -- sleep 100
    clean 0 acquire -t 10m held
    owner=${out%% *}
    clean 75 run -n held -- true
    clean 75 acquire -w 1s held
    clean 0 extend held --owner "$owner"
    clean 0 ls
    clean 0 ls --json held
    clean 0 release held --owner "$owner"
    clean 76 release held --owner "$owner"
    clean 0 break --now held
    [ "$(id -u)" != 0 ] || clean 0 doctor --init
done
server_kill one
clean 69 run -n x -- true
clean 64 run --tll 5 x -- true
clean 0 help run
finish
