#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Semaphores from the shell: never more than N, each with a slot of its own
# and a fence that rises for each slot; all users of a name agree on N.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
# timeout: 180

gives_s=30

# A witness: one folder for each slot in use, so their number is the number of
# holders. Only one process can create a folder.
cat >"$W/work" <<'X'
#!/bin/sh
cd "$1" || exit 1
mkdir "in.$HOLDFAST_SLOT" || echo "slot $HOLDFAST_SLOT twice" >>wrong
[ "$(ls -d in.* 2>/dev/null | wc -l)" -le "$2" ] || echo "more than $2" >>wrong
[ "$HOLDFAST_SLOT" -ge 0 ] && [ "$HOLDFAST_SLOT" -lt "$2" ] ||
    echo "slot $HOLDFAST_SLOT of $2" >>wrong
last=$(cat "fence.$HOLDFAST_SLOT" 2>/dev/null)
[ "$HOLDFAST_FENCE" -gt "${last:-0}" ] ||
    echo "fence $HOLDFAST_FENCE after $last in slot $HOLDFAST_SLOT" >>wrong
echo "$HOLDFAST_FENCE" >"fence.$HOLDFAST_SLOT"
echo "$HOLDFAST_SLOT" >>done
rmdir "in.$HOLDFAST_SLOT"
X
chmod +x "$W/work"

of_two() { # URL TITLE
    local title=$2 one two three
    export HOLDFAST_URL=$1
    begin one -p 2 pool
    one=$begun
    begin two --permits 2 pool
    two=$begun
    ok "$title: two have it" wait_until 10 eval 'holds one && holds two'
    is "$(cat "$W/on.one" "$W/on.two" | sort | xargs)" '0 1' \
        "$title: each a slot"
    like "$(cat "$W/events.one")" '"acquired".*"fence":[0-9]+,"slot":[01],' \
        "$title: the slot in the events"
    gives 75 "$title: a third is too many" run -n -p 2 pool -- true
    like "$err" '^holdfast: pool: .*2 permits' "$title: says how many there are"
    gives 75 "$title: an exclusive request for the name" run -n pool -- true
    gives 75 "$title: or a shared one" run -n -s pool -- true
    gives 64 "$title: a request with another number" run -p 3 pool -- true
    like "$err" 'semaphore of 2 permits, not of 3' "$title: names both numbers"
    gives 75 "$title: -w" run -w 300ms -p 2 pool -- true
    begin three -p 2 pool
    three=$begun
    ok "$title: a third waits" wait_until 10 has_said three waiting
    end one
    ok "$title: and gets the returned permit" wait_until 10 holds three
    wait "$one"
    begin one -p 2 pool
    one=$begun
    ok "$title: another waits" wait_until 10 has_said one waiting
    kill -TERM "$one"
    wait "$one"
    is $? 143 "$title: until SIGTERM"
    end two
    end three
    wait "$two" "$three"
    is $? 0 "$title: all end well"
    gives 0 "$title: another number when all have gone" \
        run -n -p 3 pool -- sh -c 'echo "$HOLDFAST_SLOT"'
    like "$out" '^[012]$' "$title: has more slots"
    gives 0 "$title: or the name alone" run -n pool -- true
    gives 0 "$title: one permit" run -n -p 1 pool -- \
        sh -c 'echo "$HOLDFAST_SLOT"'
    is "$out" 0 "$title: is slot 0"
    gives 64 "$title: of an ancestor's" run -p 2 pool -- \
        holdfast run -p 2 pool -- true
    like "$err" '^holdfast: pool: held by the `holdfast run` that' \
        "$title: is refused"
}

# A permit that is reserved has a name, and is broken by it. The name of the
# semaphore is free meanwhile.
reserved() { # URL TITLE
    local title=$2
    export HOLDFAST_URL=$1
    gives 0 "$title: a permit is reserved" run -p 1 --min-hold 1h rate -- true
    gives 75 "$title: for others" run -n -p 1 rate -- true
    like "$err" 'rate: the only permit is kept taken after its end' \
        "$title: says so"
    gives 1 "$title: is not held" ls -q rate
    gives 0 "$title: break of the semaphore" break rate
    gives 75 "$title: leaves it" run -n -p 1 rate -- true
    gives 0 "$title: break of the permit" break -n 'rate#0'
    like "$out" '^rate#0 was kept taken after the end of .* and is free' \
        "$title: names it"
    gives 0 "$title: frees it" run -n -p 1 rate -- true
}

contenders() { # URL TITLE N
    local title=$2 n=$3 who i pid waits=()
    export HOLDFAST_URL=$1
    rm -rf "$W/contenders"
    mkdir "$W/contenders"
    for who in 1 2 3 4 5 6; do
        (
            for i in 1 2 3 4 5; do
                holdfast run -w 60 -p "$n" pool -- \
                    "$W/work" "$W/contenders" "$n" || exit 1
            done
        ) &
        waits+=($!)
    done
    for pid in "${waits[@]}"; do
        wait "$pid"
        is $? 0 "$title: one of six is served five times"
    done
    is "$(wc -l <"$W/contenders/done")" 30 "$title: all have run"
    is "$(cat "$W/contenders/wrong" 2>/dev/null)" '' \
        "$title: never more than $n, a slot each, fences that rise"
    ok "$title: and the slots were used" \
        test "$(sort -u "$W/contenders/done" | wc -l)" = "$n"
}

# HOLDFAST_SLOT is set only for a permit.
export HOLDFAST_URL=local://$W/store
HOLDFAST_SLOT=7 gives 0 'a lock that is no permit' run x -- \
    sh -c 'echo "${HOLDFAST_SLOT-none}"'
is "$out" none 'has no slot, whatever was inherited'
HOLDFAST_SLOT=7 gives 0 'without the lock' run -n --on-unreachable run -p 2 \
    -u "redis+unix://$W/nosuch" x -- sh -c 'echo "${HOLDFAST_SLOT-none}"'
is "$out" none 'nor then'

# Every second permit is held by another library. The one that is tried first is
# held in half of the runs, and the next one is free: a run that queued for all
# 128 would send more than that.
of_many() { # URL of the server "one"
    local i before after
    export HOLDFAST_URL=$1
    for ((i = 0; i < 128; i += 2)); do
        echo "SET lock:large#$i other PX 60000"
    done | server_cli one >"$W/large"
    is "$(sort "$W/large" | uniq -c | xargs)" '64 OK' 'half of 128 permits are held'
    before=$(evaluated)
    for ((i = 0; i < 20; i++)); do
        holdfast run -n -p 128 large -- sh -c 'echo "$HOLDFAST_SLOT"'
    done >"$W/large"
    after=$(evaluated)
    is "$(grep -c '[13579]$' "$W/large")" 20 'twenty tries get another one'
    ok "with few requests ($((after - before)))" \
        test $((after - before)) -lt 300
}

evaluated() { # the scripts that the server "one" has run
    server_cli one info commandstats |
        sed -nE 's/^cmdstat_evalsha:calls=([0-9]+),.*/\1/p'
}

server_start one
servers_start 5
query='?quarantine=off&node_timeout=1s'
for store in "local://$W/store embedded" \
    "${SERVER_URL[one]}$query one redis" "${URLS// /%}$query five redis"; do
    url=${store%% *}
    url=${url//%/ }
    of_two "$url" "${store#* }"
    reserved "$url" "${store#* }"
    contenders "$url" "${store#* }" 2
done
of_many "${SERVER_URL[one]}$query"
finish
