#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ls: the table and its modes, semaphores in one row, a name with its queue,
# and all of it for programs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

pids=()
judge() { # ARG... : by jq's answer
    jq -e "$@" >/dev/null
}
end_runs() {
    [ ${#pids[@]} != 0 ] || return 0
    kill "${pids[@]}" 2>/dev/null
    wait "${pids[@]}" 2>/dev/null
    pids=()
}
at_exit end_runs

run() { # ARG... : a command that holds, or waits, until the test ends
    holdfast run "$@" -- sleep 300 2>/dev/null &
    pids+=($!)
}
# Each waiter is queued before the next one starts, so that places are in order.
queued() { # NAME N
    [ "$(holdfast ls --json "$1" | jq -r .waiting)" = "$2" ]
}
held() { # NAME
    [ "$(holdfast ls --json "$1" | jq -r .state)" != free ]
}
row() { # NAME : its row of the table, blanks squeezed
    holdfast ls "$1*" | awk -v name="$1" '$1 == name' | tr -s ' ' |
        sed 's/ $//'
}
place() { # NAME FILTER : of the first node
    holdfast ls --json "$1" | jq -r ".nodes[0]$2"
}
row_begins() { # TEXT
    holdfast ls | grep -q "^$1"
}
no_row() {
    [ -z "$(row "$1")" ]
}

see() { # URL TITLE
    local title=$2 host
    host=$(uname -n)
    export HOLDFAST_URL=$1
    is "$(holdfast ls)" '' "$title: nothing is held: not even a header"

    # Exclusive, with a queue.
    run --label first job
    ok "$title: held" wait_until 10 held job
    run --label second job
    ok "$title: one waits" wait_until 10 queued job 1
    run -s --label 'the third' job
    ok "$title: two wait" wait_until 10 queued job 2
    like "$(row job)" "^job exclusive ${host//./\\.} [0-9]+ [0-9:]{8} [0-9.]+s [0-9]+ 2 first\$" \
        "$title: a row of the table"
    like "$(holdfast ls | head -n 1)" \
        '^NAME +MODE +HOLDER +SINCE +LEFT +FENCE +WAITING +LABEL$' \
        "$title: under its header"
    capture holdfast ls job
    like "$out" "^job: held by $host pid [0-9]+ since [0-9:]+ \(first\), frees by [0-9:]+, fence [0-9]+, 2 waiting"$'\n' \
        "$title: the name, in a line"
    like "$out" $'\n'"       1\. $host pid [0-9]+, exclusive, waiting since [0-9:]+ \(second\)"$'\n'"       2\. $host pid [0-9]+, shared, waiting since [0-9:]+ \(the third\)\$" \
        "$title: and its queue, in order"
    is "$(place job '.holders[0] | .label, .mode' | xargs)" 'first exclusive' \
        "$title: --json: the holder"
    is "$(place job '.queue[] | "\(.ahead) \(.label) \(.mode)"' | xargs)" \
        '0 second exclusive 1 the third shared' "$title: --json: the queue"
    # shellcheck disable=SC2016
    ok "$title: --json: since when they wait" judge --argjson now "$(now_ms)" \
        '[.nodes[0].queue[] | $now - .waiting_since_ms] |
         .[0] >= .[1] and .[0] < 60000 and .[1] > -1000' \
        <<<"$(holdfast ls --json job)"
    is "$(holdfast ls --json 'job*' | jq -r '.state, .waiting' | xargs)" \
        'held 2' "$title: --json of the list"
    is "$(holdfast ls --json '[!k]ob' | jq -r .name)" job \
        "$title: a pattern of characters that are excluded, as in a shell"
    is "$(holdfast ls --json '[!j]ob' 2>&1; holdfast ls --json '[^j]ob' 2>&1)" '' \
        "$title: one that excludes the name"
    run 'j]b'
    run 'j-b'
    ok "$title: names with signs" wait_until 10 row_begins 'j]b '
    ok "$title: both of them" wait_until 10 row_begins 'j-b '
    # shellcheck disable=SC2317
    matches() { # PATTERN NAMES
        is "$(holdfast ls --json "$1" | jq -r .name | xargs)" "$2" "$title: ls '$1'"
    }
    matches 'j[]o]b' 'j]b job'
    matches 'j[!]o]b' j-b
    matches 'j[^]-]b' job
    matches 'j[o-]b' 'j-b job'
    matches 'j[\]]b' 'j]b'
    matches 'j[\n-p]b' job
    matches 'j[p-n]b' job

    # Readers.
    run -s --label r1 book
    run -s --label r2 book
    # shellcheck disable=SC2317
    two_read() { [ "$(place book '.holders | length')" = 2 ]; }
    ok "$title: two read" wait_until 10 two_read
    run book
    wait_until 10 queued book 1
    like "$(row book)" '^book shared 2 - - [0-9.]+s [0-9]+ 1$' \
        "$title: a row of readers"
    capture holdfast ls book
    like "$out" '^book: held by 2 readers, frees by [^,]*, fence [0-9]+, 1 waiting' \
        "$title: readers in a line"
    is "$(grep -oE '\(r[12]\)' <<<"$out" | sort | xargs)" '(r1) (r2)' \
        "$title: and each of them"
    is "$(holdfast ls --json 'book*' | jq -r '.state, .sharers, .permits' |
        xargs)" 'shared 2 0' "$title: readers in JSON"

    # A semaphore.
    run -p 2 --label g1 gpu
    # shellcheck disable=SC2317
    permits() { [[ $(row gpu) == "gpu permits $1 "* ]]; }
    ok "$title: one permit" wait_until 10 permits 1/2
    like "$(row gpu)" "^gpu permits 1/2 $host [0-9]+ [0-9:]{8} [0-9.]+s [0-9]+ - g1\$" \
        "$title: one holder of a semaphore is shown"
    run -p 2 --label g2 gpu
    run -p 2 --label g3 gpu
    ok "$title: one waits for a permit" wait_until 10 queued gpu 1
    ok "$title: two permits" wait_until 10 permits 2/2
    like "$(row gpu)" "^gpu permits 2/2 $host [0-9]+ \+1 - [0-9.]+s - 1\$" \
        "$title: a row of a full semaphore"
    unlike "$(holdfast ls)" 'gpu#' "$title: its slots have no rows"
    is "$(holdfast ls --json 'gpu*' | jq -r .name | xargs)" 'gpu gpu#0 gpu#1' \
        "$title: programs get every name"
    capture holdfast ls gpu
    like "$out" '^gpu: 2 of 2 permits held, .*, 1 waiting'$'\n' \
        "$title: a semaphore in a line"
    is "$(grep -oE '^ +(#[01]|1\.) .*\(g[123]\)' <<<"$out" |
        sed -E 's/^ +(#?[01]\.?) .*/\1/' | xargs)" '#0 #1 1.' \
        "$title: slot by slot, and one queue"
    is "$(holdfast ls --json gpu |
        jq -r '[.nodes[0].slots[].holders[].label] | sort | length')" 2 \
        "$title: slots in JSON"
    is "$(holdfast ls --json gpu | jq -r '.nodes[0].slots[0].queue | length')" \
        1 "$title: each with its queue"

    # Names that only resemble a slot.
    run 'gpu#7'
    run 'gpu#01'
    run 'cpu#0'
    ok "$title: gpu#7 is no slot of two" \
        wait_until 10 row_begins 'gpu#7 '
    ok "$title: gpu#01 is none" \
        wait_until 10 row_begins 'gpu#01 '
    ok "$title: cpu#0 is none" wait_until 10 row_begins 'cpu#0 '
    end_runs
    ok "$title: all gone" wait_until 10 no_row job
}

