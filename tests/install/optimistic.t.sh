#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# docs/optimistic.md does what it says: each block of shell (in an embedded store,
# then on one Redis) and of
# SQL (in PostgreSQL) runs, in order, and prints the text that follows it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/databases.sh"
page=$HF_SOURCE/docs/optimistic.md

# block-01.sh, block-01.text, ...: a text belongs to the block before it.
awk -v base="$W/block" '
    /^```(sh|sql)$/ { file = sprintf("%s-%02d.%s", base, ++n, substr($0, 4)); next }
    /^```text$/ { file = sprintf("%s-%02d.text", base, n); next }
    /^```$/ { file = ""; next }
    file { print >file }' "$page"

ok 'PostgreSQL starts' postgres_start
shopt -s nullglob
shells=("$W"/block-*.sh)
texts=("$W"/block-*.text)
blocks=("$W"/block-*.sh "$W"/block-*.sql)
is "${#texts[@]}" $((${#blocks[@]} - 1)) "all blocks but one print something"

# All blocks of shell of one store in one shell, so that variables last.
run_shell() { # FILE
    local line
    printf '. %q\necho\necho "=== end"\n' "$1" >&"${SHELL_OF_DOCS[1]}"
    while IFS= read -r -t 60 line <&"${SHELL_OF_DOCS[0]}" &&
        [ "$line" != '=== end' ]; do
        [ -z "$line" ] || echo "$line"
    done
}
check_block() { # STORE BLOCK
    local want='' got
    [ ! -e "${2%.*}.text" ] || want=$(cat "${2%.*}.text")
    case $2 in
    *.sh) got=$(run_shell "$2") ;;
    *.sql) got=$(pg -f "$2" 2>&1) ;;
    esac
    is "$got" "$want" "$1: $(basename "$2"): $(head -n 1 "$2")"
}
check_store() { # STORE URL BLOCK...
    local block
    export HOLDFAST_URL=$2
    coproc SHELL_OF_DOCS { exec bash 2>&1; }
    for block in "${@:3}"; do
        check_block "$1" "$block"
    done
    echo exit >&"${SHELL_OF_DOCS[1]}"
    wait "$SHELL_OF_DOCS_PID"
}

server_start one
mapfile -t all < <(printf '%s\n' "${blocks[@]}" | sort)
check_store 'embedded' "local://$W/store?node_timeout=1s" "${shells[@]}"
check_store 'one Redis' "${SERVER_URL[one]}?quarantine=off&node_timeout=1s" \
    "${all[@]}"
finish
