#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
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
trial 'echo "# ERROR: d, by cmocka"; echo "not ok 1 - a"; echo 1..1; exit 1'
like "$lines" $'\nfailed: cli/x:\n    d, by cmocka\n    not ok 1 - a\n' \
    "and the text of a failure that comes before"
trial 'echo "ok 1 - a"; echo 1..1; kill -SEGV $$'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "a crash after its plan"
trial 'echo "ok 1 - a"'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "no plan"
trial 'echo 1..2; echo "ok 1 - a"'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "fewer cases than planned"
options=(-t 4)
trial 'echo "ok 1 - a"; echo 1..1; sleep 60'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "a test that hangs"
options=(-t 1)
limited='echo "ok 1 - a"; sleep 3; echo 1..1' # sleeps: longer than -t 1
trial $'# timeout: 50\n'"$limited"
is "$code $out" "0 1 passed, 0 failed, 0 skipped" "one that may take longer"
trial $'# timeout: 1\n'"$limited"
is "$code" 1 "and no longer than that"
options=()
trial 'echo "ok 1 - a"; echo 1..1; setsid sleep 61 & sleep 0.1'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "a process left behind"
like "$lines" $'left running: pid [0-9]+: sleep 61 \n[^\n]*S \\(sleeping\\) in [a-z_0-9]+: [0-9]+ ' \
    "and where it stands"
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

# An error of tests/run itself: 09 is no number of its arithmetic.
printf 'cpu%s 09 09 09 09 09 09 09 09\n' "" {0..63} >"$W/stat"
export HF_STAT=$W/stat
cp "$W/tree/tests/cli/x.t.sh" "$W/tree/tests/cli/y.t.sh"
trial 'echo "ok 1 - a"; echo 1..1'
isnt "$code" 0 "an error of the runner itself"
like "$lines" "1 of 2 programs were run" "that is the reason"
unset HF_STAT
rm "$W/tree/tests/cli/y.t.sh"

# While the machine stands still, by its uptime, a failure is no test's own.
echo 100.00 >"$W/uptime"
export HF_UPTIME=$W/uptime
stands='stand_still() { echo 107.50 >"$HF_UPTIME.next"; mv "$HF_UPTIME.next" "$HF_UPTIME"; }'
trial "$stands"'
[ -e ../../../once ] || { stand_still; touch ../../../once; echo "not ok 1 - a"; echo 1..1; exit 1; }
echo "ok 1 - a"; echo 1..1'
is "$code $out" "0 1 passed, 0 failed, 0 skipped" "the machine stands still: it runs again"
like "$lines" 'again  cli/x  *failed, and the machine stood still for 7.5 s
    | not ok 1 - a' "which is shown"
echo 100.00 >"$W/uptime"
trial "$stands"'
stand_still; echo "not ok 1 - a"; echo 1..1; exit 1'
is "$code $out" "1 0 passed, 1 failed, 0 skipped" "one that fails again has failed"
unset HF_UPTIME

# With a list of the cases that may be skipped.
options=(-s 'cli/x: no reason' -s 'cli/x: none for *' -s 'cli/y: b')
trial 'echo "1..0 # SKIP no reason"'
is "$code $out" "0 0 passed, 0 failed, 1 skipped" "a skip that is listed"
trial 'echo "ok 1 - a # SKIP none for a"; echo "ok 2 - b # SKIP none for b"; echo 1..2'
is "$code $out" "0 0 passed, 0 failed, 2 skipped" "two, by one pattern"
trial 'echo "ok 1 - a"; echo "ok 2 # SKIP b"; echo 1..2'
is "$code $out" "1 1 passed, 1 failed, 1 skipped" "one that is not, of a case"
like "$lines" 'skipped, which is not listed: b' "is told"
trial 'echo "ok 1 - a"; echo "not ok 2 # SKIP c"; echo 1..2'
like "$lines" 'skipped, which is not listed: c' "is told, as cmocka prints it"
trial 'echo "1..0 # SKIP no Lua"'
is "$code $out" "1 0 passed, 1 failed, 1 skipped" "and of a whole test"
trial 'echo "ok 1 - a"; echo "# 20 seeds, 7"; echo "# 3 seeds, 1"; echo 1..1'
is "$code $out" "0 1 passed, 0 failed, 0 skipped" "nothing skipped is well, too"
like "$lines" $'\n1 programs, 23 seeds of the simulator\n' "programs and seeds"

# Several builds in one run.
mkdir "$W/tree/build-b"
options=(-b "$W/tree/build" -j 1 cli/ --and -b "$W/tree/build-b" -s 'cli/x: b' cli/)
trial 'echo "ok 1 - ${HF_BUILD##*/}"
[ "${HF_BUILD##*/}" = build ] || echo "ok 2 # SKIP b"
[ "${HF_BUILD##*/}" = build ] || echo "not ok 3 - c"
[ "${HF_BUILD##*/}" = build ] && echo 1..1 || echo 1..3'
is "$code $out" "1 2 passed, 1 failed, 1 skipped" "two builds: the sum"
like "$lines" $'\nbuild: 1 passed, 0 failed, 0 skipped in 1 programs; 0 seeds; ' \
    "the first one's"
like "$lines" $'\nbuild-b: 1 passed, 1 failed, 1 skipped in 1 programs; 0 seeds; ' \
    "the second one's, with skips of its own"
like "$lines" $'\nfailed: cli/x \\(build-b\\):\n    not ok 3 - c' "which build failed"

