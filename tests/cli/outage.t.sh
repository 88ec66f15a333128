#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# README.md, "Choosing the ttl": the longest outage of a server that a lock of
# `holdfast run` survives, at the worst moment: the outage begins just before a renewal.
# A longer one ends the command.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/holders.sh"

survived_ms() { # TTL_MS GRACE_MS: the formula
    echo $(($1 - $2 - $1 / 3 - $1 / 100 - 3000))
}

# ---- The table of README.md ------------------------------------------------------------

rows=0
while read -r ttl unit grace survived; do
    [ "$unit" = s ] || ttl=$((ttl * 60))
    [[ $grace == *.* ]] || grace+=.0
    is "$survived" $(($(survived_ms ${ttl}000 "${grace/./}00") / 1000)) \
        "the table, with a ttl of $ttl s"
    rows=$((rows + 1))
done < <(sed -nE 's/^\| ([0-9]+)([sm])[^|]* \| ([0-9.]+)s \| ([0-9]+) s \| .*/\1 \2 \3 \4/p' \
    "$HF_SOURCE/README.md")
is $rows 4 '... which has four rows'

# ---- Outages ---------------------------------------------------------------------------

# In place of that of holders.sh: it reports when it gets SIGTERM.
cat >"$W/hold" <<X
#!/bin/sh
await=$HF_BUILD/tests/lib/await
X
cat >>"$W/hold" <<'X'
trap 'date +%s%3N >"$2/term.$1"; exit 1' TERM
echo >"$2/on.$1"
"$await" -g "$2/on.$1" &
wait
X

reach() { # MS: of the wall clock
    until [ "${EPOCHREALTIME/[.,]/}" -ge "${1}000" ]; do sleep 0.02; done
}
has_renewed() { has_said "$1" renewed; }
is_decided() { has_renewed "$1" || is_gone "$begun"; }

# Sets $due, when the first renewal goes out, and $deadline. The lease counts from the
# sending of the acquisition.
times() { # NAME TTL_MS
    deadline=$(sed -n 's/^{"event":"acquired".*"deadline_ms":\([0-9]*\).*/\1/p' \
        "$W/events.$1")
    due=$((deadline + $2 / 100 + 2 - $2 + $2 / 3))
}

# A holder, and its server is paused. The jitter of a renewal is an eighth of its period
# at most, and it is paused before that. Fails if this was too late.
pause_before_renewal() { # NAME TTL_MS ARG...
    local name=$1
    begin "$name" -u "${SERVER_URL[$name]}" -t "$2ms" "${@:3}" job
    wait_until 20 holds "$name" || return
    times "$name" "$2"
    reach $((due - $2 / 12))
    server_pause "$name"
    ! has_renewed "$name"
}

# A busy machine may be late with the pause or the end of it: then the outage is not the
# one that is meant, and is made again.
survive() { # NAME TTL_MS GRACE_MS ARG...: in the background, to $W/outcome.NAME
    local name=$1 ttl=$2 longest try code resumed took is_late=1
    longest=$(survived_ms "$2" "$3")
    for ((try = 1; try <= 5; try++)); do
        if pause_before_renewal "$name" "$ttl" "${@:4}"; then
            reach $((due + longest * 9 / 10))
            server_resume "$name"
            resumed=$(now_ms)
            wait_until 20 is_decided "$name"
            took=$(($(now_ms) - resumed))
            [ "$resumed" -gt $((due + longest)) ] || is_late=''
        fi
        server_resume "$name"
        [ ! -e "$W/on.$name" ] || end "$name"
        wait "$begun"
        code=$?
        [ -n "$is_late" ] || break
    done
    echo "${is_late:+late, }exit $code"
    diag "$name: $((resumed - due)) of $longest ms after a renewal was due the server" \
        "goes on; it came ${took:-?} ms after that" >"$W/diag.$name"
}

# The server does not come back while the command runs.
outlast() { # NAME TTL_MS GRACE_MS ARG...: the same
    local before
    pause_before_renewal "$1" "$2" "${@:4}"
    wait_until 60 is_gone "$begun"
    wait "$begun"
    echo "exit $?"
    server_resume "$1"
    before=$((deadline - $(<"$W/term.$1")))
    [ $before -le $(($3 + 20)) ] || echo 'too soon'
    [ $before -gt 0 ] || echo 'too late'
    diag "$1: SIGTERM came $before ms before the lease ended" >"$W/diag.$1"
}

jobs=()
run_case() { # FUNCTION NAME ARG...
    # A full queue of connections drops further ones, as a network that is cut.
    server_start "$2" --tcp -- --tcp-backlog 1 || fail "server $2 starts"
    servers_declare "${SERVER_URL[$2]}"
    "$@" >"$W/outcome.$2" &
    jobs+=($!)
}
run_case survive short 10000 2500
run_case survive usual 30000 7500
run_case survive grace 15000 500 --kill-grace 500ms
run_case outlast longer 10000 2500
wait "${jobs[@]}"
cat "$W"/diag.*

survives() { # NAME TITLE
    is "$(<"$W/outcome.$1")" 'exit 0' "$2 survives the outage"
    is "$(cat "$W/err.$1")" '' '... and says nothing'
    ok '... and renews its lock' has_renewed "$1"
}
survives short 'a ttl of 10 s'
survives usual 'a ttl of 30 s'
survives grace 'a ttl of 15 s with a short --kill-grace'
is "$(<"$W/outcome.longer")" 'exit 76' \
    'a longer one: the command is ended, kill-grace before the lease, exit 76'
like "$(<"$W/err.longer")" '^holdfast: job: the lock could not be kept \([^'$'\n'']*$' \
    '... with the reason'
finish
