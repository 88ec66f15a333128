# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Programs of another library that lock in a database, and Holdfast on the same key.
# Source after tap.sh and session_locks.sh.
#
#   caller_start COMMAND...   in the background; $version is its first line
#   caller LINE...            sends a line, and prints the line of its answer:
#                             held, refused, released
#   caller_send LINE...       does not wait for the answer
#   caller_answer             waits for it, and prints it
#   caller_kill               kill -9
#   exclusion TITLE URL NAME KEY OTHER   cases: our NAME at URL is their KEY, and not
#                                        their OTHER
#   same_key TITLE URL NAME KEY          cases, fewer: is it?
#   documented PATTERN NAME   runs the command in docs/stores.md that has PATTERN, with
#                             NAME for NAME

caller_start() {
    caller_command=("$@")
    # shellcheck disable=SC2034 # bash sets CALLER_PID with it
    coproc CALLER { exec "$@" 2>>"$W/caller.err"; }
    caller_pid=$CALLER_PID
    version=$(caller_answer)
    [[ $version != 'no answer'* ]] || { diag "$version" && return 1; }
}

caller_send() {
    [ -z "${CALLER[1]:-}" ] || echo "$*" >&"${CALLER[1]}"
}

caller_answer() {
    local line
    { [ -n "${CALLER[0]:-}" ] && read -r -t 60 line <&"${CALLER[0]}"; } ||
        line="no answer: $(head -n 5 "$W/caller.err")"
    echo "$line"
}

caller() {
    caller_send "$@"
    caller_answer
}

caller_kill() {
    kill -KILL "$caller_pid"
    wait "$caller_pid"
} 2>/dev/null

caller_end() {
    [ -n "${caller_pid:-}" ] && caller_kill
}
at_exit caller_end

same_key() { # TITLE URL NAME KEY
    is "$(caller try "$4")" held "$1: they hold"
    says 75 "held by" "$1: we are refused" holdfast run --try -u "$2" "$3" -- echo ran
    unlike "$out" ran "$1: and our command does not run"
    is "$(caller end)" released "$1: they release"
    says 0 ran "$1: we are let in" holdfast run --try -u "$2" "$3" -- echo ran
}

exclusion() { # TITLE URL NAME KEY OTHER
    local title=$1 url=$2 name=$3 key=$4 other=$5
    same_key "$title" "$url" "$name" "$key"

    is "$(caller try "$key")" held "$title: they hold again"
    hold "$name" -u "$url" --wait 60s --status-fd 9 9>"$W/waits"
    ok "$title: we wait" wait_until 20 grep -q '"event":"waiting"' "$W/waits"
    is "$(caller end)" released "$title: they release to us"
    ok "$title: we get it" wait_until 20 is_held "$name"
    is "$(caller try "$key")" refused "$title: we hold: they are refused"
    is "$(caller try "$other")" held "$title: not another name"
    is "$(caller end)" released "$title: which they release"
    caller_send wait "$key"
    is "$(let_end "$name")" 0 "$title: we release to them"
    is "$(caller_answer)" held "$title: they get it"
    is "$(caller end)" released "$title: and release it"

    is "$(caller try "$other")" held "$title: they hold another name"
    says 0 ran "$title: we are let in" holdfast run --try -u "$url" "$name" -- echo ran
    is "$(caller end)" released "$title: they release that"

    is "$(caller try "$key")" held "$title: they hold, and are killed"
    says 75 "held by" "$title: before, we are refused" \
        holdfast run --try -u "$url" "$name" -- true
    caller_kill
    says 0 ran "$title: then we are let in" \
        holdfast run --wait 30s -u "$url" "$name" -- echo ran
    ok "$title: another program of theirs" caller_start "${caller_command[@]}"
    held "$name" -u "$url" -t 60s
    is "$(caller try "$key")" refused "$title: we hold, and are killed"
    caller_send wait "$key"
    kill -KILL "$(our_process "$name")"
    is "$(caller_answer)" held "$title: they get it"
    is "$(caller end)" released "$title: and release it at last"
}

# `hold` has started a shell, and that holdfast.
our_process() { # NAME
    local shell=${runs[-1]} pid
    for pid in $(cat "/proc/$shell/task/$shell/children"); do
        ! grep -qzxF -- "$1" "/proc/$pid/cmdline" || echo "$pid"
    done
}

documented() { # PATTERN NAME
    local command
    command=$(grep -oE "\`[^\`]*$1[^\`]*\`" "$HF_SOURCE/docs/stores.md" | head -n 1)
    [ -n "$command" ] || diag "docs/stores.md has no command with $1"
    command=${command//\`/}
    sh -c "${command//NAME/$2}"
}
