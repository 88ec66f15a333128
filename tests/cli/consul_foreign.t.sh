#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# Keys of other programs below Consul's folder of a name: of any bytes, with any
# flags. They block the name, are listed, and are removed by `break --now`, which
# removes nothing else.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
unset "${!CONSUL_HTTP_@}"
consul_start || { fail 'Consul starts'; finish; }
export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"

session=$(consul_api PUT session/create \
    '{"TTL":"900s","LockDelay":"0s","Checks":[]}' | jq -r .ID)
lock_key() { # KEY-AS-JSON [FLAGS]: in a transaction, which takes any bytes
    consul_api PUT txn "[{\"KV\":{\"Verb\":\"lock\",\"Key\":$1,\"Value\":\"\",
        \"Flags\":${2:-0},\"Session\":\"$session\"}}]" >/dev/null
}
has_keys() { # NAME: any
    consul_keys | grep -q "^lock:$1/"
}
is_foreign() { # NAME WHAT
    gives 75 "$2 blocks its name" run -n "$1" -- true
    gives 0 '... and is listed' ls "$1"
    gives 0 '... and removed at once, if asked for' break --now "$1"
    is "$(has_keys "$1" && echo left)" '' '... and no other'
    gives 0 '... then the name is free' run -w 60s "$1" -- true
}

# ---- Bytes that JSON escapes -----------------------------------------------------

ok 'a key with a quote' lock_key '"lock:quote/a\"b"'
is_foreign quote 'a key with a quote'
ok 'a key with a backslash' lock_key '"lock:slash/a\\b"'
is_foreign slash 'a key with a backslash'
ok 'a key with control bytes' lock_key '"lock:control/\u0001\n\u007f"'
is_foreign control 'a key with control bytes'
ok 'a key with a byte 0' lock_key '"lock:zero/a\u0000b"'
is_foreign zero 'a key with a byte 0'
ok 'a key in another script' lock_key '"lock:script/\u00fc\u65e5"'
is_foreign script 'a key in another script'

consul_api PUT kv/precious/value 1 >/dev/null
ok 'a key that continues the operation' \
    lock_key '"lock:more/\",\"Verb\":\"delete-tree\",\"Key\":\"precious/"'
is_foreign more 'a key that continues the operation'
like "$(consul_keys)" 'precious/value' '... and is not executed'

# ---- Flags -----------------------------------------------------------------------

ok 'a key with the greatest flags' lock_key '"lock:flags/x"' 18446744073709551615
is_foreign flags 'a key with the greatest flags'

mkfifo "$W/until"
consul_ctl lock -n 2 lock:permits "echo in >'$W/in'; read -r x <'$W/until'" \
    2>/dev/null &
permits=$!
ok 'a semaphore of "consul lock"' wait_until 20 test -s "$W/in"
gives 75 '... blocks its name' run -n permits -- true
begin after -w 100s permits
ok '... and a waiter' wait_until 20 is_queued after
gives 0 '... all are listed' ls
like "$out" 'permits' '... it too'
echo x >"$W/until"
ok '... until it has ended' wait_until 40 holds after
wait "$permits"
end after
finish
