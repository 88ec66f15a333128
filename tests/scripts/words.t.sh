#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of words judges the messages of commits: from a fixed one on, in a
# full and in a shallow clone; without that history it passes and reports that. It
# demands a body of those that touch src, include or cli.
. "$(dirname "$0")/../lib/tap.sh"

mkdir "$W/tree" && cd "$W/tree" || exit
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q . && git config gc.auto 0
commit() { # MESSAGE
    git commit -q --allow-empty -m "$1"
}

# The check, with another first commit, and only what it finds in messages.
check() {
    sed -E "s/^(first_judged|first_with_body)=.*/\1=${1:-$first}/" \
        "$HF_SOURCE/scripts/checks/words" >"$W/words"
    capture bash "$W/words"
    found=$(grep -E '^commit [0-9a-f]+: ' <<<"$out" | sed 's/^commit [0-9a-f]*: //')
}

commit 'No''body judges this: it is older.'
commit 'core: begin here'
first=$(git rev-parse HEAD)
check
is "$code:$out$err" 0: 'nothing behind the first commit'
commit 'core: reject late grants

A reply that comes behind the RELEASE is no vote. Lines end at column 72,
or a little behind it when the last word is a short one: this is column 88888888
A name without a blank may be longer:
https://example.org/a/name/that/is/longer/than/any/line/of/a/message/may/be/at/all'
commit 'cli, docs: feed a list'
check
is "$code:$out$err" 0: 'messages as they should be'

# MESSAGE FINDINGS: a message, in a history of its own.
refused() {
    commit "$1"
    check
    is "$code:$found" "1:$2" "refused: ${1%%$'\n'*}"
    git reset -q --hard "$good"
}
good=$(git rev-parse HEAD)
form='write `area: verb object`, without a full stop'
subject='core: count the votes of all nodes that have replied until then..'
refused "${subject%..}ab" "${subject%..}ab: at most 64 columns"
refused 'count votes' "count votes: $form"
refused 'core: Count votes' "core: Count votes: $form"
refused 'core: count votes.' "core: count votes.: $form"
for verb in counts counted counting; do
    refused "core: $verb votes" "core: $verb votes: write the verb in the imperative"
done
for subject in 'core: find who holds it' 'core: tell what is held' \
    'core: wait until told' 'core: let no''body in'; do
    refused "$subject" "$subject: name the component and its action"
done
sentence='Who''ever replied has a vote.'
refused "core: count votes

$sentence" "$sentence: name the component"
long='This line goes on and on, until it ends far behind the column seventy-two of all of it.'
refused "core: count votes

$long" "$long: wrap at 72 columns"
path="It was in /""root/tree."
refused "core: count votes

$path" "$path: a path of one machine"

# Of commits that touch what is shipped, a body.
touch_file() { # FILE
    mkdir -p "$(dirname "$1")" && echo "/* SPDX-License-Identifier: Apache-2.0 */" >"$1"
    git add "$1"
}
for file in src/core/vote.c include/holdfast/vote.h cli/vote.c; do
    touch_file $file
    refused 'core: count votes' 'core: count votes: write the reason in a body'
done
touch_file src/core/vote.c
refused 'core: count votes

Reviewed-by: A <a@b>' 'core: count votes: write the reason in a body'
touch_file src/core/vote.c
commit 'core: count votes

A reply that comes behind the RELEASE is no vote.'
touch_file tests/vote.c
commit 'tests: count votes'
check
is "$code:$out$err" 0: 'with a body, and elsewhere without one'
git reset -q --hard "$good"

# A clone with its last commits only.
commit 'core: counted'
commit 'core: count votes'
commit 'core: count more'
check
is "$code:$found" '1:core: counted: write the verb in the imperative' \
    'the commit before the last but one'
git clone -q --depth 2 "file://$W/tree" "$W/shallow"
cd "$W/shallow" || exit
check
is "$code:$out$err" 0: 'a shallow clone without it'
git fetch -q --depth 3
check
is "$code:$found" '1:core: counted: write the verb in the imperative' \
    'a shallow clone with it'

# A history that does not have the first commit at all.
cd "$W/tree" || exit
check 0123456789abcdef0123456789abcdef01234567
is "$code:$out$err" '0:no history from 0123456 on: no message was judged' 'another history'
rm -rf .git
check
like "$out" 'no history from .* on: no message was judged' 'no history'
is "$found" '' 'and no finding'
finish
