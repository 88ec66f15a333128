#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The embedded store and its machine: users, namespaces, disks. Each fault gives
# one clear line and an exit code; none leads to a second store.
# timeout: 600
. "$(dirname "$0")/../lib/tap.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root for users, namespaces and mounts"

F=$W/store
L="local://$F"
install -d -g 65534 -m 2750 "$F" # a store shared by group 65534
holdfast doctor --init -u "$L"
chmod 755 "$W"

as_other_user() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

is_taken() {
    ! holdfast run -u "$L" -n "$1" -- true 2>/dev/null
}

one_line() { # TITLE: $err is one line of Holdfast's
    like "$err" '^holdfast: [^'$'\n'']+$' "$1: one line"
}

# ---- Users -----------------------------------------------------------------

capture holdfast run -u "$L" -n job -- true
is "$code" 0 "root takes a lock"
capture as_other_user "$HF_BUILD/holdfast" acquire -u "$L" job
is "$code" 0 "another member of the group takes one there"
capture holdfast run -u "$L" -n job -- true
is "$code" 75 "and root sees it"
owner=$(holdfast ls -u "$L" --json job | head -1)
isnt "$owner" "" "ls shows it"
capture holdfast break -u "$L" --now job
is "$code" 0 "root breaks it"

# ---- Waiting ---------------------------------------------------------------

# Wait until so many clients wait for $1.
waits() { # NAME COUNT
    [ "$(holdfast ls -u "$L" "$1" | grep -c 'waiting since')" = "$2" ]
}

# A waiter for $1 is started with the prefix COMMAND; the holder releases once it
# waits. $took: ms from the release until the waiter has the lock.
hand_over() { # NAME COMMAND...
    local name=$1 holder waiter fifo=$W/fifo-$1
    mkfifo "$fifo"
    holdfast run -u "$L" "$name" -- cat "$fifo" &
    holder=$!
    wait_until 5 is_taken "$name" || return
    "${@:2}" "$HF_BUILD/holdfast" run -u "$L" "$name" -- date +%s%3N \
        >"$W/when" 2>"$W/why" &
    waiter=$!
    wait_until 10 waits "$name" 1 || return
    exec {end}>"$fifo"
    exec {end}>&-
    took=$(now_ms)
    wait "$holder" && wait "$waiter" || return
    took=$(($(cat "$W/when") - $(date +%s%3N) + $(now_ms) - took))
}

ok "another user waits" hand_over users as_other_user
ok "and is granted it at once" test "$took" -lt 1000
if unshare -n true 2>/dev/null; then
    ok "a waiter in another network namespace" hand_over nets unshare -n
    ok "finds it free at its next heartbeat" test "$took" -lt 3500
else
    skip "network namespaces" "none here"
fi
is "$(ls "$F" | tr '\n' ' ')" "locks.gate locks.mdb values.mdb " \
    "no file remains"

# ---- Folders ---------------------------------------------------------------

mkdir -m 700 "$W/private"
capture as_other_user "$HF_BUILD/holdfast" run -u "local://$W/private" job -- true
is "$code" 77 "a folder that the user may not enter: 77"
one_line "no permission"
like "$err" 'belongs to user 0, not to user 65534' "says so"

mkdir -m 755 "$W/closed"
capture as_other_user "$HF_BUILD/holdfast" run -u "local://$W/closed" job -- true
is "$code" 77 "a folder in which the user may not write: 77"

mkdir -m 700 "$W/own"
chown 65534:65534 "$W/own"
capture as_other_user "$HF_BUILD/holdfast" run -u "local://$W/own" job -- true
is "$code" 0 "the user's own folder"
is "$(stat -c %a "$W/own/locks.gate" "$W/own/locks.mdb" | sort -u)" 600 \
    "its files are its owner's"