options=(-b "$W/tree/build" -j 1 --and -b "$W/tree/build-c" -w "$W/made" none)
echo 1 >"$W/made"
trial 'echo "ok 1 - a"; echo 1..1'
is "$code $out" "0 1 passed, 0 failed, 0 skipped" "a build without a test is not awaited"
options=("${options[@]/none/cli}")
trial 'echo "ok 1 - a"; echo 1..1'
is "$code $out" "1 1 passed, 1 failed, 0 skipped" "one that was not made has failed"
like "$lines" $'\nfailed: build-c: not built' "by name"
rm "$W/made"
trial '[ "${HF_BUILD##*/}" = build-c ] || echo 0 >'"'$W/made'"'
[ -e '"'$W/made'"' ] && echo "ok 1 - a"; echo 1..1'
is "$code $out" "0 2 passed, 0 failed, 0 skipped" "one that is made meanwhile is awaited"

# A device that cannot be synced shows whether a sync reaches the kernel.
reaches=1
! grep -qsw errno /proc/sys/kernel/seccomp/actions_avail || reaches=0
capture sync /dev/null
is "$code" $reaches "no fsync of a test reaches the disk, where the kernel has filters"
capture sync --data /dev/null
is "$code" $reaches "nor does an fdatasync"

# Where the time goes: the ten of more than ten tests that took the most of it.
options=(-b "$W/tree/build" -j 4)
unlike "$lines" 'most CPU' "of a few tests none is named for its time"
for i in {1..10}; do
    cp "$W/tree/tests/cli/x.t.sh" "$W/tree/tests/cli/a$i.t.sh"
done
trial 'for ((i = 0; i < 100000; i++)); do :; done
echo "ok 1 - a"; echo 1..1'
like "$lines" $'\nbuild: most CPU \(s\): cli/x [0-9]+(, cli/a[0-9]+ 0){9}\n11 programs' \
    "of eleven the ten that took the most, the first first"
rm "$W"/tree/tests/cli/a*.t.sh

# The longest first, also those whose limit is below that of all.
body='echo "ok 1 - a"; echo 1..1'
for seconds in 20 30; do
    printf '#!/bin/bash\n# timeout: %s\n%s\n' $seconds "$body" >"$W/tree/tests/cli/y$seconds.t.sh"
    chmod +x "$W/tree/tests/cli/y$seconds.t.sh"
done
options=(-t 240 -l)
trial "$body"
is "$lines" $'cli/y30\ncli/y20\ncli/x' "those that may run longest begin first"
rm "$W"/tree/tests/cli/y*.t.sh

# What is alone begins when all else has ended, of all builds.
cat >"$W/tree/tests/cli/y.t.sh" <<END
#!/bin/bash
# alone
[ -e '$W/quiet' ] && [ "\$(wc -l <'$W/ended')" = 2 ] && echo "ok 1 - a"
echo 1..1
END
chmod +x "$W/tree/tests/cli/y.t.sh"
options=(-b "$W/tree/build" -q "$W/quiet" -j 8 --and -b "$W/tree/build-b")
(sleep 3 && : >"$W/quiet") & # sleeps: what it writes is awaited
trial "sleep 1; echo >>'$W/ended'; echo 'ok 1 - a'; echo 1..1"
wait
like "$lines" $'\n4 programs' "two builds of two tests"
unlike "$lines" 'FAILED cli/y' "what is alone waits for the rest, and for quiet"
rm "$W/tree/tests/cli/y.t.sh"

# More at a time while half of a processor is free, by a /proc/stat that counts up. On
# one processor, so that half of it is half of all.
one=$(sed -nE 's/^Cpus_allowed_list:\s*([0-9]+).*/\1/p' /proc/self/status)
processors() { # IDLE-TICKS BUSY-TICKS
    local i n=0
    while :; do
        n=$((n + 1))
        for ((i = 0; i < 64; i++)); do
            echo "cpu$i $((n * $2)) 0 0 $((n * $1)) 0 0 0 0 0 0"
        done >"$W/stat.new"
        mv "$W/stat.new" "$W/stat"
        sleep 0.1 # sleeps: ticks
    done
}
peak() { # TESTS OPTION... : of 4 tests, each until TESTS run, how many ran at a time
    local i at=$1
    shift
    rm -rf "$W/now" "$W/peak"
    mkdir "$W/now"
    for i in 1 2 3 4; do
        cat >"$W/tree/tests/cli/p$i.t.sh" <<END
#!/bin/bash
: >'$W/now/$i'
for i in {1..600}; do
    ls '$W/now' | wc -l >>'$W/peak'
    [ "\$(tail -n 1 '$W/peak')" -lt $at ] || break
    sleep 0.1 # sleeps: at most a minute, and looks again
done
sleep 1 # sleeps: for one more, which must not come
rm '$W/now/$i'
echo "ok 1 - a"
echo 1..1
END
        chmod +x "$W/tree/tests/cli/p$i.t.sh"
    done
    HF_STAT=$W/stat taskset -c "$one" "$W/tree/tests/run" -b "$W/tree/build" "$@" cli/p >"$W/out"
    sort -n "$W/peak" | tail -n 1
}
processors 6 4 &
ticking=$!
wait_until 10 test -e "$W/stat"
is "$(peak 2 -j 2)" 2 "no more than -j without -J"
is "$(peak 4 -j 1 -J 4)" 4 "up to -J while more than half of one is free"
kill $ticking
wait
processors 4 6 &
ticking=$!
is "$(peak 1 -j 1 -J 4)" 1 "-j while less is"
kill $ticking
wait
finish
