#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A user with the rights in docs/stores.md can do everything. If one is missing,
# doctor names it, and a release without the right is an error.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 240

# ---- The documented rights, and the commands in the sources ------------------

rule=$(sed -n '/^ACL SETUSER holdfast/,/^```/{/^```/!p}' \
    "$HF_SOURCE/docs/stores.md" | tr -s ' \n' '  ')
read -r _ _ _ _ _ rights <<<"$rule"
like "$rights" '\+evalsha' 'docs/stores.md prints a user for locks'
commands=$(tr ' ' '\n' <<<"$rights" | sed -n 's/^+//p' | sort -u)
called=$(
    {
        cat "$HF_SOURCE"/src/store/redis/*.lua |
            grep -oE "call\('[A-Z]+'" | cut -d"'" -f2 | tr 'A-Z' 'a-z'
        echo ping info time 'config|get' eval evalsha scan hgetall hget \
            subscribe | tr ' ' '\n'
    } | sort -u
)
is "$commands" "$called" 'it lists the commands in the sources, and no others'

# ---- Each right alone ------------------------------------------------------

named() { # the rights that the findings name, but for those that are there
    grep -v '^ok:' <<<"$out" | grep -oE '[+][a-z]+([|][a-z]+)?|~[a-z]+:[*]|&hf:push:[*]' |
        sort -u | tr '\n' ' '
}
each_right() { # SERVER
    local right removed
    rights_url="redis+unix://holdfast:pw@${SERVER_SOCK[$1]}?max_ttl=10s"
    # shellcheck disable=SC2086 # a list of words
    server_cli "$1" ACL SETUSER holdfast on '>pw' $rights >"$W/log"
    capture holdfast doctor --init -u "$rights_url"
    is "$code" 0 "$1: the user for locks may declare"
    capture holdfast doctor -u "$rights_url"
    is "$code:$(named)" 0: "$1: and is fit"
    for right in $rights; do
        case $right in
        +* | '~'* | '&'*) ;;
        *) continue ;;
        esac
        removed=" $rights "
        removed=${removed/" $right "/ }
        # shellcheck disable=SC2086
        server_cli "$1" ACL SETUSER holdfast reset on '>pw' $removed >"$W/log"
        capture holdfast doctor -u "$rights_url"
        is "$(named)" "$right " "$1: without $right that is named"
        case $right in
        +scan | +publish | +subscribe | +ping | '+config|get' | '&'*)
            is "$code" 1 "$1: without $right: a warning"
            ;;
        *) is "$code" 2 "$1: without $right: unfit" ;;
        esac
    done
}
server_start one
each_right one
if have_valkey; then
    server_start valkey --valkey
    each_right valkey
    server_stop valkey
fi

# ---- Commands that the server does not have ----------------------------------

absent() { # CODE COMMAND LIKE OPTION...
    local want=$1 command=$2 words=$3 name=no-$2
    shift 3
    server_start "$name" "$@" -- --rename-command "$command" ''
    capture holdfast doctor -u "${SERVER_URL[$name]}?quarantine=off"
    is "$code" "$want" "without $command: exit $want"
    like "$out" "has no command ${command,,} \\(renamed or disabled\\): .*$words" \
        "without $command: it is named"
    is "$(grep -c '^unfit' <<<"$out")" $((want == 2)) \
        "without $command: one error, or none"
    server_stop "$name"
}
for option in '' --valkey; do
    [ -z "$option" ] || have_valkey || continue
    # shellcheck disable=SC2086 # an option or none
    {
        absent 2 EVALSHA 'no lock is safe' $option
        absent 2 ZADD 'no lock is safe' $option
        absent 1 SCAN 'holdfast ls' $option
        absent 1 PUBLISH 'waiters poll' $option
        absent 1 SUBSCRIBE 'waiters poll' $option
    }
done

# ---- An error names it too, also inside a script -----------------------------

rights_url="redis+unix://holdfast:pw@${SERVER_SOCK[one]}?max_ttl=10s"
without() { # RIGHT
    # shellcheck disable=SC2086
    server_cli one ACL SETUSER holdfast reset on '>pw' $rights \
        "${1/+/-}" >"$W/log"
}
without +exists
capture holdfast run -n -t 5s -u "$rights_url" job -- true
is "$code" 77 'acquire without +exists: 77'
like "$err" 'needs \+exists' 'and the line names it'
without +pexpire
capture holdfast acquire -t 9s -u "$rights_url" job
owner=${out%% *}
is "$code" 0 'acquire needs no +pexpire'
capture holdfast extend --ttl 5s -u "$rights_url" job --owner "$owner"
like "$code:$err" '77:.*needs \+pexpire' 'extend does, and says so'
without +del
capture holdfast release -u "$rights_url" job --owner "$owner"
like "$code:$err" '77:.*needs \+del' 'release without +del: 77, named'
server_cli one del lock:job >"$W/log"
capture holdfast run -n -t 5s -u "$rights_url" job -- true
is "$code" 77 'run without +del: 77'
like "$err" '^holdfast: job: the lock could not be released' 'and says that the lock remains'
is "$(wc -l <<<"$err")" 1 'in one line'
is "$(server_cli one exists lock:job)" 1 'as it does'
server_cli one del lock:job >"$W/log"
capture holdfast run -n -t 5s -u "$rights_url" job -- sh -c 'exit 3'
is "$code" 3 "a command's own code goes first"

finish
