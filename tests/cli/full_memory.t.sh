#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A server without memory (noeviction) refuses new locks. It refuses nothing that a
# holder needs to end: a reservation, a withdrawn mark, a deleted value, a break; and
# a durable one keeps its holders when it is restarted.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 240

await=$HF_BUILD/tests/lib/await
set_full() { # BYTES; 0: no limit
    server_cli "$server" config set maxmemory "$1" >"$W/log"
}
lock_of() {
    server_cli "$server" get "lock:$1"
}
is_taken_by_breaker() { # NAME OWNER
    [ "$(lock_of "$1")" != "$2" ]
}

test_server() { # TITLE OPTION...
    local title=$1 holder owner breaker
    shift
    server_start "$server" --aof always "$@"
    export HOLDFAST_URL="${SERVER_URL[$server]}?max_ttl=1m&connect_timeout=5s"
    servers_declare "$HOLDFAST_URL"
    cat >"$W/full" <<END
#!/bin/bash
redis-cli -s ${SERVER_SOCK[$server]} config set maxmemory 1
exit \$1
END
    chmod +x "$W/full"

    # A hold that ends.
    capture holdfast run --min-hold 1h -t 5s reserved -- "$W/full" 0
    is "$code" 0 "$title: a command that reserves its name"
    ok "$title: the reservation is longer than the lease" \
        test "$(server_cli "$server" pttl lock:reserved)" -gt 60000
    set_full 0
    capture holdfast run --once 1h --on-fail release job -- "$W/full" 1
    is "$code" 1 "$title: a job of --once that fails"
    set_full 0
    capture holdfast run --once 1h job -- echo ran
    is "$code:$out" 0:ran "$title: its mark was withdrawn"

    # Values.
    holdfast put -q value "$(printf '%02000d' 1)"
    set_full 1
    capture holdfast put value more
    is "$code" 69 "$title: no value is written"
    capture holdfast put --delete value
    is "$code" 0 "$title: but one is deleted"
    capture holdfast get value
    isnt "$code" 0 "$title: it is gone"
    set_full 0

    # A break.
    read -r owner _ < <(holdfast acquire -t 1m kept)
    owner=${owner%%@*}
    holdfast break kept 2>"$W/err" &
    breaker=$!
    ok "$title: a break waits" wait_until 20 is_taken_by_breaker kept "$owner"
    set_full 1
    kill -TERM "$breaker"
    wait "$breaker"
    is "$(lock_of kept)" "$owner" "$title: a cancelled one returns the name"
    set_full 0
    holdfast acquire -t 2s broken >"$W/log"
    set_full 1
    capture timeout 60 holdfast break -w 50s broken
    is "$code" 0 "$title: a break takes a name, and frees it"

    # A restart, after which the marker is written anew.
    set_full 0
    touch "$W/end"
    holdfast run -t 1m restarted -- "$await" -g "$W/end" 2>"$W/err" &
    holder=$!
    ok "$title: a holder" wait_until 20 holds
    server_kill "$server"
    SERVER_ARGS[$server]+=' --maxmemory 1'
    server_restart "$server"
    capture holdfast ls restarted
    is "$code" 0 "$title: restarted while it is full: it counts"
    rm "$W/end"
    wait "$holder"
    is $? 0 "$title: and its holder has kept the lock"
    diag "$(cat "$W/err")"
    server_stop "$server"
}
holds() {
    [ -n "$(lock_of restarted)" ]
}

server=redis
test_server Redis
if have_valkey; then
    server=valkey
    test_server Valkey --valkey
fi
finish
