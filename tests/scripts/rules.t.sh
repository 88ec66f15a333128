#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 60
# The check of rules finds what RULES.md and the four nodes say differently: a
# citation that was taken out, one more, a rule more, a rule without a reason.
. "$(dirname "$0")/../lib/tap.sh"

mkdir "$W/tree"
(cd "$HF_SOURCE" && find src/store model/RULES.md scripts/checks/rules -type f \
    -print0 | tar -c --null -T -) | tar -x -C "$W/tree"
cd "$W/tree" || exit
capture scripts/checks/rules
is "$code:$out$err" 0: "the tree as it is passes"

planted() { # FILE SED FINDING WHAT
    cp "$1" "$W/kept"
    sed -i "$2" "$1"
    ok "$4: it is planted" eval "! cmp -s '$1' '$W/kept'"
    capture scripts/checks/rules
    is "$code:$err" 1: "$4: fails"
    is "$(sed -E 's/:[0-9]+:/:N:/' <<<"$out" | sort)" "$3" "$4: is named"
    cp "$W/kept" "$1"
}
for one in redis/confirm.lua local/verbs.c postgres/schema/55-confirm.sql \
    mysql/schema/55-confirm.sql; do
    file=src/store/$one
    planted "$file" 's/[^ ]* Rule: naive-raise\..*//; s/, naive-raise\./\./' \
        "$file: does not cite naive-raise" "a citation less in $one"
    planted "$file" '5s/$/ Rule: no-such-rule./' \
        "$file:N: RULES.md has no rule \"no-such-rule\"" \
        "a rule that there is not, in $one"
done

lua=src/store/redis/confirm.lua
planted $lua '5s/$/ Rule: no-floor./' \
    "$lua:N: no-floor is cited, not listed in RULES.md" \
    'a citation in another file than that of the rule'
planted $lua 's/Rule: naive-raise\./Rule: naive-raise/' "$lua: does not cite naive-raise
$lua:N: names, and a full stop, follow Rule:" 'a citation that does not end'
planted $lua 's/naive-raise/naive-rise/' "$lua: does not cite naive-raise
$lua:N: RULES.md has no rule \"naive-rise\"" 'a misspelt rule'
pg=src/store/postgres/schema/50-acquire.sql
planted $pg '/unfair-barge,$/{n;s/marker-not-compared/no-such-rule/}' \
    "$pg:N: RULES.md has no rule \"no-such-rule\"" 'the second line of a citation'

rules=model/RULES.md
planted $rules '/^| `hint-refused` | `acq/d' \
    "RULES.md: hint-refused: acquire.lua has it, and is not in the table of the nodes
src/store/local/verbs.c:N: hint-refused is cited, not listed in RULES.md
src/store/mysql/schema/50-acquire.sql:N: hint-refused is cited, not listed in RULES.md
src/store/postgres/schema/50-acquire.sql:N: hint-refused is cited, not listed in RULES.md
src/store/redis/acquire.lua:N: hint-refused is cited, not listed in RULES.md" \
    'a rule that the table of the nodes lacks'
planted $rules 's/^| `hint-refused` | a hint/| `hint-denied` | a hint/' \
    "RULES.md: hint-denied: acquire.lua has it, and is not in the table of the nodes
RULES.md: no rule hint-refused for the nodes
src/store/local/verbs.c:N: RULES.md has no rule \"hint-refused\"
src/store/mysql/schema/50-acquire.sql:N: RULES.md has no rule \"hint-refused\"
src/store/postgres/schema/50-acquire.sql:N: RULES.md has no rule \"hint-refused\"
src/store/redis/acquire.lua:N: RULES.md has no rule \"hint-refused\"" \
    'a rule that has another name now'
planted $rules 's/^| `naive-raise` | `confirm.lua` | `verbs.c`/&, `gone.c`/' \
    "RULES.md: naive-raise: no file src/store/local/gone.c
src/store/local/gone.c: does not cite naive-raise" 'a file that there is not'
planted $rules 's/^- \*no marker\*/- *no mark*/' \
    'RULES.md: "no marker" is not explained' 'an exception without its reason'
planted $rules 's/^| `hint-refused` | `acquire.lua` |[^|]*/& | /' \
    "RULES.md: hint-refused: no file of src/store/postgres/schema/, and no reason
src/store/postgres/schema/50-acquire.sql:N: hint-refused is cited, not listed in RULES.md" \
    'a node without a rule, and without a reason'
finish
