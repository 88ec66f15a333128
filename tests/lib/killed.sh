# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Waiters that are killed with SIGKILL withdraw nothing: docs/waiting.md says when the
# next one is granted the lock. Source after holders.sh.
#
#   killed_begin SEEN [ARG...]   cases: of three waiters the first two are killed, and the
#                        holder releases when the command SEEN succeeds (true: at once).
#                        ARGs are options of those two; begins the time that is measured
#   killed_end MOST_MS   cases: the third is granted the lock, in that time
#
# Between them is time, in which other cases may run. The lock is `killed`.

killed_begin() { # SEEN [ARG...]
    local name children=() victims=()
    begin killed0 -t 20s killed
    ok 'a holder' wait_until 20 holds killed0
    killed_fence=$(sed -n 's/^killed0 //p' "$W/held")
    for name in killed1 killed2; do
        begin $name "${@:2}" -w 200 killed
        victims+=("$begun")
        ok '... a waiter' wait_until 20 is_queued $name
    done
    begin_timed killed3 -t 20s -w 200 killed
    # shellcheck disable=SC2154 # holders.sh's
    killed_next=$begun
    ok '... and another one' wait_until 20 is_queued killed3
    # The keepers first: one whose wrapper is gone withdraws.
    mapfile -t children < <(pgrep -P "$(IFS=, && echo "${victims[*]}")")
    {
        kill -9 "${children[@]}" "${victims[@]}"
        wait "${victims[@]}"
    } 2>/dev/null
    ok '... the first two are killed' wait_until 20 "$1"
    killed_ms=$(now_ms)
    end killed0
}

killed_end() { # MOST_MS
    judge_timed killed3 "$killed_next" "$killed_fence" "$killed_ms" \
        'two killed waiters: the third is granted the lock'
    # shellcheck disable=SC2154 # holders.sh's
    ok "... in time ($timed_ms ms)" [ "$timed_ms" -le "$1" ]
}
