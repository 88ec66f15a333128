#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# A stranger goes from nothing to a guarded write in PostgreSQL by typing the
# blocks of docs/stores.md, in order, with another host than "db" alone. Each
# prints the text that follows it, and no command fails but the stale write.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
postgres_start || skip_all "no PostgreSQL"
host=$PGHOST
# The new role needs its password.
sed -i -e 's/^local .*/local all postgres trust\nlocal all all scram-sha-256/' \
    "$host/data/pg_hba.conf"
is "$(pg -c 'SELECT pg_reload_conf()')" t 'it asks for passwords'
capture psql -w -U postgres -c 'CREATE ROLE other LOGIN'
capture psql -w -U other -c 'SELECT 1'
like "$err" 'no password supplied' 'of all roles but its superuser'
unset PGHOST PGDATABASE HOLDFAST_URL

# block-01.sh, block-01.text, ...: a text belongs to the block before it.
sed -n '/^## PostgreSQL$/,/^## /p' "$HF_SOURCE/docs/stores.md" |
    sed -E "s|@db/app|@/app?host=$host|g; s|-h db |-h $host |g; s|^echo 'db:|echo '$host:|" |
    awk -v base="$W/block" '
        /^```sh$/ { file = sprintf("%s-%02d.sh", base, ++n); next }
        /^```text$/ { file = sprintf("%s-%02d.text", base, n); next }
        /^```/ { file = ""; next }
        file { print >file }'
shopt -s nullglob
blocks=("$W"/block-*.sh)
is "${#blocks[@]}" 5 'the page has five blocks to type'
texts=("$W"/block-*.text)
is "${#texts[@]}" 3 'and says what three of them print'

# A command that fails is printed behind its block. Fences are numbers of 16
# digits; the page leaves out the server's CONTEXT.
mkdir "$W/home"
{
    echo "set -E; trap 'echo \"failed: \$BASH_COMMAND\"' ERR"
    for block in "${blocks[@]}"; do
        printf 'exec >%q.out 2>&1\n. %q\n' "$block" "$block"
    done
    echo 'exit 0'
} >"$W/type.sh"
capture env -C "$W/home" HOME="$W/home" timeout 60 bash "$W/type.sh"
is "$code:$err" 0: 'all of them are run'
for block in "${blocks[@]}"; do
    what=$(head -n 1 "$block")
    text=${block%.sh}.text
    sed -i -E 's/[0-9]{16}/FENCE/g' "$block.out"
    [ ! -e "$text" ] || is "$(sed '/^failed: \|^CONTEXT: /,$d' "$block.out")" \
        "$(sed -E 's/[0-9]{16}/FENCE/g' "$text")" "$what: its text"
    want=''
    [[ $block != *-05.sh ]] ||
        want='failed: HOLDFAST_NAME=account-7 HOLDFAST_FENCE=FENCE sh deposit.sh'
    is "$(grep '^failed: [^.]' "$block.out")" "$want" "$what: what fails"
done
is "$(PGHOST=$host pg -d app -c 'SELECT balance FROM accounts')" 150 \
    'the guarded write is there, the stale one is not'
finish
