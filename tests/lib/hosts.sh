# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The host two.test, with addresses of a test's own: a file of hosts in a mount
# namespace. Sourced after tap.sh.
#
#   hosts_write ADDRESS...   its addresses from now on
#   hosts_needed             skips the test where there are no mount namespaces
#   with_hosts COMMAND...    runs it with them
#   hosts_order              the addresses in the order in which they are tried
#
#   hosts_nameserver         other names are asked for at nameserver.py, which see,
#                            from now on
#   hosts_asked NAME N       it was asked so often; a look-up asks four times at most
cat >"$W/with_hosts" <<'SH'
#!/bin/sh
mount --bind "${0%/*}/hosts" /etc/hosts || exit
[ ! -e "${0%/*}/resolv.conf" ] ||
    mount --bind "${0%/*}/resolv.conf" /etc/resolv.conf || exit
exec "$@"
SH
chmod +x "$W/with_hosts"

# The file itself is mounted: it is written, and never replaced.
hosts_write() {
    printf '%s two.test\n' "$@" >"$W/hosts"
}

with_hosts() {
    unshare -m "$W/with_hosts" "$@"
}

# One of its own for each test: its port is fixed.
hosts_nameserver() {
    local address=127.53.$(($$ / 256 % 256)).$(($$ % 256))
    [ -e /etc/resolv.conf ] || return
    /usr/bin/python3 "$HF_SOURCE/tests/lib/nameserver.py" "$address" \
        >"$W/asked" 2>"$W/nameserver.log" &
    hosts_nameserver_pid=$!
    at_exit hosts_nameserver_end
    printf '%s\n' "nameserver $address" 'search .' \
        'options timeout:30 attempts:1' >"$W/resolv.conf"
    wait_until 20 hosts_asked ready 1
}

hosts_nameserver_end() {
    kill "$hosts_nameserver_pid"
}

hosts_asked() { # NAME N
    [ "$(grep -cxF "$1" "$W/asked")" -ge "$2" ]
}

hosts_needed() {
    hosts_write 127.0.0.1
    with_hosts true 2>/dev/null || skip_all 'needs root and mount namespaces'
}

hosts_order() {
    with_hosts getent ahosts two.test | awk '/STREAM/ { printf $1 " " }'
}
