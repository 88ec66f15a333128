#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# Kleppmann's story, as docs/fencing.md tells it: a holder reads, is stopped
# past its lease, and writes when another holder has written. Without a guard
# an update is lost; with one the write is refused. All that is typed are the
# blocks of that page, in order, but for the store's folder.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
postgres_start || skip_all "no PostgreSQL"
export PGUSER=postgres
unset PGDATABASE

page() { # LANGUAGE: its blocks in the example
    sed -n "/^## The example, to type\$/,/^## /{/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}}" \
        "$HF_SOURCE/docs/fencing.md"
}
mkdir "$W/here"
page bash >"$W/here/deposit.sh"
ok 'the page has a script' grep -q 'kill -STOP' "$W/here/deposit.sh"

# After the lines of the page: A is stopped before B begins, and the result.
{
    cat <<'END'
stopped() {
    for _ in {1..300}; do
        [[ $(sed 's/.*) //' "/proc/$1/stat") == T* ]] && echo '= A stopped' && return
        sleep 0.05
    done
}
result() { # WHO CODE
    echo "= $1 $2 $(psql -XAtqc 'SELECT balance FROM accounts')"
}
END
    page sh | sed -E "s|HOLDFAST_URL=local:|HOLDFAST_URL=local://$W/store|
        s|stop &\$|&\nstopped \$!|
        s|^bash deposit.sh [a-z]+ 50.*|&\nresult B \$?|
        s|wait %1.*|&\nresult A \$?|"
} >"$W/type.sh"
capture env -C "$W/here" bash "$W/type.sh"
is "$(grep '^= ' <<<"$out")" '= A stopped
= B 0 150
= A 0 130
= A stopped
= B 0 150
= A 1 150' 'the deposit of B is lost without the guard, and there with it'
numbers() {
    sed -E 's/[0-9]{16}/N/g'
}
# The page leaves out the server's CONTEXT, which ends the message.
is "$(sed '/^CONTEXT: /,$d; /^holdfast: /d' <<<"$err" | numbers)" \
    "$(sed -n '/^    ERROR:  /,/^$/s/^    //p' "$HF_SOURCE/docs/fencing.md" | numbers)" \
    'A is refused as the page says, and the server refuses nothing else'
finish
