#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# Consul with another setting session_ttl_min: holdfast doctor tells how short a session
# may be, and has created none to see it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/consul.sh"

have_consul || skip_all 'no Consul'
# Sessions of 10 s, by which the others are seen to answer, may be too short here.
consul_answers() { # NAME
    [ "$(consul_api_at "$1" GET agent/self | jq -r .Config.NodeName)" = \
        "$1-$tap_shell" ] && consul_is_leader "$1"
}
examines() { # SESSION_TTL_MIN
    consul_start -- -hcl "session_ttl_min = \"$1\"" || return
    export HOLDFAST_URL="$CONSUL_URL?node_timeout=3s&connect_timeout=5s"
    capture timeout 60 holdfast doctor
    [ "$(consul_api GET session/list)" = '[]' ]
}

ok 'ten seconds, as by default' examines 10s
is "$code" 0 '... doctor: fit'
like "$out" 'as its session: the ttl, 10 s at least' '... and says so'
unlike "$out" 'session_ttl_min' '... and of nothing to be set'
consul_stop c1

ok 'two seconds' examines 2s
is "$code" 0 '... doctor: fit'
like "$out" 'as short as 2s here: with session_ttl_min=2s' '... and the parameter is named'
HOLDFAST_URL+='&session_ttl_min=2s'
capture timeout 60 holdfast doctor
like "$code $out" '^0 .*the ttl, 2 s at least' '... with it: they are'
unlike "$out" 'as short as' '... and it is not named again'
# Not -n: an answer is waited for as long as a twentieth of the ttl.
gives 0 '... and a lock is granted' run -w 15s -t 2s job -- true
consul_stop c1

ok 'half a minute' examines 30s
is "$code" 1 '... doctor: fit, with a warning'
like "$out" 'warning: .*no session may be shorter than 30s here' '... of that'
capture timeout 60 holdfast run -n -t 10s job -- true
is "$code" 78 '... a shorter ttl is refused'
like "$err" 'Session TTL' '... as such'
gives 0 '... and one of that length is granted' run -w 15s -t 30s job -- true
finish
