#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# "since" is the time of the grant, and not of the begin of the wait. It is
# derived from the fence, to within a step of the clock floor of 4.2 s. In ls,
# top, a try and the waiting line.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
# timeout: 120
pty=$HF_BUILD/tests/lib/pty

servers_start 4
three="${SERVER_URL[s1]} ${SERVER_URL[s2]} ${SERVER_URL[s3]}"
declare -A url=([local]="local://$W/store"
    [one]="${SERVER_URL[s4]}?quarantine=off&node_timeout=1s"
    [three]="$three?quarantine=off&node_timeout=1s") terminal=()
stores='local one three'

waits_for() { # STORE N
    holdfast ls --json -u "${url[$1]}" job | grep -q "\"waiting\":$2"
}
# On a terminal, in the queue from before the hand-over; its steps come later.
begin_terminal() { # STORE
    mkfifo "$W/steps.$1"
    timeout 60 "$pty" holdfast run -u "${url[$1]}" job -- true \
        <"$W/steps.$1" >"$W/terminal.$1" &
    terminal[$1]=$!
}
top_since() { # STORE CLOCK
    timeout 60 "$pty" holdfast top -u "${url[$1]}" <<S
drawn SINCE
drawn $2
send \n
drawn since $2
send q
S
}
for store in $stores; do
    begin "first.$store" -u "${url[$store]}" job
    ok "$store: held" wait_until 10 holds "first.$store"
    begin "second.$store" -u "${url[$store]}" job
    ok "$store: and waited for" wait_until 10 waits_for "$store" 1
    begin_terminal "$store"
done
exec 5>"$W/steps.local" 6>"$W/steps.one" 7>"$W/steps.three"
declare -A steps=([local]=5 [one]=6 [three]=7)
for store in $stores; do
    echo 'size 24 200' >&"${steps[$store]}"
    ok "$store: and on a terminal" wait_until 10 waits_for "$store" 2
done
is_new() { # STORE OLD
    local said
    said=$(holdfast ls -u "${url[$1]}" job | grep -v waiting) &&
        [[ $said != *"$2"* ]]
}
asked=$EPOCHSECONDS
is_later() {
    [ "$EPOCHSECONDS" -ge $((asked + 11)) ]
}
wait_until 20 is_later
for store in $stores; do
    ended=$EPOCHSECONDS
    end "first.$store"
    ok "$store: handed over" wait_until 10 holds "second.$store"
    granted=$EPOCHSECONDS
    capture holdfast ls --json -u "${url[$store]}" job
    # The floor rounds down, so the grant may seem earlier.
    since=$(sed -nE 's/^.*"name":"job"[^[]*"since":([0-9]+).*/\1/p' <<<"$out")
    ok "$store: ls --json: since its grant ($((since - ended)) s)" \
        test "$since" -ge $((ended - 6)) -a "$since" -le "$granted"
    ok "$store: not since it asked" test "$since" -gt $((asked + 3))
    clock=$(date -d "@$since" +%H:%M:%S)
    like "$(holdfast ls -u "${url[$store]}")" "$clock" "$store: ls"
    like "$(holdfast ls -u "${url[$store]}" job)" "^job: held .* since $clock" \
        "$store: ls NAME"
    # The release may not have reached a minority yet.
    ok "$store: nor its holder, in the queue" \
        wait_until 10 is_new "$store" "since $(date -d "@$asked" +%H:%M:%S)"
    capture holdfast run -n -u "${url[$store]}" job -- true
    like "$err" "since $clock" "$store: a try"
    echo "like waiting .* held by [^,]* since $clock" >&"${steps[$store]}"
    eval "exec ${steps[$store]}>&-"
    wait "${terminal[$store]}"
    is $? 0 "$store: the waiting line"
    [ ! -s "$W/terminal.$store" ] || cat "$W/terminal.$store"
    if [ -x "$HF_BUILD/holdfast-top" ]; then
        TERM=xterm ok "$store: top, and its waiters" \
            top_since "$store" "$clock"
    fi
    begin "third.$store" -u "${url[$store]}" job 5>&- 6>&- 7>&-
    end "second.$store"
done

# Without a wait: exact.
before=$EPOCHSECONDS
holdfast acquire -t 50s -u "${url[local]}" alone >"$W/log"
since=$(holdfast ls --json -u "${url[local]}" alone |
    sed -nE 's/.*"since":([0-9]+).*/\1/p' | head -n 1)
ok 'a lock that was free: since it was acquired' \
    test "$since" -ge "$before" -a "$since" -le "$EPOCHSECONDS"
for store in $stores; do
    wait_until 10 holds "third.$store"
    end "third.$store"
done
finish
