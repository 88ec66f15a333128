#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The length of a lease: its default, its limit, and its value after extend.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120

# The lease of the line that acquire and extend print, in whole seconds.
seconds() {
    local left=${1##* }
    echo "${left%.*}"
}

test_store() { # TITLE URL-FOR-12s URL-FOR-10m
    local title=$1 short="$2max_ttl=12s" long="$3max_ttl=10m" line owner left

    # The default.
    capture holdfast run -u "$short" job -- true
    is "$code:$err" 0: "$title: run in a store with a short max_ttl"
    capture holdfast acquire -u "$short" job
    is "$code:$err" 0: "$title: acquire there"
    ok "$title: for max_ttl ($(seconds "$out") s)" \
        test "$(seconds "$out")" -ge 4 -a "$(seconds "$out")" -le 12
    capture holdfast extend -u "$short" job --owner "${out%% *}"
    is "$code:$err" 0: "$title: extend there"
    ok "$title: release" holdfast release -u "$short" job --owner "${out%% *}"
    holdfast run -u "$short" --status-fd 3 job -- true 3>"$W/events"
    left=$(sed -nE '/"acquired"/s/.*"remaining_ms":([0-9]+).*/\1/p' "$W/events")
    ok "$title: run holds it for max_ttl ($left ms)" \
        test "$left" -ge 4000 -a "$left" -le 12000

    # The limit.
    for command in 'run' 'acquire' 'extend'; do
        args=(holdfast "$command" -u "$short" -t 2m job)
        [ $command != run ] || args+=(-- true)
        HOLDFAST_OWNER=$(printf '%032d:h:1:1@1' 0) capture "${args[@]}"
        is "$code" 64 "$title: $command -t 2m"
        like "$err" '^holdfast: -t/--ttl 2m: this store allows at most 12s \(max_ttl\); the ttl is not how long ' \
            "$title: $command explains the ttl"
        is "$(wc -l <"$W/.err")" 1 "$title: $command: one line"
    done
    capture holdfast run -u "$short" --kill-grace 10s job -- true
    is "$code" 64 "$title: --kill-grace above half of max_ttl"
    like "$err" 'at most half of the ttl, which is 12s' "$title: and its value"

    # extend
    line=$(holdfast acquire -u "$long" -t 5m job)
    owner=${line%% *}
    like "$owner" '@[0-9]+/300000$' "$title: acquire names the ttl"
    capture holdfast extend -u "$long" job --owner "$owner"
    is "$code:$err" 0: "$title: extend without --ttl"
    ok "$title: keeps the lock's ttl ($(seconds "$out") s)" \
        test "$(seconds "$out")" -gt 200
    is "${out%% *}" "$owner" "$title: and the text"
    capture holdfast extend -u "$long" -t 1m job --owner "$owner"
    ok "$title: extend --ttl ($(seconds "$out") s)" \
        test "$(seconds "$out")" -le 60
    like "${out%% *}" '@[0-9]+/60000$' "$title: which the text names"
    left=$(holdfast ls -u "$long" --json job | jq .remaining_ms)
    ok "$title: a shorter one leaves the lease before at the servers ($left ms)" \
        test "$left" -gt 200000
    capture holdfast extend -u "$long" job --owner "${out%% *}"
    ok "$title: and the next extend keeps ($(seconds "$out") s)" \
        test "$(seconds "$out")" -gt 25 -a "$(seconds "$out")" -le 60
    capture holdfast extend -u "$long" job --owner "${owner%/*}"
    is "$code:$err" 0: "$title: extend by a text that names no ttl"
    ok "$title: the default ($(seconds "$out") s)" \
        test "$(seconds "$out")" -gt 10 -a "$(seconds "$out")" -le 30
    capture holdfast extend -u "$long" job --owner "$owner/7"
    is "$code" 64 "$title: a text with two ttls"
    ok "$title: release by a text that names none" \
        holdfast release -u "$long" job --owner "${owner%/*}"
}

test_store embedded "local://$W/store?" "local://$W/store?"
query='?quarantine=off&node_timeout=2s&'
servers_start 6
one=("${SERVER_URL[s1]}" "${SERVER_URL[s2]}" "${SERVER_URL[s3]}")
test_store 'one redis' "${one[0]}$query" "${SERVER_URL[s4]}$query"
for i in 1 4; do
    server_cli s$i flushall >/dev/null
done
test_store 'three redis' "${one[*]}$query" \
    "${SERVER_URL[s4]} ${SERVER_URL[s5]} ${SERVER_URL[s6]}$query"

# Clients of the embedded store may differ in max_ttl and fence_keep: a smaller
# value of one neither shortens another's lease nor lowers a fence.
usual=local://$W/mixed
other="local://$W/mixed?max_ttl=2s&fence_keep=10s"
read -r owner before _ < <(holdfast acquire -u "$usual" idle)
holdfast release -u "$usual" idle --owner "$owner"
start=$(now_ms)
capture holdfast acquire -u "$usual" -t 1m long
is "$code" 0 'embedded: a lease of one client'
capture holdfast break -u "$other" --now --json long
ok 'embedded: a break by a client with a short max_ttl knows all of it' \
    test "$(jq .two_may_run_ms <<<"$out")" -gt 50000
capture holdfast acquire -u "$usual" -t 8s waited
since=$(now_ms)
capture timeout 60 holdfast break -u "$other" waited
took=$(($(now_ms) - since))
is "$code" 0 'embedded: a break that waits, by that client'
ok "embedded: for the whole lease ($took ms)" test $took -ge 7000
is_old() {
    [ $(($(now_ms) - start)) -gt 10500 ]
}
wait_until 20 is_old
sweep() { # each 64th write examines 64 names
    for _ in {1..33}; do
        holdfast run -u "$other" -t 1s busy -- true
    done
    [ "$(holdfast ls -u "$usual" --json idle | jq .fence)" = null ]
}
ok 'embedded: its fence_keep deletes the counter of an idle name' \
    wait_until 30 sweep
read -r _ after _ < <(holdfast acquire -u "$usual" idle)
ok "embedded: and the next fence is greater ($before, $after)" \
    test "$after" -gt "$before"
finish
