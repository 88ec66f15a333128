#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fence_base: users see the counters of a store plus this number, in all
# places alike, and all clients of a store agree on it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/mariadb.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 300
command -v jq >/dev/null || skip_all 'no jq'
base=2000000000000000 # more than the clock in microseconds, until 2033
top=9007199254740991  # the greatest fence

# All fences of one acquisition are equal: HOLDFAST_URL is a store with the base.
test_store() { # TITLE
    local again
    title=$1
    capture holdfast acquire -t 20s job
    is "$code:$err" 0: "$title: acquire"
    read -r owner fence _ <<<"$out"
    ok "$title: the fence is above base and clock ($fence)" \
        test "$fence" -ge $((base + $(date +%s) * 1000000 - 3600000000))
    ok "$title: and has 53 bits" test "$fence" -le "$top"
    is "${owner##*@}" "$fence/20000" "$title: the token has the fence"
    is "$(holdfast ls --json | jq .fence)" "$fence" "$title: ls"
    is "$(holdfast ls --json job | jq .fence)" "$fence" "$title: ls NAME"
    is "$(holdfast ls --json job | jq '.nodes[].fence // empty' | sort -u)" \
        "$fence" "$title: ls NAME, at each node"
    capture holdfast ls job
    like "$out" "fence $fence\$" "$title: ls NAME as text"
    since=$(holdfast ls --json job | jq .since)
    ok "$title: the age is that of the counter ($since)" test \
        $(($(date +%s) - since)) -lt 300
    capture holdfast extend job --owner "$owner"
    is "$code" 0 "$title: extend by that token"
    is "${out%% *}" "$owner" "$title: which prints it again"
    low=${owner%@*}@$((fence - base))/20000
    capture holdfast release job --owner "$low"
    is "$code" 64 "$title: a token without the base is refused"
    like "$err" "not an owner of this store: its fence $((fence - base)) is not above fence_base=$base" \
        "$title: which gives both numbers"
    is "$(holdfast acquire -n job 2>/dev/null; echo $?)" 75 "$title: and frees nothing"
    capture holdfast release job --owner "$owner"
    is "$code:$err" 0: "$title: release by the token"

    holdfast run --status-fd 3 job -- sh -c 'echo $HOLDFAST_FENCE $HOLDFAST_OWNER' \
        3>"$W/status" >"$W/out"
    read -r again owner <"$W/out"
    ok "$title: HOLDFAST_FENCE is larger" test "$again" -gt "$fence"
    is "${owner##*@}" "$again" "$title: as in HOLDFAST_OWNER"
    is "$(jq -r 'select(.event == "acquired").fence' "$W/status")" "$again" \
        "$title: and on the status-fd"
    capture holdfast run -v job -- sh -c 'echo $HOLDFAST_FENCE'
    like "$err" "job: held, fence $out" "$title: and with -v"

    read -r owner fence _ < <(holdfast acquire -t 20s job)
    capture holdfast break --now job
    is "$code" 0 "$title: break"
    capture holdfast release job --owner "$owner"
    is "$code" 76 "$title: the old holder has lost it"
    again=$(holdfast run job -- sh -c 'echo $HOLDFAST_FENCE')
    ok "$title: break: the fence moved on" test "$again" -gt "$fence"
    holdfast run --once 1h daily -- sh -c 'echo $HOLDFAST_FENCE' >"$W/out"
    ok "$title: --once: a fence above the base" test "$(cat "$W/out")" -gt "$base"
    is "$(holdfast run --once 1h daily -- echo again)" '' "$title: --once: once"
    holdfast run -p 2 gpu -- sh -c 'echo $HOLDFAST_FENCE' >"$W/out"
    ok "$title: a permit: a fence above the base" test "$(cat "$W/out")" -gt "$base"
    read -r owner fence _ < <(holdfast acquire -t 20s queued)
    holdfast run queued -- sh -c 'echo $HOLDFAST_FENCE' >"$W/out" &
    has_waiter() { [ "$(holdfast ls --json queued | jq .waiting)" = 1 ]; }
    wait_until 20 has_waiter || fail 'a waiter'
    holdfast release queued --owner "$owner"
    wait $!
    ok "$title: a hand-over: a larger fence" test "$(cat "$W/out")" -gt "$fence"
}

refused() { # TITLE URL ITS OURS
    capture holdfast run -n -u "$2" job -- echo ran
    is "$code:$out" 78: "$1: refused"
    like "$err" "belongs to a store with fence_base=$3, this client says $4: all clients of a store must say the same" \
        "$1: with both numbers"
}

# ---- The embedded store ------------------------------------------------------------