see "local://$W/store" embedded
server_start one
see "${SERVER_URL[one]}?quarantine=off&node_timeout=1s" 'one redis'

# By node: one of three is down.
servers_start 3
export HOLDFAST_URL="$URLS?node_timeout=1s"
servers_declare "$HOLDFAST_URL"
run --label here job
wait_until 10 held job
run --label next job
ok 'three nodes: one waits' wait_until 10 queued job 1
all_agree() {
    out=$(holdfast ls job)
    [[ $out =~ all\ 3\ nodes\ .*held\ by ]] && [[ ! $out =~ /s/s ]] &&
        [ "$(wc -l <<<"$out")" = 3 ]
}
ok 'three nodes: all agree' wait_until 10 all_agree
server_kill s3
capture holdfast ls job
is "$code" 0 'three nodes, one away: exit 0'
one_line_of_both() {
    out=$(holdfast ls job)
    [ "$(grep -cE '^ +1\. .*\(next\)' <<<"$out")" = 1 ] &&
        [ "$(grep -c 'nodes 1, 2 of 3 .*held by' <<<"$out")" = 1 ]
}
ok 'three nodes: one line, and one queue, of those that agree' \
    wait_until 10 one_line_of_both
like "$out" "${SERVER_SOCK[s3]} +(down|connecting)" \
    'three nodes: the state of the third'
# It comes back without data: it shows another holder, or none.
server_restart s3
third_is_quarantined() {
    out=$(holdfast ls job)
    [[ $out =~ nodes\ 1,\ 2\ of\ 3\ .*held\ by ]] &&
        [[ $out =~ ${SERVER_SOCK[s3]}\ .*\(quarantined ]]
}
ok 'three nodes: the third answers, and does not count' \
    wait_until 10 third_is_quarantined
is "$(holdfast ls --json job | jq '.nodes | length')" 3 \
    'three nodes: JSON has each of them'
end_runs
finish
