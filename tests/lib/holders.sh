# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Commands that hold a lock in the background, each under a NAME. Source after
# tap.sh; all of them are gone when the test ends.
#
#   begin NAME ARG...     holdfast run ARG..., until `end NAME`; sets $begun, its
#                         pid, and empties NAME's events
#   holds NAME            it has the lock; $W/on.NAME has its slot
#   has_said NAME EVENT   its --status-fd reported EVENT
#   is_queued NAME        a server has its place; it may have said "waiting" before
#   end NAME              its command ends
#   begin_timed NAME ARG...  holdfast run ARG..., of a command that notes its fence and
#                         the time; sets $begun, its pid
#   judge_timed NAME PID FENCE SINCE TITLE    cases: it ends, and its fence is greater; sets
#                         $timed_ms, when it had the lock, from SINCE on
#   ends_denied NAME PID LIKE   cases: it ends by itself, with exit 77 and this reason
#   gives CODE TITLE ARG...    a case: `holdfast ARG...` ends with CODE within
#                              $gives_s seconds (20)
#
# $W/held has a line for each acquisition: NAME and its fence.

gives_s=20
# shellcheck disable=SC2154 # capture's
gives() {
    local want=$1 title=$2
    shift 2
    capture timeout "$gives_s" holdfast "$@"
    is "$code" "$want" "$title"
    [ "$code" = "$want" ] || diag "$err"
}

pids=()
all_end() {
    local pid
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
}
at_exit all_end

cat >"$W/hold" <<X
#!/bin/sh
await=$HF_BUILD/tests/lib/await
X
cat >>"$W/hold" <<'X'
echo "$1 $HOLDFAST_FENCE" >>"$2/held"
echo "${HOLDFAST_SLOT:-}" >"$2/on.$1"
exec "$await" -g "$2/on.$1"
X
chmod +x "$W/hold"

begin() {
    local holder=$1
    shift
    : >"$W/events.$holder"
    rm -f "$W/on.$holder"
    holdfast run --status-fd 9 "$@" -- "$W/hold" "$holder" "$W" \
        9>"$W/events.$holder" 2>"$W/err.$holder" &
    # shellcheck disable=SC2034 # the caller's
    begun=$!
    pids+=("$begun")
}
holds() {
    [ -s "$W/on.$1" ]
}
has_said() {
    grep -q "^{\"event\":\"$2\"" "$W/events.$1"
}
is_queued() {
    grep -q '^{"event":"waiting".*"ahead":' "$W/events.$1"
}
end() {
    rm "$W/on.$1"
}
# Not in $W/held, which others may count.
begin_timed() { # NAME ARG...
    : >"$W/events.$1"
    # shellcheck disable=SC2016 # the command's own variables
    holdfast run --status-fd 9 "${@:2}" -- \
        sh -c 'echo "$HOLDFAST_FENCE" $(date +%s%3N) >"$0"' "$W/after.$1" \
        9>"$W/events.$1" &
    begun=$!
    pids+=("$begun")
}
# shellcheck disable=SC2034 # the caller's
judge_timed() { # NAME PID FENCE SINCE TITLE
    local fence at
    wait "$2"
    is "$?" 0 "$5"
    read -r fence at <"$W/after.$1"
    timed_ms=$((at - $4))
    ok 'with a greater fence' [ "${fence:-0}" -gt "$3" ]
}
ends_denied() {
    ok '... it ends by itself' wait_until 15 is_gone "$2"
    if is_gone "$2"; then
        wait "$2"
        is $? 77 '... with exit 77'
        like "$(<"$W/err.$1")" "$3" '... and the reason'
    fi
}
