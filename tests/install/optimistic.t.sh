#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# docs/optimistic.md does what it says: each block of shell (on one Redis) and of
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

server_start one
export HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
ok 'PostgreSQL starts' postgres_start

# All blocks of shell in one shell, so that variables last.
coproc SHELL_OF_DOCS { exec bash 2>&1; }
run_shell() { # FILE
    local line
    printf '. %q\necho\necho "=== end"\n' "$1" >&"${SHELL_OF_DOCS[1]}"
    while IFS= read -r -t 60 line <&"${SHELL_OF_DOCS[0]}" &&
        [ "$line" != '=== end' ]; do
        [ -z "$line" ] || echo "$line"
    done
}

shopt -s nullglob
n=0
for block in "$W"/block-*.sh "$W"/block-*.sql; do
    n=$((n + 1))
done
is "$(ls "$W"/block-*.text | wc -l)" $((n - 1)) "all blocks but one print something"
for block in $(printf '%s\n' "$W"/block-*.{sh,sql} | sort); do
    want=''
    [ ! -e "${block%.*}.text" ] || want=$(cat "${block%.*}.text")
    case $block in
    *.sh) got=$(run_shell "$block") ;;
    *.sql) got=$(pg -f "$block" 2>&1) ;;
    esac
    is "$got" "$want" "$(basename "$block"): $(head -n 1 "$block")"
done
echo exit >&"${SHELL_OF_DOCS[1]}"
finish
