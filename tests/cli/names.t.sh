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

told() { # URL TITLE: of names in the order given
    local title=$2 names fences owners events i
    export HOLDFAST_URL=$1
    for i in 1 2 3; do # else their fences might be the same
        holdfast run alpha -- true
    done
    gives 0 "$title: three names" run --status-fd 2 zeta alpha 'm n' -- \
        sh -c 'printf "%s\n" "$HOLDFAST_NAME" "$HOLDFAST_FENCE" "$HOLDFAST_OWNER"'
    {
        read -r names
        read -ra fences
        read -ra owners
    } <<<"$out"
    is "$names" 'zeta alpha m n' "$title: HOLDFAST_NAME in the order given"
    is "${#fences[@]}:${#owners[@]}" 3:3 "$title: a fence and an owner each"
    for i in 0 1 2; do
        like "${owners[i]:-}" "^[0-9a-f]{32}:[^@]*@${fences[i]:-none}\$" \
            "$title: owner $i goes with fence $i"
    done
    isnt "${owners[0]:-}" "${owners[1]:-}" "$title: owners differ"
    events=$(sed 's/^{"event":"\([a-z-]*\)".*/\1/' <<<"$err" | uniq | xargs)
    like "$events" '^waiting acquired (renewed )?released$' "$title: the events"
    like "$err" '"name":"zeta alpha m n","fence":'"${fences[0]:-none}"',"fences":\['"${fences[0]:-none},${fences[1]:-none},${fences[2]:-none}"'\]' \
        "$title: the fences in the events"
    gives 0 "$title: two of them, in another order" run alpha zeta -- \
        sh -c 'echo "$HOLDFAST_FENCE"'
    ok "$title: the fence of each has risen" test \
        "${out% *}" -gt "${fences[1]:-0}" -a "${out#* }" -gt "${fences[0]:-0}"
    gives 0 "$title: one name again" run alpha -- \
        sh -c 'echo "$HOLDFAST_NAME"; echo "$HOLDFAST_FENCE" | wc -w'
    is "$out" $'alpha\n1' "$title: has one of each"
}

all_or_none() { # URL TITLE
    local title=$2 first both
    export HOLDFAST_URL=$1
    begin one b
    first=$begun
    ok "$title: b is held" wait_until 10 holds one
    gives 75 "$title: a try of a, b, c" run -n a b c -- true
    like "$err" '^holdfast: a b c: b is held by .* pid [0-9]+' \
        "$title: names the lock and its holder"
    gives 75 "$title: a wait that ends" run -w 300ms c b a -- true
    gives 0 "$title: nothing of it is left" run -n a c -- true
    gives 0 "$title: --once says nothing" run --once 1h a b -- echo ran
    is "$out$err" '' "$title: and does not run"
    gives 99 "$title: -E" run -n -E 99 a b -- true
    begin both a b
    both=$begun
    ok "$title: a wait for all" wait_until 10 has_said both waiting
    ok "$title: does not run with some" test ! -e "$W/on.both"
    end one
    wait "$first"
    ok "$title: runs with all" wait_until 10 holds both
    gives 75 "$title: which are held then: a" run -n a -- true
    gives 75 "$title: and b" run -n b -- true
    end both
    wait "$both"
    is $? 0 "$title: and ends"
    gives 0 "$title: which frees all" run -n a b c -- true
    gives 0 "$title: shared, all of them" run -s a b -- \
        timeout 10 env -u HOLDFAST_OWNER holdfast run -n -s b a -- echo in
    is "$out" in "$title: by others, too"

    # Cancelled while it waits for the second.
    begin one b
    first=$begun
    wait_until 10 holds one
    begin both a b
    both=$begun
    wait_until 10 has_said both waiting
    kill -TERM "$both"
    wait "$both"
    is $? 143 "$title: SIGTERM while waiting for all"
    is "$(cat "$W/err.both")" \
        'holdfast: a b: stopped by SIGTERM while waiting' "$title: is said"
    gives 0 "$title: and its locks are free at once" run -n a -- true
    end one
    wait "$first"
    gives 0 "$title: and no waiter is ahead" run -n b a -- true

    gives 64 "$title: a name twice" run a b a -- true
    like "$err" 'a is given twice' "$title: is refused"
    gives 64 "$title: one of an ancestor's" run a b -- holdfast run c b -- true
    like "$err" '^holdfast: b: held by the `holdfast run` that' \
        "$title: is refused, and which is said"
    gives 0 "$title: others than an ancestor's" run a b -- \
        holdfast run c d -- echo in
}

# "a b" and "b a", over and over: no deadlock, no overlap.
opposite() { # URL TITLE
    local title=$2 i who waits=()
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
        is $? 0 "$title: one of four processes that take both, in opposite orders"
    done
    is "$(wc -l <"$W/transfers")" 32 "$title: all have run"
    ok "$title: one at a time" test ! -e "$W/overlaps"
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

# ---- Names whose keys are Holdfast's own ------------------------------------
# On a Redis the lock is the key PREFIXNAME. No lock's key begins with "hf:".
refused() { # TITLE COMMAND...
    local title=$1
    shift
    gives 64 "$title: refused, 64" "$@"
    is "$out" '' "$title: and does nothing"
    is "$(wc -l <<<"$err")" 1 "$title: with one line"
    like "$err" 'keys that begin with "hf:" are Holdfast.s own' "$title: it says why"
}
bare="${SERVER_URL[one]}?quarantine=off&node_timeout=1s&prefix="
refused 'run' run -u "$bare" hf:job -- echo ran
refused 'run -n' run -n -u "$bare" hf:node -- echo ran
refused 'run, one of several' run -u "$bare" job hf:job -- echo ran
refused 'run --on-unreachable run' run --on-unreachable run -n -u "$bare" hf:job -- \
    echo ran
refused 'run --once' run --once 1h -u "$bare" hf:job -- echo ran
refused 'a semaphore' run -p 2 -u "$bare" hf:job -- echo ran
refused 'acquire' acquire -u "$bare" hf:job
refused 'break' break -u "$bare" hf:job
refused 'ls' ls -u "$bare" hf:job
refused 'get' get -u "$bare" hf:job
refused 'a prefix that is the beginning' run -u "${bare}h" f:job -- echo ran
refused 'five servers' run -u "$URLS$query&prefix=" hf:job -- echo ran
for fine in "$bare hf" "$bare hf-job" "$bare job-hf:" "${bare}h f" \
    "${SERVER_URL[one]}$query hf:job" "local://$W/store hf:job"; do
    gives 0 "with ${fine%% *}: ${fine#* } is a name" run -u "${fine%% *}" \
        "${fine#* }" -- echo ran
    is "$out" ran 'and its command runs'
done

# ---- Without any store
gives 0 '--on-unreachable run' run --on-unreachable run -n -u \
    "redis+unix://$W/nosuch" p q -- sh -c 'echo "$HOLDFAST_NAME:$HOLDFAST_FENCE"'
is "$out" 'p q:0 0' 'a fence of 0 for each name'
finish
