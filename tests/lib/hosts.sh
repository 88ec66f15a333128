# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The host two.test, with addresses of a test's own: a file of hosts in a mount
# namespace. Sourced after tap.sh.
#
#   hosts_write ADDRESS...   its addresses from now on
#   hosts_needed             skips the test where there are no mount namespaces
#   with_hosts COMMAND...    runs it with them
#   hosts_order              the addresses in the order in which they are tried
cat >"$W/with_hosts" <<'SH'
#!/bin/sh
mount --bind "${0%/*}/hosts" /etc/hosts && exec "$@"
SH
chmod +x "$W/with_hosts"

# The file itself is mounted: it is written, and never replaced.
hosts_write() {
    printf '%s two.test\n' "$@" >"$W/hosts"
}

with_hosts() {
    unshare -m "$W/with_hosts" "$@"
}

hosts_needed() {
    hosts_write 127.0.0.1
    with_hosts true 2>/dev/null || skip_all 'needs root and mount namespaces'
}

hosts_order() {
    with_hosts getent ahosts two.test | awk '/STREAM/ { printf $1 " " }'
}
