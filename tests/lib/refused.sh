# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Each call of holdfast(1) to the C library is refused once, on a server. Source
# after tap.sh and nested.sh.
#
#   refused TITLE SECONDS ADDRESS [PARAMETERS]   cases; then the server still serves,
#                 and is_empty, a function of the test, is true within SECONDS

export W # of the folder that tests/lib/refuse writes to

refused() {
    local title=$1 seconds=$2 address=$3 more=${4:+&$4}
    nested "$title" "$HF_BUILD/tests/lib/refuse" "$address?node_timeout=1s$more"
    ok 'the server still serves' \
        holdfast run -w 20 -u "$address?node_timeout=3s$more" last -- true
    ok 'nothing is left' wait_until "$seconds" is_empty
}
