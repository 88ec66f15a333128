#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# release of a lock of acquire --while-pid, by ways that may not reach its
# keeper: it must not take the release for a loss, and end the script.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 180

chmod 755 "$W"
cat >"$W/script" <<'X'
#!/bin/bash
holdfast acquire -t "$2" --while-pid $$ job >"$1/line" 2>"$1/err" || exit
until [ -e "$1/go" ]; do sleep 0.02; done
X
chmod 755 "$W/script"

scripts=() keeper=0
end_all() {
    local pid
    for pid in "${scripts[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
    [ "$keeper" = 0 ] || kill -CONT "$keeper" 2>/dev/null
}
at_exit end_all
begin() { # FOLDER TTL [COMMAND ...]: the script, started by COMMAND
    dir=$W/$1
    mkdir -m 777 "$dir"
    "${@:3}" "$W/script" "$dir" "$2" &
    script=$!
    scripts+=("$script")
    wait_until 15 test -s "$dir/line"
    keeper=$(cut -d: -f3 "$dir/line")
    HOLDFAST_OWNER=$(cut -d' ' -f1 "$dir/line")
    export HOLDFAST_OWNER
}
is_free() {
    holdfast ls -q job
    [ $? = 1 ]
}
released() { # TITLE
    is "$code:$err" 0: "$1: exit 0"
    ok "$1: the name is free" wait_until 5 is_free
    ok "$1: the keeper ends" wait_until 15 is_gone "$keeper"
    keeper=0
    touch "$dir/go"
    wait "$script"
    is "$?" 0 "$1: the script ends by itself"
    is "$(cat "$dir/err")" '' "$1: and no loss is reported"
}

# A keeper that was stopped: the store releases the lock, and the keeper learns
# it when it is continued.
export HOLDFAST_URL=local://$W/store
begin stopped 60s
kill -STOP "$keeper"
capture timeout 60 holdfast release job
kill -CONT "$keeper"
released 'a stopped keeper'

# The same, and the lease is over before the keeper is continued.
begin late 3s
kill -STOP "$keeper"
capture timeout 60 holdfast release job
ok 'a stopped keeper whose lease is over: exit 0, or 76' \
    test "$code" = 0 -o "$code" = 76
code=0 err=''
kill -CONT "$keeper"
released 'a stopped keeper whose lease is over'

begin other 60s
capture holdfast release other
is "$code" 76 'another name: 76'
ok 'another name: the lock is held' holdfast ls -q job
capture holdfast release job
released 'in the same namespaces'

if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
    begin net 6s
    capture unshare -n holdfast release job
    released 'from another network namespace'
    # LeakSanitizer needs /proc, and reads its options there.
    if ! grep -q '^HF_SANITIZE:STRING=.' "$HF_BUILD/CMakeCache.txt"; then
        begin proc 60s
        capture unshare -m sh -c \
            'mount -t tmpfs none /proc && exec holdfast release job'
        released 'without /proc'
    fi

    server_start one --tcp
    HOLDFAST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=3s"
    begin user 6s setpriv --reuid=65534 --regid=65534 --clear-groups
    capture holdfast release job
    released "as root, another user's"
    begin again 6s setpriv --reuid=65534 --regid=65534 --clear-groups
    capture unshare -n holdfast release job
    released 'as root, of a server that only the keeper reaches'
else
    skip 'namespaces and users' 'needs root and network namespaces'
fi
finish
