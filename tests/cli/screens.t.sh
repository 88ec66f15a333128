#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/screens.md: screens on a terminal of 80 columns, compared with those that the
# commands print against real servers. Times, pids, fences, durations and
# versions may differ, but not in width, except in doctor's sentences. In
# namespaces, so that hosts, addresses and pids are those of the page.
#
#   RECORD=1 tests/run -b BUILD cli/screens     writes the page anew
. "$(dirname "$0")/../lib/tap.sh"
# timeout: 120
spaces=(unshare --uts --net --pid --fork --kill-child --mount-proc)
[ "$(id -u)" = 0 ] || spaces+=(--map-root-user)
if [ "${1:-}" != inside ]; then
    "${spaces[@]}" ip link set lo up 2>/dev/null ||
        skip_all 'no privilege to make namespaces'
    rm -rf "$W"
    exec "${spaces[@]}" "$0" inside
fi

page=$HF_SOURCE/docs/screens.md
pty=$HF_BUILD/tests/lib/pty
has_top=$([ -x "$HF_BUILD/holdfast-top" ] && echo 1)
hour=$(date -u +%H)
export LC_ALL=C.UTF-8 TERM=xterm TZ="HFT$((10#$hour - 14))" # early afternoon
unset COLUMNS
ip link set lo up
echo 4700 >/proc/sys/kernel/ns_last_pid

declare -A server=()
start() { # N
    redis-server --port 6379 --bind "10.0.0.$1" --protected-mode no --save '' \
        --dir "$W" --logfile "$W/log.$1" >"$W/out.$1" 2>&1 </dev/null &
    server[$1]=$!
    wait_until 15 answers "$1"
}
answers() { # N
    [ "$(redis-cli -h "10.0.0.$1" ping)" = PONG ]
}
stop() { # N
    kill -KILL "${server[$1]}"
    wait "${server[$1]}" 2>/dev/null
}
for i in 1 2 3; do
    ip addr add "10.0.0.$i/32" dev lo
    ok "server $i" start $i
done
export HOLDFAST_URL='redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3'
holdfast doctor --init --force -q >"$W/log" 2>&1

# All processes here are killed with the first one of the namespace: us.
run() { # HOST ARG...
    echo "$1" >/proc/sys/kernel/hostname
    holdfast run "${@:2}" -- sleep 300 2>/dev/null &
}
shows() { # REGEX LS-ARG... : a line of ls
    holdfast ls "${@:2}" | grep -qE "$1"
}
# One after the other: each has read its host's name.
run db3 --label 'night shift' nightly
ok 'held' wait_until 10 shows 'all 3 nodes +held' nightly
run web1 --label 'from cron' nightly
is_queued() {
    shows 'all 3 nodes +held' nightly && shows '^ +1\.' nightly
}
ok 'one waits, at all nodes' wait_until 10 is_queued
run web2 -s --label overview report
ok 'a reader' wait_until 10 shows '^report'
run web1 -p 5 gpu
ok 'a permit' wait_until 10 shows '^gpu'
run web2 -s report
ok 'two readers' wait_until 10 shows 'shared 2'
run web2 --label 'customer 0815' invoice-2026-11-customer-0000815-retry-2-of-3
ok 'an invoice' wait_until 10 shows '^invoice'
run web1 -p 5 gpu
ok 'two permits' wait_until 10 shows 'permits 2/5'
echo web1 >/proc/sys/kernel/hostname

# A screen of 24 rows and 80 columns, after the steps on stdin.
see() { # SCREEN COMMAND
    {
        cat -
        echo "screen $W/screen.$1"
    } >"$W/script"
    ok "$1" timeout 60 "$pty" bash --norc -c "$2" <"$W/script"
}
run_line="printf '$ %s\n' '{}'; {}; printf '%s' END-OF-"'"IT"'
typed() { # SCREEN COMMAND : all that it prints
    see "$1" "${run_line//\{\}/$2}" <<<'shows END-OF-IT'
    sed -i '/^END-OF-IT$/d; s/END-OF-IT$//' "$W/screen.$1"
}
waits() { # SCREEN COMMAND TEXT : its line on the terminal, once TEXT is there
    see "$1" "printf '$ %s\n' '$2'; $2" <<<"shows $3"
}
typed ls 'holdfast ls'
typed ls-name 'holdfast ls nightly'
waits waiting 'holdfast run nightly -- ./report.sh' ': 1 ahead, held by db3'
[ -z "$has_top" ] || see top 'holdfast top' <<'S'
drawn ? help
send \n
drawn from cron
drawn ? help
S
holdfast run --min-hold 5m -w 10s backup -- true
waits waiting-ended 'holdfast run backup -- ./backup.sh' ': next, ended'
# A server that stood still is reported as slow, and two that took the same time are
# reported in one line.
for _ in 1 2 3 4 5; do
    typed doctor 'holdfast doctor'
    grep -qE 'us to answer|6379, .*: Redis' "$W/screen.doctor" || break
done
stop 3
wait_until 10 shows '10.0.0.3:6379 +down' nightly
typed ls-name-down 'holdfast ls nightly'
typed doctor-down 'holdfast doctor -q'
stop 2
waits waiting-down 'holdfast run -w 5m nightly -- ./report.sh' ' down: cannot'

# ---- Compare
# Text that may differ, in the same width.
normal() { # of stdin
    sed -E 's/[0-9]{2}:[0-9]{2}:[0-9]{2}/HH:MM:SS/g
        s/[0-9]{16}/FFFFFFFFFFFFFFFF/g
        s/((db3|web[12])( pid)?) [0-9]{4}/\1 PPPP/g
        s/Redis [0-9.]+, up for [0-9]+ s, round trip [0-9]+ us/Redis V/
        s/ [1-3][0-9]s/ NNs/g
        s/waiting [0-9]s/waiting Ns/'
}
page_has() { # SCREEN : its block of the page
    awk -v mark="<!-- $1 -->" '$0 == mark { on = 1; next }
        on && /^```/ { if (++fences == 2) exit; next }
        on && fences == 1' "$page"
}
record() { # SCREEN
    awk -v mark="<!-- $1 -->" -v file="$W/screen.$1" '
        !skips { print }
        $0 == mark { on = 1 }
        on && /^```/ && !skips { while ((getline line < file) > 0) print line
            skips = 1; next }
        skips && /^```/ { print; skips = on = 0 }' "$page" >"$W/page" &&
        cat "$W/page" >"$page"
}
for path in "$W"/screen.*; do
    screen=${path##*.}
    widest=$("$HF_BUILD/tests/lib/columns" <"$path")
    ok "$screen: no line is wider than 80 columns" test "$widest" -le 80
    [ -z "${RECORD:-}" ] || record "$screen"
    is "$(normal <"$path")" "$(page_has "$screen" | normal)" \
        "$screen: as in docs/screens.md"
done
is "$(grep -c '^<!-- .* -->$' "$page")" $((8 + ${has_top:-0})) \
    'every screen of the page was compared'
widest=$(awk '/^```/ { on = !on; next } on' "$page" |
    "$HF_BUILD/tests/lib/columns")
ok "the page: no line is wider than 80 columns ($widest)" test "$widest" -le 80
finish
