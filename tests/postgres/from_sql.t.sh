#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The calls of docs/scripts.md from SQL: its blocks, in order, print the text that
# follows them. PostgreSQL, and the call of MariaDB.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"

section() {
    sed -n '/^## From SQL$/,/^## /p' "$HF_SOURCE/docs/scripts.md"
}
section | awk -v base="$W/block" '
    /^```(sh|sql)$/ { file = sprintf("%s-%02d.%s", base, ++n, substr($0, 4)); next }
    /^```text$/ { file = sprintf("%s-%02d.text", base, n); next }
    /^```$/ { file = ""; next }
    file { print >file }'
blocks=("$W"/block-??.s*) texts=("$W"/block-??.text)
is "${#blocks[@]} ${#texts[@]}" '4 4' 'four blocks to type, with a text each'

postgres_start || skip_all "no PostgreSQL"
export HOLDFAST_URL="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
capture holdfast doctor --init
is "$code" 0 'the server counts'
fence=''
for block in "${blocks[@]}"; do
    sed -i -E "s/[0-9]{16}/$fence/" "$block"
    case $block in
    *.sh) capture sh "$block" ;;
    *.sql) capture pg -f "$block" ;;
    esac
    is "$(sed -E 's/[0-9]{16}/FENCE/' <<<"$out$err")" \
        "$(sed -E 's/[0-9]{16}/FENCE/' "${block%.*}.text")" "PostgreSQL: $(head -n 1 "$block")"
    [[ $out != *'|'* ]] || fence=${out#*|}
done
postgres_stop

. "$(dirname "$0")/../lib/mariadb.sh"
ok 'MariaDB starts' mariadb_start
export HOLDFAST_URL="mysql://root@/?socket=$W/maria/s&node_timeout=3s&connect_timeout=10s"
capture holdfast doctor --init
is "$code" 0 'MariaDB counts'
call=$(section | sed -n 's/^`\(CALL holdfast.*\)`\.$/\1/p')
is "$(sql -e "$call" | cut -f 1)" 1 'MariaDB: its call is granted the lock'
capture sh "${blocks[1]}"
is "$out" 'exit 75' 'MariaDB: then the command is refused'
finish