if unshare -m true 2>/dev/null; then
    # ---- Disks -------------------------------------------------------------

    mkdir "$W/disk"
    export W
    capture unshare -m bash -c '
        mount -t tmpfs -o mode=755,size=64k none "$W/disk" || exit 99
        holdfast run -u "local://$W/disk" x -- true'
    is "$code" 69 "a disk too small to begin: 69"
    one_line "full disk"
    like "$err" 'the disk is full' "says so"

    capture unshare -m bash -c '
        mount -t tmpfs -o ro none "$W/disk" || exit 99
        holdfast run -u "local://$W/disk/store" x -- true'
    is "$code:$err" "69:holdfast: -u: cannot make the folder $W/disk/store: $(
    )the file system is read-only; $(
    )name a folder with -u local:///FOLDER that can be written" \
        "a read-only disk: 69, which it says"
    capture unshare -m bash -c '
        holdfast run -u "local://$W/closed" x -- true || exit 98
        mount --bind "$W/closed" "$W/closed" &&
            mount -o remount,ro,bind "$W/closed" || exit 99
        holdfast run -u "local://$W/closed" x -- true'
    like "$code:$err" "^69:holdfast: -u: cannot open $W/closed/.*read-only; name" \
        "a disk that becomes read-only"

    capture unshare -m bash -c '
        mount -t tmpfs -o mode=755,size=1200k none "$W/disk" || exit 99
        export HOLDFAST_URL="local://$W/disk?max_ttl=10m" # hundreds of commands
        long=$(printf "%0900d" 0)
        first=$(holdfast acquire -t 10m first) || exit 98
        for i in $(seq 600); do
            holdfast acquire -t 10m -n "$long-$i" >"$W/last" 2>"$W/full"
            code=$?
            [ $code = 0 ] || break
        done
        cat "$W/full" >&2
        echo "$code"
        for i in $(seq 600); do # until the file has no room for a place in a queue
            holdfast acquire -t 10m -n "$i" >/dev/null 2>&1 || break
        done
        began=$EPOCHSECONDS
        timeout 20 holdfast run "$long-1" -- true 2>"$W/waiter"
        echo "waiter $? $((EPOCHSECONDS - began < 10))"
        holdfast extend first --owner "${first%% *}" >/dev/null; echo "extend $?"
        holdfast release first --owner "${first%% *}"; echo "release $?"
        holdfast run -n "$long-1" -- true 2>/dev/null; echo "held $?"'
    is "$out" "69
waiter 69 1
extend 0
release 0
held 75" "a disk that becomes full: 69, and held locks stay held"
like "$(cat "$W/waiter")" '^holdfast: [^'$'\n'']*the disk is full$' \
    "a waiter without a place ends and says why, in one line"
    one_line "full while growing"
    like "$err" 'cannot grow beyond 1 MiB: the disk is full' "says so"

    capture unshare -m bash -c '
        mount -t tmpfs -o mode=755,size=3m none "$W/disk" || exit 99
        export HOLDFAST_URL="local://$W/disk"
        head -c 262144 /dev/urandom >"$W/big"
        holdfast put -q small 1 || exit 98
        for i in $(seq 20); do
            holdfast put -q "v$i" - <"$W/big" 2>"$W/values"
            code=$?
            [ $code = 0 ] || break
        done
        echo "put $code $((i > 2))"
        holdfast get -q "v$i"; echo "new $?"
        holdfast get "v$((i - 1))" | cmp - "$W/big"; echo "last $?"
        holdfast get small; echo " small"
        holdfast put -q small 2; echo "over it $?"
        holdfast run -n job -- true; echo "lock $?"
        holdfast put -q --delete v1; echo "delete $?"
        head -c 200000 "$W/big" >"$W/less" # pages of its own size may be apart
        holdfast put -q w x; holdfast put -q "v$i" - <"$W/less"; echo "put $?"
        holdfast get "v$i" | cmp - "$W/less"; echo "new $?"'
    is "$out" "put 69 1
new 1
last 0
1 small
over it 0
lock 0
delete 0
put 0
new 0" "a disk that becomes full of values: nothing is lost"
    like "$(cat "$W/values")" \
        '^holdfast: v[0-9]+: [^'$'\n'']*values.mdb cannot grow: the disk is full$' \
        "which it says in one line"

    capture unshare -m bash -c '
        mount -t tmpfs -o mode=755 none "$W/disk" || exit 99
        mount -o remount,ro "$W/disk" || exit 99
        holdfast run -u "local://$W/disk" x -- true'
    is "$code" 69 "a read-only disk: 69"
    one_line "read-only"
    like "$err" 'read-only' "says so"
else
    skip "disks" "no mount namespaces here"
fi

# ---- Folders and files that cannot be used ---------------------------------