export HOLDFAST_URL="local://$W/store?fence_base=$base"
test_store embedded
refused 'no base' "local://$W/store" "$base" 0
refused 'a larger one' "local://$W/store?fence_base=$((base + 1))" "$base" $((base + 1))
holdfast run -u "local://$W/plain" job -- true
refused 'a base for a store without one' "local://$W/plain?fence_base=5" 0 5
rm "$W/plain/locks.gate" "$W/plain/locks.mdb"
capture holdfast run -u "local://$W/plain?fence_base=5" job -- echo ran
is "$code:$out" 0:ran 'without its two files it has the new base'

# ---- Redis -------------------------------------------------------------------------

server_start one
HOLDFAST_URL="${SERVER_URL[one]}?node_timeout=3s&fence_base=$base"
servers_declare "$HOLDFAST_URL"
test_store 'one redis'
read -r owner fence _ < <(holdfast acquire -t 20s job)
counter=$(server_cli one get 'hf:{lock:job}:fence')
is "$((10#${counter:0:16}))" $((fence - base)) 'the server has the counter'
holdfast release job --owner "$owner"
plain="${SERVER_URL[one]}?node_timeout=3s"
refused 'no base' "$plain" "$base" 0
refused 'another base' "$plain&fence_base=7" "$base" 7
is "$(server_cli one hget hf:node fence_base)" "$base" 'the marker has it'
cat >"$W/yes" <<'YES'
expect Type yes:
send yes\n
expect ended
YES
init() { # URL: as a user who types yes
    timeout 60 "$HF_BUILD/tests/lib/pty" sh -c 'holdfast doctor --init -u "$0"; echo ended $?' \
        "$1" <"$W/yes" >"$W/log" 2>&1
}
init "$plain&fence_base=7"
is "$(server_cli one hget hf:node fence_base)" "$base" '--init does not lower it'
init "$plain&fence_base=$((base + 1))"
is "$(server_cli one hget hf:node fence_base)" $((base + 1)) '--init raises it'
refused 'the old base, from then on' "$HOLDFAST_URL" $((base + 1)) "$base"
base=$((base + 1))
HOLDFAST_URL="$plain&fence_base=$base"

# A fence of more than 53 bits is none.
server_cli one set 'hf:{lock:high}:fence' $((top - base - 1)) >"$W/log"
capture holdfast run -n high -- sh -c 'echo $HOLDFAST_FENCE'
is "$code:$out" "0:$top" 'the greatest fence'
capture timeout 60 holdfast run -n high -- echo ran
is "$code:$out" 78: 'above it: nothing runs'
like "$err" 'with fence_base, is above 9007199254740991' 'and says why'
is "$(holdfast ls --json high | jq -r .state)" free 'and nothing is left held'

servers_start 3
HOLDFAST_URL="$URLS?node_timeout=2s&fence_base=$base"
servers_declare "$HOLDFAST_URL"
test_store 'three redis'

# ---- PostgreSQL ---------------------------------------------------------------------

if postgres_start; then
    plain="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
    HOLDFAST_URL="$plain&fence_base=$base"
    servers_declare "$HOLDFAST_URL"
    test_store PostgreSQL
    read -r owner fence _ < <(holdfast acquire -t 20s job)
    ok 'the server has the counter' pg_is "EXISTS (SELECT FROM holdfast.lock
        WHERE name = 'lock:job' AND counter = $((fence - base)))"
    refused 'no base' "$plain" "$base" 0
    capture holdfast run -n -u "$plain&lock=advisory&fence_base=5" job -- echo ran
    is "$code:$out" 64: 'a lock without fences has no base'
    like "$err" 'fence_base is given, but a lock of this store has no fence' 'which it says'
fi

# ---- MariaDB ------------------------------------------------------------------------

if mariadb_start; then
    plain="mysql://root@/?socket=$W/maria/s&node_timeout=3s&connect_timeout=10s"
    HOLDFAST_URL="$plain&fence_base=$base"
    servers_declare "$HOLDFAST_URL"
    test_store MariaDB
    read -r owner fence _ < <(holdfast acquire -t 20s job)
    is "$(sql -e "SELECT counter FROM holdfast.lock WHERE name = 'lock:job'")" \
        $((fence - base)) 'MariaDB has the counter'
    refused 'no base' "$plain" "$base" 0
    capture holdfast run -n -u "$plain&lock=named&fence_base=5" job -- echo ran
    is "$code:$out" 64: 'a named lock has no base'
    like "$err" 'fence_base is given, but a lock of this store has no fence' 'which it says'
fi
finish
