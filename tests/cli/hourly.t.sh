#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# The crontab of README.md on two hosts, of which the clock of one is a second behind:
# with --once 55m each hour has one run. With --once 1h a start that comes a little
# sooner in its hour than the run before it does nothing. All clocks stand still, and
# are set for each start.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

first_s=$((EPOCHSECONDS / 3600 * 3600)) # a full hour
set_clock() { # NAME MS: since the first hour
    server_clock_write "$1" 1 $(((first_s * 1000 + $2) * 1000000))
}
# The clocks of servers differ, too, by a second.
declare -A off_ms=([ahead]=0 [behind]=-1000)
set_clocks() { # MS
    local name
    for name in "${!off_ms[@]}"; do
        set_clock "$name" $(($1 + off_ms[$name]))
    done
}

# A program with ASan takes no library before it: then its clock is the machine's.
declare -A host_env=([ahead]='' [behind]='')
for host in ahead behind; do
    server_clock_env $host
    is_sanitized "$HF_BUILD/holdfast" || host_env[$host]="${clock_env[*]}"
done
set_clocks 0
is "$(env "${clock_env[@]}" date +%s)" $((first_s - 1)) 'a host whose clock is behind'

# At the full hour of a host's own clock, and some milliseconds later.
cron() { # HOST HOUR LATE_MS DURATION
    local at=$(($2 * 3600000 + $3))
    set_clocks $((at - off_ms[$1]))
    # shellcheck disable=SC2086 # variables, one word each
    env ${host_env[$1]} timeout 60 holdfast run --once "$4" "report-$4" -- \
        echo "$1 $2" >>"$W/runs" 2>>"$W/said" </dev/null || echo "exit $?" >>"$W/said"
}

# Each line is an hour, and how late each host starts.
crontab() { # DURATION
    local hour late_ms behind_ms
    : >"$W/runs"
    : >"$W/said"
    while read -r hour late_ms behind_ms; do
        cron ahead "$hour" "$late_ms" "$1"
        cron behind "$hour" "$behind_ms" "$1"
    done
}

hours() { # TITLE
    crontab 55m <<'S'
0 700 700
1 20 900
2 900 20
3 20 20
4 500 500
S
    is "$(cat "$W/runs")" $'ahead 0\nahead 1\nahead 2\nahead 3\nahead 4' \
        "$1: --once 55m: each hour has one run"
    is "$(cat "$W/said")" '' '... all exit 0, and print nothing'
    cron behind 5 20 55m
    cron behind 6 20 55m
    cron ahead 7 20 55m
    is "$(tail -n 3 "$W/runs")" $'behind 5\nbehind 6\nahead 7' \
        '... also if one of the hosts is down'
    crontab 1h <<'S'
8 700 700
9 20 700
10 20 20
11 20 20
S
    # 9: too soon after 8, but not on the other host; 10: too soon after that on both.
    is "$(cat "$W/runs")" $'ahead 8\nbehind 9\nahead 11' \
        "$1: --once 1h: an hour has no run if the starts come sooner in it"
    is "$(cat "$W/said")" '' '... all exit 0, and print nothing'
}

server_start s1 --clock || { fail 'Redis starts'; finish; }
off_ms[s1]=0
set_clocks 0
export HOLDFAST_URL="${SERVER_URL[s1]}?node_timeout=3s"
servers_declare "$HOLDFAST_URL"
hours 'one server'
server_stop s1

servers_start 3 --clock || { fail 'Redis starts'; finish; }
off_ms[s2]=1000 off_ms[s3]=-1000
set_clocks 0
export HOLDFAST_URL="$URLS?node_timeout=3s"
servers_declare "$HOLDFAST_URL"
hours 'three servers'
finish