capture holdfast run -u "local://$F/locks.gate" x -- true
is "$code" 78 "a file for a folder: 78"
one_line "a file"
long=$(printf '%01000d' 0)
for command in "run x -- true" "doctor --init"; do
    # shellcheck disable=SC2086 # its words
    capture holdfast ${command%% *} -u "local:///$long" ${command#"${command%% *}"}
    is "$code" 78 "a path of 1001 bytes: ${command%% *}: 78"
    one_line "a long path"
    like "$err" ' the path of the folder is too long$' "says so"
    unlike "$err" 'group' "... and nothing of a group"
done
cp -r "$F" "$W/bad"
printf 'xxxxxxxx' | dd of="$W/bad/locks.gate" conv=notrunc status=none
capture holdfast run -u "local://$W/bad" x -- true
is "$code" 78 "a foreign file: 78"
one_line "foreign"
like "$err" 'then remove it' "gives the remedy"

# ---- A container's own boot id ---------------------------------------------

boot_id=/proc/sys/kernel/random/boot_id
echo 00000000-1111-4000-8000-000000000000 >"$W/boot"

# As systemd-nspawn does it.
hide_boot_id() { # COMMAND...
    unshare -m bash -c 'mount --bind "$0" "$1" && exec "${@:2}"' \
        "$W/boot" $boot_id "$@"
}

if hide_boot_id true 2>/dev/null; then
    held=$(holdfast acquire -u "local://$W/apart?max_ttl=10m" -t 10m x)
    capture hide_boot_id holdfast run -u "local://$W/apart" -n x -- true
    is "$code" 69 "another boot id does not end a lease without a process"
    one_line "another boot id"
    like "$err" 'another boot id, and its last lease may live for [1-6][0-9]* s' \
        "and how long it may live"
    capture holdfast release -u "local://$W/apart" --owner "${held%% *}" x
    is "$code" 0 "it is still held"
    capture hide_boot_id holdfast doctor -u "local://$W/hidden"
    like "$out$err" "this container hides the machine's boot id" "doctor warns"
    capture holdfast doctor -u "local://$W/hidden"
    unlike "$out$err" "hides the machine's boot id" "and does not elsewhere"
else
    skip "another boot id" "no mount namespaces here"
fi

# ---- Process namespaces ----------------------------------------------------

# Holds $1 in a new pid namespace until it is killed; its keeper with it.
in_namespace() {
    exec unshare -p -f --kill-child --mount-proc \
        "$HF_BUILD/holdfast" run -u "$L" -t 3s "$1" -- sleep 1000
}

is_free() {
    holdfast run -u "$L" -n "$1" -- true 2>/dev/null
}

if unshare -p -f --mount-proc true 2>/dev/null; then
    in_namespace far &
    pid=$!
    ok "held in another pid namespace" wait_until 5 is_taken far
    capture holdfast run -u "$L" -n far -- true
    is "$code" 75 "and not robbed, though its numbers mean others here"
    # The keeper notices the end of its wrapper a moment before the kernel ends
    # it, too, and sometimes is fast enough to release the lock.
    for wrapper in $(ps -o pid= --ppid "$pid"); do
        for keeper in $(ps -o pid= --ppid "$wrapper"); do
            kill -STOP "$keeper"
        done
    done
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    began=$(now_ms)
    capture holdfast run -u "$L" -w 10 far -- true
    is "$code" 0 "when it dies, its lease ends"
    ok "and not before" test $(($(now_ms) - began)) -gt 900

    capture unshare -p -f "$HF_BUILD/holdfast" run --on-no-proc run \
        -u "$L" -n blind -- true
    is "$code" 0 "a namespace without a /proc of its own can take locks"

    holdfast run -u "$L" -t 60s near -- sleep 1000 &
    pid=$!
    ok "held here" wait_until 5 is_taken near
    capture unshare -p -f --mount-proc \
        "$HF_BUILD/holdfast" run -u "$L" -n near -- true
    is "$code" 75 "and not robbed from another namespace"
    capture unshare -p -f "$HF_BUILD/holdfast" run --on-no-proc run \
        -u "$L" -n near -- true
    is "$code" 75 "nor from one that sees a foreign /proc"
    kill "$pid"
    wait "$pid" 2>/dev/null
    ok "free again" wait_until 5 is_free near
else
    skip "pid namespaces" "none here"
fi

# ---- Time namespaces --------------------------------------------------------

# The lease of another clock would end at another time.
T="local://$W/times"
on_clock() { # OFFSET ARG...
    unshare -fT --boottime "$1" "$HF_BUILD/holdfast" "$2" -u "$T" "${@:3}"
}
is_held_there() {
    on_clock 1000 ls -q held
}
if unshare -fT --boottime 1000 true 2>/dev/null; then
    capture on_clock 1000 acquire --ttl 60s job
    is "$code" 0 "a lock on a clock that is 1000 s ahead"
    capture on_clock 5000 run -n job -- echo ran
    is "$code:$out" 78: "not granted on one that is 5000 s ahead"
    one_line "another clock"
    like "$err" 'in use in another time namespace, whose clock is not ours' "says so"
    mkfifo "$W/clock"
    exec {end}<>"$W/clock"
    on_clock 1000 run -t 60s held -- head -c 1 "$W/clock" &
    ok "held in one namespace" wait_until 30 is_held_there
    capture on_clock 1000 run -n held -- echo ran
    is "$code:$out" 75: "another one with the same offset shares the store"
    echo >&$end
    wait $!
    is $? 0 "... until the first one ends"
    exec {end}>&-
else
    skip "time namespaces" "none here"
fi

# ---- The files are removed while they are in use ----------------------------

C=$W/cut
holdfast run -u "local://$C" -t 6s job -- sleep 30 2>"$W/cut.holder" &
holder=$!
until_held() { holdfast ls -q -u "local://$C" job; }
ok 'a lock is held' wait_until 10 until_held
holdfast run -u "local://$C" job -- true 2>"$W/cut.wait" &
waiter=$!
holdfast run -u "local://$C" --again job -- true 2>"$W/cut.again" &
again=$!
holdfast run -u "local://$C" -w 60s job -- true 2>"$W/cut.limit" &
limited=$!
three_wait() { holdfast ls -u "local://$C" --json job | grep -q '"waiting":3'; }
ok 'three wait for it' wait_until 10 three_wait
at_exit "kill $holder $waiter $again $limited 2>/dev/null"
rm -rf "$C"
over() { # PID: within its lease
    wait_until 20 is_gone "$1"
}
cut="^holdfast: .*its files were removed, replaced or cut while in use: stop all users"
ok 'the holder ends' over "$holder"
wait "$holder" 2>/dev/null
is $? 76 '... as lost'
like "$(<"$W/cut.holder")" "$cut" '... with the reason'
for one in "wait $waiter" "again $again" "limit $limited"; do
    ok "a waiter ends: ${one% *}" over "${one#* }"
    wait "${one#* }" 2>/dev/null
    is $? 78 "... as a mistake of configuration: ${one% *}"
    like "$(<"$W/cut.${one% *}")" "$cut" "... with the reason: ${one% *}"
done

# ---- An older copy of the file is put back ----------------------------------
# It has no record of the locks that were granted since.

O=$W/older
older='locks\.mdb was replaced by an older copy: stop all users of the folder, then '
older+='remove its locks\.gate and locks\.mdb'
holdfast run -u "local://$O" job -- true
cp "$O/locks.mdb" "$W/older.mdb"
holdfast run -u "local://$O" -t 6s job -- sleep 30 2>"$W/older.holder" &
holder=$!
at_exit "kill $holder 2>/dev/null"
held_there() { holdfast ls -q -u "local://$O" job; }
ok 'held after the copy was made' wait_until 10 held_there
dd if="$W/older.mdb" of="$O/locks.mdb" conv=notrunc status=none
capture holdfast run -u "local://$O" -n job -- true
is "$code" 78 'over the file: the name is not granted a second time'
like "$err" "$older" '... with the reason'
ok 'the holder ends' over "$holder"
wait "$holder" 2>/dev/null
is $? 76 '... as lost'
like "$(<"$W/older.holder")" "$older" '... with the reason'

rm "$O/locks.gate" "$O/locks.mdb"
holdfast run -u "local://$O" job -- true
ok 'after the remedy locks are granted' holdfast run -u "local://$O" job -- true
cp "$O/locks.mdb" "$W/older.mdb"
held=$(holdfast acquire -u "local://$O" -t 60s job)
mv "$W/older.mdb" "$O/locks.mdb"
for command in 'run -n job -- true' 'ls job' 'doctor'; do
    # shellcheck disable=SC2086 # its words
    capture holdfast ${command%% *} -u "local://$O" ${command#"${command%% *}"}
    like "$out$err" "$older" "in its place, between uses: ${command%% *}"
done
HOLDFAST_OWNER=${held%% *} capture holdfast release -u "local://$O" job
is "$code" 78 '... release'
finish
