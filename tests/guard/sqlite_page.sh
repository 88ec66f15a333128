# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The commands of docs/fencing.md about SQLite, run as they stand. Source after tap.sh.
#
#   page_is_true STALE     cases; STALE is the error of a stale fence

page_is_true() {
    local dir
    dir=$(mktemp -d "$W/page.XXXXXX")
    sed -n '/^## SQLite/,/^## /{/^```sh$/,/^```$/{/^```/d;p}}' \
        "$HF_SOURCE/docs/fencing.md" >"$dir/page.sh"
    capture env -C "$dir" HOLDFAST_URL="local://$dir/store" sh "$dir/page.sh"
    like "$err" "$1" 'the page: A is refused'
    unlike "$err" 'syntax|not found|no such' 'the page: nothing else fails'
    like "$out" $'(^|\n)150(\n|$)' 'the page: the deposit of B is there'
    like "$err" 'UPDATE of accounts presents no fence' 'the page: its trigger'
    is "$(sqlite3 "$dir/bank.db" 'SELECT id FROM accounts')" '' \
        'the page: the row is deleted in the end'
}
