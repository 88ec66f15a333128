#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 180
# A stranger goes from nothing to a guarded write in PostgreSQL, and in MariaDB,
# by typing the blocks of docs/stores.md, in order, with another host than "db"
# alone. Each prints the text that follows it, and no command fails but the stale
# write.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/mariadb.sh"

# block-01.sh, block-01.text, ...: a text belongs to the block before it.
cut_out() { # SECTION SED: of the page, to $dir
    sed -n "/^## $1\$/,/^## /p" "$HF_SOURCE/docs/stores.md" | sed -E "$2" |
        awk -v base="$dir/block" '
            /^```sh$/ { file = sprintf("%s-%02d.sh", base, ++n); next }
            /^```text$/ { file = sprintf("%s-%02d.text", base, n); next }
            /^```/ { file = ""; next }
            file { print >file }'
}
# All blocks in one shell. A command that fails is printed behind its block.
type_in() { # BLOCK...
    local block
    {
        echo "set -E; trap 'echo \"failed: \$BASH_COMMAND\"' ERR"
        for block in "$@"; do
            printf 'exec >%q.out 2>&1\n. %q\n' "$block" "$block"
        done
        echo 'exit 0'
    } >"$dir/type.sh"
    capture env -C "$dir/home" HOME="$dir/home" timeout 60 bash "$dir/type.sh"
    is "$code:$err" 0: "$(basename "$dir"): all of them are run"
}
# Fences are numbers of 16 digits; the page leaves out PostgreSQL's CONTEXT.
check_block() { # BLOCK
    local what text=${1%.sh}.text want=''
    what="$(basename "$dir"): $(head -n 1 "$1")"
    sed -i -E 's/[0-9]{16}/FENCE/g' "$1.out"
    [ ! -e "$text" ] || is "$(sed '/^failed: \|^CONTEXT: /,$d' "$1.out")" \
        "$(sed -E 's/[0-9]{16}/FENCE/g' "$text")" "$what: its text"
    [[ $1 != *-05.sh ]] ||
        want='failed: HOLDFAST_NAME=account-7 HOLDFAST_FENCE=FENCE sh deposit.sh'
    is "$(grep '^failed: [^.]' "$1.out")" "$want" "$what: what fails"
}
walk() { # NAME SECTION SED
    local dir=$W/$1 block blocks texts
    mkdir -p "$dir/home"
    cut_out "$2" "$3"
    blocks=("$dir"/block-??.sh)
    texts=("$dir"/block-??.text)
    is "${#blocks[@]} ${#texts[@]}" '5 3' "$2: five blocks to type, three texts"
    type_in "${blocks[@]}"
    for block in "${blocks[@]}"; do
        check_block "$block"
    done
}
postgres_start || skip_all "no PostgreSQL"
mariadb_needed
unset HOLDFAST_URL

# ---- PostgreSQL: the new role needs its password
host=$PGHOST
sed -i -e 's/^local .*/local all postgres trust\nlocal all all scram-sha-256/' \
    "$host/data/pg_hba.conf"
is "$(pg -c 'SELECT pg_reload_conf()')" t 'it asks for passwords'
pg -c 'CREATE ROLE other LOGIN'
capture psql -w -U other -c 'SELECT 1'
like "$err" 'no password supplied' 'of all roles but its superuser'
unset PGHOST PGDATABASE
walk postgres PostgreSQL \
    "s|@db/app|@/app?host=$host|; s|-h db |-h $host |; s|^echo 'db:|echo '$host:|"
is "$(PGHOST=$host pg -d app -c 'SELECT balance FROM accounts')" 150 \
    'the guarded write is there, the stale one is not'

# ---- MariaDB
sql -e 'DROP DATABASE app'
walk mariadb 'MySQL and MariaDB' "s|@db/|@/?socket=$W/maria/s|; s|-h db |-S $W/maria/s |"
is "$(sql -e 'SELECT balance FROM accounts')" 150 \
    'the guarded write is there, the stale one is not'
finish
