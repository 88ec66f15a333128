#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# --once on a real Consul: one run a period, judged by the clock of its agents,
# whatever becomes of the lock or of a session; and --min-hold, which a session
# keeps.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/once.sh"

have_consul || skip_all 'no Consul'
unset "${!CONSUL_HTTP_@}"
consul_start || { fail 'Consul starts'; finish; }
# shellcheck disable=SC2034 # once.sh's
KIND=consul NODE=c1
export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"
keys_of() { consul_keys | grep "^lock:$1"; }
kv() { # METHOD KEY [DATA]
    consul_api "$1" "kv/$(consul_escaped "$2")?raw" "${@:3}" 2>/dev/null
}
mark_path() { echo "lock:$1~once"; }
mark_get() { kv GET "$1" | grep .; }
mark_put() { kv PUT "$1" "$2" >/dev/null; }
mark_remove() { kv DELETE "$1" >/dev/null; }

once_period
is "$(consul_session 'lock:kept~once')" '' 'it has no session'
sessions() { consul_api GET session/list | jq -r '.[].ID'; }
for session in $(sessions); do
    consul_api PUT "session/destroy/$session" >/dev/null
done
is "$(ran kept)" '' 'all sessions are destroyed: the period goes on'
once_server
once_withdrawn
once_names
once_contest
once_killed
once_odd
once_swept swept:
once_faults 3

# ---- --min-hold --------------------------------------------------------------------

capture timeout 60 holdfast run --min-hold 12s least -- echo ran
began=$(now_ms)
is "$code:$out" 0:ran '--min-hold: the command has run'
capture timeout 60 holdfast run -n least -- true
is "$code" 75 '... and the name is kept'
capture holdfast ls least
like "$out" 'ended' '... as ls shows it'
ok '... until its session ends' wait_until 60 is_free least
took=$(($(now_ms) - began))
ok "not earlier than 12 s less its run ($took ms)" test $took -ge 10000
capture timeout 60 holdfast run --min-hold 25h long -- echo ran
is "$code:$out" 0:ran 'no session lasts for longer than a day'
like "$err" 'may be free before --min-hold is over' '... which is told'
finish
