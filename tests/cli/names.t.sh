#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several names in one request: all or none, in any order, and the command gets
# the data of each.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
# timeout: 180

# A transfer between two accounts, which no other process may touch meanwhile.
cat >"$W/transfer" <<'X'
#!/bin/sh
for account; do
    mkdir "$account.in" || echo "$account" >>"$W/overlaps"
done
for account; do
    rmdir "$account.in"
done
echo "$HOLDFAST_NAME" >>"$W/transfers"
X
chmod +x "$W/transfer"
export W

told() { # URL WHAT: of names in the order given
    local what=$2 names fences owners events i
    export HOLDFAST_URL=$1
    for i in 1 2 3; do # else their fences might be the same
        holdfast run alpha -- true
    done
    gives 0 "$what: three names" run --status-fd 2 zeta alpha 'm n' -- \
        sh -c 'printf "%s\n" "$HOLDFAST_NAME" "$HOLDFAST_FENCE" "$HOLDFAST_OWNER"'
    {
        read -r names
        read -ra fences
        read -ra owners
    } <<<"$out"
    is "$names" 'zeta alpha m n' "$what: HOLDFAST_NAME in the order given"
    is "${#fences[@]}:${#owners[@]}" 3:3 "$what: a fence and an owner each"
    for i in 0 1 2; do
        like "${owners[i]:-}" "^[0-9a-f]{32}:[^@]*@${fences[i]:-none}\$" \
            "$what: owner $i goes with fence $i"
    done
    isnt "${owners[0]:-}" "${owners[1]:-}" "$what: owners differ"
    events=$(sed 's/^{"event":"\([a-z-]*\)".*/\1/' <<<"$err" | uniq | xargs)
    like "$events" '^waiting acquired (renewed )?released$' "$what: the events"
    like "$err" '"name":"zeta alpha m n","fence":'"${fences[0]:-none}"',"fences":\['"${fences[0]:-none},${fences[1]:-none},${fences[2]:-none}"'\]' \
        "$what: the fences in the events"
    gives 0 "$what: two of them, in another order" run alpha zeta -- \
        sh -c 'echo "$HOLDFAST_FENCE"'
    ok "$what: the fence of each has risen" test \
        "${out% *}" -gt "${fences[1]:-0}" -a "${out#* }" -gt "${fences[0]:-0}"
    gives 0 "$what: one name again" run alpha -- \
        sh -c 'echo "$HOLDFAST_NAME"; echo "$HOLDFAST_FENCE" | wc -w'
    is "$out" $'alpha\n1' "$what: has one of each"
}

all_or_none() { # URL WHAT
    local what=$2 first both
    export HOLDFAST_URL=$1
    begin one b
    first=$begun
    ok "$what: b is held" wait_until 10 holds one
    gives 75 "$what: a try of a, b, c" run -n a b c -- true
    like "$err" '^holdfast: a b c: b is held by .* pid [0-9]+' \
        "$what: names the lock and its holder"
    gives 75 "$what: a wait that ends" run -w 300ms c b a -- true
    gives 0 "$what: nothing of it is left" run -n a c -- true
    gives 0 "$what: --once says nothing" run --once 1h a b -- echo ran
    is "$out$err" '' "$what: and does not run"
    gives 99 "$what: -E" run -n -E 99 a b -- true
    begin both a b
    both=$begun
    ok "$what: a wait for all" wait_until 10 has_said both waiting
    ok "$what: does not run with some" test ! -e "$W/on.both"
    end one
    wait "$first"
    ok "$what: runs with all" wait_until 10 holds both
    gives 75 "$what: which are held then: a" run -n a -- true
    gives 75 "$what: and b" run -n b -- true
    end both
    wait "$both"
    is $? 0 "$what: and ends"
    gives 0 "$what: which frees all" run -n a b c -- true
    gives 0 "$what: shared, all of them" run -s a b -- \
        timeout 10 env -u HOLDFAST_OWNER holdfast run -n -s b a -- echo in
    is "$out" in "$what: by others, too"

    # Cancelled while it waits for the second.
    begin one b
    first=$begun
    wait_until 10 holds one
    begin both a b
    both=$begun
    wait_until 10 has_said both waiting
    kill -TERM "$both"
    wait "$both"
    is $? 143 "$what: SIGTERM while waiting for all"
    is "$(cat "$W/err.both")" \
        'holdfast: a b: stopped by SIGTERM while waiting' "$what: is said"
    gives 0 "$what: and what it had is free at once" run -n a -- true
    end one
    wait "$first"
    gives 0 "$what: and no waiter is ahead" run -n b a -- true

    gives 64 "$what: a name twice" run a b a -- true
    like "$err" 'a is given twice' "$what: is refused"
    gives 64 "$what: one of an ancestor's" run a b -- holdfast run c b -- true
    like "$err" '^holdfast: b: held by the `holdfast run` that' \
        "$what: is refused, and which is said"
    gives 0 "$what: others than an ancestor's" run a b -- \
        holdfast run c d -- echo in
}

# "a b" and "b a", over and over: no deadlock, no overlap.
opposite() { # URL WHAT
    local what=$2 i who waits=()
    export HOLDFAST_URL=$1
    rm -rf "$W"/*.in "$W/overlaps" "$W/transfers"
    mkdir -p "$W/accounts"
    for who in 1 2 3 4; do
        (
            cd "$W/accounts" || exit 1
            for i in 1 2 3 4 5 6 7 8; do
                if [ $((who % 2)) = 0 ]; then
                    holdfast run -w 60 x y -- "$W/transfer" x y
                else
                    holdfast run -w 60 y x -- "$W/transfer" x y
                fi || exit 1
            done
        ) &
        waits+=($!)
    done
    for i in "${waits[@]}"; do
        wait "$i"
        is $? 0 "$what: one of four processes that take both, in opposite orders"
    done
    is "$(wc -l <"$W/transfers")" 32 "$what: all have run"
    ok "$what: one at a time" test ! -e "$W/overlaps"
}

server_start one
servers_start 5
query='?quarantine=off&node_timeout=1s'
for store in "local://$W/store embedded" \
    "${SERVER_URL[one]}$query one redis" "${URLS// /%}$query five redis"; do
    url=${store%% *}
    url=${url//%/ }
    told "$url" "${store#* }"
    all_or_none "$url" "${store#* }"
    opposite "$url" "${store#* }"
done

# ---- Without any store
gives 0 '--on-unreachable run' run --on-unreachable run -n -u \
    "redis+unix://$W/nosuch" p q -- sh -c 'echo "$HOLDFAST_NAME:$HOLDFAST_FENCE"'
is "$out" 'p q:0 0' 'a fence of 0 for each name'
finish
