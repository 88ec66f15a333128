# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A machine of its own for tests with several users: a mount namespace with
# private home folders, /etc and /var/lib. Source it after tap.sh; users_skip
# skips the test where that cannot be, users_can tells.
#
#   in_users 'BASH COMMANDS'   runs them as root in a fresh machine with the
#                              functions below; $out, $err, $code as capture
#     as USER COMMAND...       root, alice, bob (members of group holdfast),
#                              carol (no member), homeless, slash
#     share                    the shared store of all members, configured
#
#   "${as_other[@]}" COMMAND...  without the rights of root, which may open each
#                              file; mode 0 keeps the test's own user out
#
# shellcheck disable=SC2034 # capture's variables
as_other=(env HOME=/nonexistent)
[ "$(id -u)" != 0 ] ||
    as_other+=(setpriv --reuid=65534 --regid=65534 --clear-groups)

users_can() {
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null
}

users_skip() {
    users_can || skip_all "needs root and mount namespaces"
}

users_write() {
    mkdir -p "$W/etc" "$W/machine"
    cat >"$W/etc/passwd" <<END
root:x:0:0:root:$W/machine/root:/bin/sh
alice:x:4001:4001::$W/machine/alice:/bin/sh
bob:x:4002:4002::$W/machine/bob:/bin/sh
carol:x:4003:4003::$W/machine/carol:/bin/sh
homeless:x:4004:4004::/nonexistent:/bin/sh
slash:x:4005:4005::/:/bin/sh
END
    cat >"$W/etc/group" <<END
root:x:0:
alice:x:4001:
bob:x:4002:
carol:x:4003:
holdfast:x:4010:alice,bob
END
    chmod 755 "$W" "$W/etc" "$W/machine"
    chmod 644 "$W/etc"/*
    cat >"$W/functions" <<'END'
set -u
export XDG_CONFIG_HOME=/nonexistent
hf=$HF_BUILD/holdfast
cp -L /etc/nsswitch.conf /etc/ld.so.cache "$W/etc" 2>/dev/null
mount -t tmpfs -o mode=755 none /etc
cp "$W"/etc/* /etc
mount -t tmpfs -o mode=755 none "$W/machine"
mount -t tmpfs -o mode=755 none /var/lib
cd "$W/machine"
for user in root:0 alice:4001 bob:4002 carol:4003; do
    install -d -m 700 -o "${user#*:}" -g "${user#*:}" "${user%:*}"
done
as() { # USER COMMAND...
    local name=$1 groups=4010 uid
    shift
    case $name in
    root) env HOME="$W/machine/root" "$@"; return ;;
    alice) uid=4001 ;;
    bob) uid=4002 ;;
    carol) uid=4003 groups=4003 ;;
    homeless) uid=4004 groups=4004 ;;
    slash) uid=4005 groups=4005 ;;
    esac
    setpriv --reuid=$uid --regid=$uid --groups=$groups \
        env HOME="$W/machine/$name" "$@"
}
share() {
    "$hf" doctor --init -u local:///var/lib/holdfast || exit 99
    export HOLDFAST_URL=local:///var/lib/holdfast
}
# The exit code of a try for the name "job": 0 free, 75 held.
try() { # USER
    as "$1" "$hf" run -qn job -- true
    echo "$1 $?"
}
END
}

in_users() { # BASH COMMANDS
    [ -e "$W/functions" ] || users_write
    export W
    capture unshare -m bash -c '. "$W/functions"; '"$1"
}
