# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A shell test in a few words. Source it first; see the end for an example.
#
#   ok TITLE COMMAND [ARG...]    passes if the command succeeds
#   is GOT WANT TITLE            equal strings          (isnt: unequal)
#   like GOT REGEX TITLE         extended regex, anywhere in it (unlike: not)
#   pass TITLE / fail TITLE / skip TITLE WHY / diag TEXT
#   capture COMMAND [ARG...]     sets $out, $err, $code
#   wait_until SECONDS COMMAND [ARG...]   polls; false when time is up: a limit
#                                for an event that never comes, if the machine is quiet
#                                ($busy times that are waited)
#   now_ms                       a clock for differences
#   at_exit COMMAND...           run when the test ends, last one first
#   skip_all WHY                 the whole test cannot run here
#   kill                         the shell's, for processes of this test only
#   finish                       last line of a test: prints the plan
#
#   . "$(dirname "$0")/../lib/tap.sh"
#   capture holdfast --version
#   is "$code" 0 "--version succeeds"
#   finish
#
# $W is a private folder, gone afterwards. No sleeping to let things settle:
# wait for a condition, with a deadline.
set -uo pipefail

HF_SOURCE=${HF_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
HF_BUILD=${HF_BUILD:-$HF_SOURCE/build}
case :$PATH: in
*":$HF_BUILD:"*) ;;
*) PATH=$HF_BUILD:$PATH ;;
esac
export HF_SOURCE HF_BUILD PATH
export HOLDFAST_MODULE_DIR=${HOLDFAST_MODULE_DIR:-$HF_BUILD}
unset HOLDFAST_URL HOLDFAST_NAME HOLDFAST_FENCE HOLDFAST_OWNER

W=$(mktemp -d "${TMPDIR:-/tmp}/hf.XXXXXX")
# A loaded machine is slower by this, and a process may not run for 3 s.
busy=4
tap_shell=$BASHPID
tap_count=0 tap_failed=0 tap_finished=''
tap_exits=()

tap_end() {
    local status=$? i
    [ "$BASHPID" = "$tap_shell" ] || return "$status"
    trap - EXIT
    set +eu
    for ((i = ${#tap_exits[@]} - 1; i >= 0; i--)); do
        eval "${tap_exits[i]}"
    done
    rm -rf "$W"
    [ -n "$tap_finished" ] || exit "$((status ? status : 1))"
    exit $((tap_failed ? 1 : 0))
}
trap tap_end EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

at_exit() {
    tap_exits+=("$(printf '%q ' "$@")")
}

diag() {
    printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

fail() {
    tap_count=$((tap_count + 1)) tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $1"
    diag "at ${BASH_SOURCE[2]:-$0}:${BASH_LINENO[1]:-?}"
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

skip_all() {
    echo "1..0 # SKIP $1"
    tap_finished=1
    exit 0
}

# A program with ASan or TSan is many times slower: do not measure its time.
is_sanitized() { # PROGRAM
    grep -qaE '__(asan|tsan)_init' "$1"
}

ok() {
    local title=$1 status
    shift
    "$@"
    status=$?
    if [ $status = 0 ]; then
        pass "$title"
    else
        fail "$title"
        diag "status $status: $*"
    fi
}

is() {
    if [ "$1" = "$2" ]; then
        pass "$3"
    else
        fail "$3"
        diag " got: $1" $'\n'"want: $2"
    fi
}

isnt() {
    if [ "$1" != "$2" ]; then
        pass "$3"
    else
        fail "$3"
        diag "got and did not want: $1"
    fi
}

like() {
    if [[ $1 =~ $2 ]]; then
        pass "$3"
    else
        fail "$3"
        diag "     got: $1" $'\n'"not like: $2"
    fi
}

unlike() {
    if [[ ! $1 =~ $2 ]]; then
        pass "$3"
    else
        fail "$3"
        diag "got: $1" $'\n'"like: $2"
    fi
}

# shellcheck disable=SC2034 # out, err and code are for the test
capture() {
    code=0
    "$@" >"$W/.out" 2>"$W/.err" || code=$?
    # Without processes, of which a test starts thousands; and without NUL bytes,
    # of which the shell complains.
    { out=$(<"$W/.out") err=$(<"$W/.err"); } 2>/dev/null
}

now_ms() {
    local now=${EPOCHREALTIME/[.,]/}
    echo "${now%???}"
}

wait_until() {
    # The command sees these, too: no test has such names.
    local _began=${EPOCHREALTIME/[.,]/} _asked _now _pause _text
    local _end=$((_began + $1 * busy * 1000000))
    shift
    _asked=$_began
    until "$@" >/dev/null 2>&1; do
        _now=${EPOCHREALTIME/[.,]/}
        [ "$_now" -lt $_end ] || return 1
        # An eighth of what was waited, and as long as the command took, which computes
        # while other tests wait.
        _pause=$(((_now - _began) / 8000))
        _pause=$((_now - _asked > _pause * 1000 ? (_now - _asked) / 1000 : _pause))
        _pause=$((_pause < 10 ? 10 : _pause < 250 ? _pause : 250))
        printf -v _text '0.%03d' $_pause
        [ -p "$W/.never" ] || mkfifo "$W/.never"
        read -rt "$_text" _text <>"$W/.never" # sleeps: at most 250 ms
        _asked=${EPOCHREALTIME/[.,]/}
    done
}

# Whether the process has ended, or is a zombie.
is_gone() { # PID
    local stat=''
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    [[ ${stat##*) } == [ZX]* ]]
}

# Whether a process is of this test: a child, or one with the test's environment
# or below its folder. That is how tests/run knows its processes too.
is_ours() { # PID
    local line='' parent
    [ -n "${HF_TEST_DIR:-}" ] || return 0
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    parent=${line##*) }
    parent=${parent#* } parent=${parent%% *}
    [[ $parent != "$$" && $parent != "$BASHPID" ]] || return 0
    while IFS= read -r -d '' line; do
        [[ $line != "HF_TEST_DIR=$HF_TEST_DIR"* ]] || return 0
    done 2>/dev/null <"/proc/$1/environ"
    [[ $(readlink "/proc/$1/cwd" 2>/dev/null) == "$HF_TEST_DIR"/* ]]
}

# Kills processes of this test only. The number of one that has ended may belong
# to another test: with several runs on a machine, numbers repeat within a minute.
kill() {
    local signal=() pids=() pid status=0
    [[ $1 != -* ]] || { signal=("$1") && shift; }
    for pid; do # a group has the number of its leader
        if [[ ${pid#-} =~ ^[1-9][0-9]*$ ]] && ! is_gone "${pid#-}" &&
            ! is_ours "${pid#-}"; then
            diag "kill: $pid is no process of this test" >&2
            status=1
        else
            pids+=("$pid")
        fi
    done
    [ ${#pids[@]} = 0 ] || builtin kill "${signal[@]}" "${pids[@]}" || status=$?
    return $status
}

finish() {
    echo "1..$tap_count"
    tap_finished=1
    exit $((tap_failed ? 1 : 0))
}
