# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A command that stands again for its lock. Source after tap.sh.
#
#   runs_again      cases: `holdfast run --again` on $HOLDFAST_URL runs its command
#                   again after the lock was taken; it is gone when the test ends

end_again() {
    kill "$again" 2>/dev/null
    wait "$again"
}

runs_again() {
    has_run() { [ "$(wc -l <"$W/again")" = "$1" ]; }
    holdfast run --again again -- sh -c 'echo ran; exec sleep 60' >"$W/again" &
    again=$!
    at_exit end_again
    ok 'run --again runs' wait_until 20 has_run 1
    holdfast break --now again >/dev/null
    ok 'and again after the lock was taken' wait_until 60 has_run 2
}
