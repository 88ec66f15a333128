#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run finds the descendants of its command in /proc. If /proc does not show
# them, it refuses to run, or continues with an option.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 120
chmod 755 "$W"
unshare -mpf --mount-proc true 2>/dev/null ||
    skip_all 'no privilege to make namespaces'
is_sanitized "$(command -v holdfast)" && skip_all 'sanitizers need /proc'
server_start redis --tcp
export HOLDFAST_URL="${SERVER_URL[redis]}?quarantine=off&node_timeout=1s"

# The command's child leaves its group, session and parents; both end after a
# minute.
cat >"$W/daemon" <<'DAEMON'
#!/bin/bash
trap '' TERM HUP
dir=$1
stay() {
    echo $BASHPID >"$dir/$1"
    until [ $SECONDS -gt 60 ]; do read -rt 0.05 <>"$dir/fifo"; done
}
export -f stay
export dir
(setsid bash -c '(stay orphan) & ' &)
until [ -s "$dir/orphan" ]; do sleep 0.01; done
stay command
DAEMON
chmod 755 "$W/daemon"

# A folder for one run; sets dir.
prepare() { # NAME
    dir=$W/$1
    mkdir "$dir"
    mkfifo "$dir/fifo"
    chmod -R a+rwX "$dir"
}

pid_of() {
    cat "$dir/$1"
}
is_ended() { # PROCESS
    is_gone "$(pid_of "$1")"
}
both_ended() {
    is_ended command && is_ended orphan
}
end_rest() {
    local file
    for file in "$W"/*/orphan "$W"/*/command; do
        kill -9 "$(cat "$file")"
    done 2>/dev/null
}
at_exit end_rest

refused() { # TITLE PREFIX...
    local title=$1
    shift
    capture "$@" holdfast run -n job -- touch "$W/ran"
    is "$code" 78 "$title: exit 78"
    like "$err" "^holdfast: job: /proc does not show [^"$'\n'"]*$" \
        "$title: one line"
    ok "$title: the command is not started" test ! -e "$W/ran"
}
cat >"$W/covered" <<'COVERED'
#!/bin/sh
mount -t tmpfs none /proc && exec "$@"
COVERED
chmod 755 "$W/covered"

refused 'something mounted over /proc' unshare -m "$W/covered"
refused 'a /proc of another pid namespace' unshare -pf --kill-child
capture unshare -m "$W/covered" holdfast run -n --on-no-proc run job -- sh -c \
    'echo ran; exit 3'
is "$code:$out:$err" '3:ran:' '--on-no-proc run: as if nothing were missing'

# The guarantee that --on-no-proc run gives up.
prepare hidden
capture unshare -m "$W/covered" holdfast run -n --on-no-proc run -t 20s \
    --max-hold 300ms --kill-grace 100ms job -- "$W/daemon" "$dir"
is "$code" 76 '--on-no-proc run: a process that was not ended is an error'
like "$err" '^holdfast: job: lost; without /proc it is not known whether [^'$'\n'']*$' \
    '--on-no-proc run: one line'
ok '--on-no-proc run: the process group is ended' is_ended command
ok '--on-no-proc run: a process that left it is not' \
    kill -0 "$(pid_of orphan)"
kill -9 "$(pid_of orphan)"

# What a signal leaves of the group is ended, too.
prepare rest
unshare -m "$W/covered" holdfast run -n --on-no-proc run -t 60s \
    --kill-grace 300ms job -- bash -c \
    '(trap "" TERM; echo $BASHPID >"$0/command"; exec sleep 60) & wait' "$dir" \
    2>"$W/err" &
wrapper=$!
wait_until 10 test -s "$dir/command"
kill -TERM $wrapper
wait $wrapper
is "$?:$(cat "$W/err")" 143: '--on-no-proc run: ended by a signal'
ok '--on-no-proc run: the rest of its group is ended' is_ended command

# ---- Without effect on it ----------------------------------------------------

# Processes of other users are hidden, and those that may not be traced.
cat >"$W/hidepid" <<'HIDEPID'
#!/bin/sh
mount -o remount,hidepid=2 /proc || exit 99
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
HIDEPID
chmod 755 "$W/hidepid"
prepare hidden-others
cat >"$W/look" <<'LOOK'
holdfast run -n -t 5s --max-hold 500ms --kill-grace 100ms job -- "$@"
code=$?
for process in command orphan; do
    kill -0 "$(cat "$2/$process")" 2>/dev/null && code+=" $process runs"
done
echo "$code"
LOOK
capture unshare -mpf --kill-child --mount-proc "$W/hidepid" \
    bash "$W/look" "$W/daemon" "$dir"
is "$out" 124 'hidepid: all is ended'

# The command itself mounts over it.
prepare covers
capture unshare -m holdfast run -n -t 5s --max-hold 500ms --kill-grace 100ms \
    job -- sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$W/daemon" "$dir"
is "$code" 124 'mounted over by the command: exit 124'
ok 'mounted over by the command: all is ended' both_ended

# No descriptor is left when it is needed.
prepare limit
for limit in $(seq 3 40); do
    (ulimit -Sn "$limit" && exec holdfast run -n job -- true) 2>/dev/null &&
        break
done
diag "a run needs $limit descriptors"
capture sh -c 'ulimit -Sn "$0" && exec "$@"' "$limit" \
    holdfast run -n -t 5s --max-hold 500ms --kill-grace 100ms job -- \
    sh -c 'ulimit -Sn 100; exec "$@"' sh "$W/daemon" "$dir"
is "$code" 124 'no descriptor left: exit 124'
ok 'no descriptor left: all is ended' both_ended
finish
