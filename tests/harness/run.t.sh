#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# tests/run must notice each way in which a test can fail.
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p "$W/tree/tests/cli" "$W/tree/build"
cp "$HF_SOURCE/tests/run" "$W/tree/tests/run"

options=()
trial() { # BODY
    printf '#!/bin/bash\n%s\n' "$1" >"$W/tree/tests/cli/x.t.sh"
    chmod +x "$W/tree/tests/cli/x.t.sh"
    capture "$W/tree/tests/run" "${options[@]}"
    lines=$out out=${out##*$'\n'}
}

trial 'echo "ok 1 - a"; echo "ok 2 # SKIP b"; echo 1..2'
is "$code $out" "0 1 passed, 0 failed, 1 skipped" "success and a skip"
trial 'echo "not ok 1 - a"; echo 1..1; exit 1'
is "$code $out" "1 0 passed, 1 failed, 0 skipped" "a failure"
trial 'echo "ok 1 - a"; echo "not ok 2 - b"; echo "# got: c"; echo 1..2; exit 1'
like "$lines" $'\nfailed: cli/x:\n    not ok 2 - b\n    # got: c\n1 programs' \
    "its cases are named again at the end"
trial 'echo "ok 1 - a"; echo 1..1; kill -SEGV $$'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "a crash after its plan"
trial 'echo "ok 1 - a"'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "no plan"
trial 'echo 1..2; echo "ok 1 - a"'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "fewer cases than planned"
trial $'# timeout: 4\necho "ok 1 - a"; echo 1..1; sleep 60'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "a test that hangs"
trial 'echo "ok 1 - a"; echo 1..1; setsid sleep 61 & sleep 0.1'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "a process left behind"
# The child of tests/run that runs this test: its topmost subshell.
trial 'echo "ok 1 - a"; echo 1..1
parent() {
    ps -o ppid= -p "$1" | tr -d " "
}
is_run() {
    case $(ps -o args= -p "$1") in *tests/run) ;; *) false ;; esac
}
pid=$$
until is_run "$(parent $pid)" && ! is_run "$(parent "$(parent $pid)")"; do
    pid=$(parent $pid)
    [ "$pid" -gt 1 ] || exit
done
kill -KILL "$pid"'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "what runs it is killed"
like "$lines" 'ended with killed' "and that is the reason"
trial 'echo "1..0 # SKIP no reason"'
is "$code $out" "0 0 passed, 0 failed, 1 skipped" "a whole test skipped"

# With a list of the cases that may be skipped.
options=(-s 'cli/x: no reason' -s 'cli/x: none for *' -s 'cli/y: b')
trial 'echo "1..0 # SKIP no reason"'
is "$code $out" "0 0 passed, 0 failed, 1 skipped" "a skip that is listed"
trial 'echo "ok 1 - a # SKIP none for a"; echo "ok 2 - b # SKIP none for b"; echo 1..2'
is "$code $out" "0 0 passed, 0 failed, 2 skipped" "two, by one pattern"
trial 'echo "ok 1 - a"; echo "ok 2 # SKIP b"; echo 1..2'
is "$code $out" "1 1 passed, 1 failed, 1 skipped" "one that is not, of a case"
like "$lines" 'skipped, which is not listed: b' "is told"
trial 'echo "1..0 # SKIP no Lua"'
is "$code $out" "1 0 passed, 1 failed, 1 skipped" "and of a whole test"
trial 'echo "ok 1 - a"; echo "# 20 seeds, 7"; echo "# 3 seeds, 1"; echo 1..1'
is "$code $out" "0 1 passed, 0 failed, 0 skipped" "nothing skipped is well, too"
like "$lines" $'\n1 programs, 23 seeds of the simulator\n' "programs and seeds"
finish
