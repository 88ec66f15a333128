#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A command's view of its own lock: the environment, which must not contain the
# owner, and ps.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 60

test_store() { # TITLE
    local title=$1 verb
    for verb in release extend; do
        capture holdfast run job -- sh -c "holdfast $verb job; code=\$?
            env -u HOLDFAST_OWNER holdfast run -n job -- true 2>/dev/null
            echo \$code \$?"
        is "$out" '64 75' "$title: $verb inside is refused, and the lock still held"
        is "$code" 0 "$title: $verb inside: the command goes on"
        like "$err" '^holdfast: job: held by the `holdfast run` that this command runs under' \
            "$title: $verb inside: says so"
    done
    capture holdfast run a b -- sh -c 'holdfast release b; echo $?'
    is "$out" 64 "$title: one of several names"
    name=$'two\nlines'
    capture holdfast run "$name" -- sh -c 'holdfast release "$HOLDFAST_NAME"; echo $?'
    is "$out" 64 "$title: a name of two lines"
    # On purpose.
    capture holdfast run job -- sh -c 'holdfast release job --owner "$HOLDFAST_OWNER"; echo $?'
    like "$code:$err" '^76:holdfast: job: ' "$title: --owner releases it, and run says so"
    # The script's own lock, as in docs/scripts.md.
    line=$(holdfast acquire -t 50s job)
    for verb in 'run job -- true' 'run -n job -- true' 'acquire job' \
        'run other -- holdfast run job -- true'; do
        # shellcheck disable=SC2086 # words
        HOLDFAST_OWNER=${line%% *} capture timeout 60 holdfast $verb
        is "$code:$err" '64:holdfast: job: held by an owner in HOLDFAST_OWNER, '"\
from \`holdfast acquire\`: it would wait for itself; release that lock first, or \
leave this one out" "$title: of acquire: $verb"
    done
    HOLDFAST_OWNER=${line%% *} holdfast release job
    line=$(holdfast acquire -st 50s job)
    HOLDFAST_OWNER=${line%% *} capture timeout 60 holdfast run -s job -- true
    like "$code:$err" '^64:holdfast: job: held by an owner in HOLDFAST_OWNER, .*: sharing it twice, ' \
        "$title: shared, of acquire"
    HOLDFAST_OWNER=${line%% *} holdfast release job
    capture holdfast run job -- holdfast run job -- true
    like "$code:$err" '^64:.* runs under: it would wait for itself; leave this one out$' \
        "$title: of run"
    # A lock of the command's own.
    # shellcheck disable=SC2016 # the command's
    capture holdfast run job -- sh -c '
        line=$(holdfast acquire other) || exit
        export HOLDFAST_OWNER=${line%% *}
        holdfast extend other >/dev/null && holdfast release other'
    is "$code:$err" 0: "$title: acquire, extend and release inside of another name"
}

export HOLDFAST_URL=local://$W/store
test_store embedded
server_start one
HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=1s"
test_store 'one redis'

HOLDFAST_URL=local://$W/store
# shellcheck disable=SC2016 # the command's
capture holdfast run zeta 'm n' alpha -- sh -c '
    printf "%s\n" "$HOLDFAST_NAMES" | while IFS= read -r name; do echo "<$name>"; done'
is "$out" $'<zeta>\n<m n>\n<alpha>' 'HOLDFAST_NAMES: one a line, in the order given'
out=$(HOLDFAST_NAMES=old holdfast run job -- sh -c 'echo "$HOLDFAST_NAMES"')
is "$out" job 'HOLDFAST_NAMES: inherited ones are replaced'
capture holdfast acquire other
HOLDFAST_OWNER="a@1 b@2" capture holdfast run -n other -- true
is "$code" 75 'HOLDFAST_OWNER of locks that are not asked for'
like "$err" '^holdfast: other: held by ' '... and the holder is named'

# shellcheck disable=SC2016 # the command's
capture holdfast run job -- sh -c 'keeper=$PPID
    wrapper=$(ps -o ppid= -p $keeper | tr -d " ")
    for pid in $wrapper $keeper; do
        ps -o comm= -p $pid
        ps -o args= -p $pid | cut -c-40
    done'
like "$out" $'^holdfast\n[^\n]*holdfast run job.*\nholdfast-keeper?\n[^\n]*\\(keeper\\) run job' \
    'ps tells wrapper and keeper apart'

# The recipe of docs/scripts.md and of the man page by which a script starts
# itself under its lock: also below a daemon that an earlier run has left, with
# the environment of that run.
docs_recipe() {
    sed -n '/^Or let the script start itself/,/^If the lock/p' \
        "$HF_SOURCE/docs/scripts.md" | sed -n '/^```sh/,/^```$/p' | grep -v '^```'
}
man_recipe() {
    sed -n '/^The same, with everything that the script starts/,/^\.Ed/p' \
        "$HF_SOURCE/docs/holdfast.1" | sed 's/\\-/-/g' | sed '/^The same\|^\.[BE]d/d'
}
export HOLDFAST_URL=local://$W/recipe
for recipe in docs_recipe man_recipe; do
    {
        echo '#!/bin/sh'
        $recipe
        echo 'holdfast ls -q deploy; held=$?; echo "$# $1 $2 $held"'
    } >"$W/$recipe"
    chmod +x "$W/$recipe"
    is "$(timeout 60 "$W/$recipe" 'a b' '')" '2 a b  0' "$recipe: takes the lock"
    is "$(timeout 60 "$W/$recipe")" '0   0' "$recipe: without arguments"
    is "$(cd "$W" && timeout 60 sh "$recipe" x y)" '2 x y 0' "$recipe: started as sh SCRIPT"
    chmod -x "$W/$recipe"
    is "$(timeout 60 sh "$W/$recipe" x y)" '2 x y 0' "$recipe: not executable"
    chmod +x "$W/$recipe"
    capture timeout 60 holdfast run deploy -- sh -c 'env >"$0"' "$W/stale"
    is "$(timeout 60 env "$(grep ^HOLDFAST_NAME= "$W/stale")" \
        "$(grep ^HOLDFAST_OWNER= "$W/stale")" "$W/$recipe" x y)" \
        '2 x y 0' "$recipe: in the environment of an earlier run"
done
finish
