# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Seeds that nobody chose: drawn from the sources that are tested. Each change
# of them is tried with others than the one before; one tree has the same ones
# everywhere, with or without git.
#
#   drawn_seed     prints it: from 10000 up, below 10^9

# A folder that is copied for another build has no part in it: names are taken
# relative to the root, in an order that no locale decides.
drawn_seed() {
    (
        cd "$HF_SOURCE" || exit
        find src sim tests/sim -type f \
            \( -name '*.[ch]' -o -name '*.lua' -o -name '*.story' \) |
            LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum | sha256sum |
            {
                read -r sum _
                echo $((16#${sum:0:12} % 999990000 + 10000))
            }
    )
}
