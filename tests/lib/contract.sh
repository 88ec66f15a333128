# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# The contract of the client on servers of its own. Source after tap.sh.
#
#   contract TITLE URL PART...    runs conformance/client_PART, each of its cases
#                                 a case "TITLE, PART: ..."
#   contract_urls SERVER...       prints their URLs
#   keeps PART [CASE...]          a case: all cases of conformance/client_PART
#                                 pass, but those, on $KEEPS_URL and PART; for
#                                 stores that lack some (scripts/checks/parity).
#                                 CASE?: it passes now and then, by its timing.
#                                 With CONTRACT_THIRD=0|1|2, of three stores that
#                                 share a machine: one drawn of them runs each PART
#                                 but "lock" and "break", which all of them run
#   keeps_ahead PART...           begins to run these, one after the other, in the
#                                 background; a later `keeps PART` waits for them
. "$(dirname "${BASH_SOURCE[0]}")/servers.sh"
. "$(dirname "${BASH_SOURCE[0]}")/nested.sh"
. "$(dirname "${BASH_SOURCE[0]}")/drawn.sh"

# Long timeouts: on a loaded machine a reply may be slow. Longer ones have no
# effect: a client waits at most a twentieth of a lease, which is 60 s at most.
CONTRACT_QUERY='?quarantine=off&node_timeout=3s&connect_timeout=5s'
CONTRACT_ONE=(lock loop threads callbacks cancel started async async_end look
    break)
CONTRACT_SEVERAL=(names multi_name_deadlock multi_name_handle semaphore)

contract() {
    local title=$1 part
    export HF_TEST_URL=$2
    shift 2
    for part; do
        nested "$title, $part" "$HF_BUILD/tests/conformance/client_$part"
    done
}

contract_urls() {
    local server urls=''
    for server; do
        urls+=" ${SERVER_URL[$server]}$CONTRACT_QUERY"
    done
    echo "${urls# }"
}

# By the place of the part among all of them.
keeps_is_drawn() { # PART
    local parts=("${CONTRACT_ONE[@]}" "${CONTRACT_SEVERAL[@]}") i
    [ -n "${CONTRACT_THIRD:-}" ] && [[ $1 != lock && $1 != break ]] || return 0
    for i in "${!parts[@]}"; do
        [ "${parts[i]}" != "$1" ] || break
    done
    drawn_of 3 $(((i + CONTRACT_THIRD) % 3))
}

keeps_run() { # PART
    env HF_TEST_URL="$KEEPS_URL$1" CMOCKA_MESSAGE_OUTPUT=TAP \
        "$HF_BUILD/tests/conformance/client_$1"
}

keeps_ahead() { # PART...
    local part parts=()
    for part; do
        ! keeps_is_drawn "$part" || parts+=("$part")
    done
    for part in "${parts[@]}"; do
        : >"$W/ahead.$part"
    done
    for part in "${parts[@]}"; do
        keeps_run "$part" >"$W/ahead.$part.out" 2>"$W/ahead.$part.err" </dev/null
        echo $? >"$W/ahead.$part.code.new"
        mv "$W/ahead.$part.code.new" "$W/ahead.$part.code"
    done &
}

keeps_ran() { # PART: as keeps_run
    wait_until 300 [ -e "$W/ahead.$1.code" ]
    cat "$W/ahead.$1.out"
    cat "$W/ahead.$1.err" >&2
    return "$(cat "$W/ahead.$1.code" 2>/dev/null || echo 1)"
}

keeps() { # PART [CASE...]
    local part=$1 cases failed case want='' run=keeps_run
    shift
    keeps_is_drawn "$part" || { diag "the contract, $part: of another store"; return; }
    [ ! -e "$W/ahead.$part" ] || run=keeps_ran
    capture "$run" "$part"
    # shellcheck disable=SC2154 # capture's
    cases=$(grep -cE '^(not )?ok [0-9]+ - ' <<<"$out")
    failed=$(sed -nE 's/^not ok [0-9]+ - (.*)/\1/p' <<<"$out" | tr '\n' ' ')
    for case in "$@"; do
        [[ $case == *\? && " $failed" != *" ${case%\?} "* ]] || want+="${case%\?} "
    done
    is "$failed" "$want" "the contract, $part: all but $# of $cases cases"
    is "1..$cases" "$(grep '^1\.\.' <<<"$out")" "the contract, $part: to its end"
    # A case that fails leaves its client open: a leak, for a sanitizer.
    # shellcheck disable=SC2154
    [ $# -gt 0 ] || is "$code" 0 "the contract, $part: without any error"
    [ "$failed" = "$want" ] || diag "$(head -n 40 <<<"$out$err")"
}
