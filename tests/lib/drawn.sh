# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Random seeds, drawn from a hash of the sources that are tested: each change of
# the sources is tried with new seeds, and one tree has the same seeds on every
# machine, with or without git.
#
#   drawn_seed     prints it: from 10000 up, below 10^9
#   drawn_half 0|1 is true for one of the two, by the seed; HF_TEST_ALL=1: for both
#   drawn_of N I   is true for one of 0 to N-1, likewise
#   drawn_third N  prints a third of 1 to N, by the seed: of many alike, which cost
#                  time, each run tries others. HF_TEST_ALL=1: all of them

# The path of the source folder does not count, so that a copy for another build
# has the same seeds: names are relative to the root, in an order that does not
# depend on the locale.
drawn_seed() {
    (
        cd "$HF_SOURCE" || exit
        find src sim tests/sim -type f \
            \( -name '*.[ch]' -o -name '*.lua' -o -name '*.sql' -o \
                -name '*.story' \) |
            LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum | sha256sum |
            {
                read -r sum _
                echo $((16#${sum:0:12} % 999990000 + 10000))
            }
    )
}

drawn_half() { # 0|1
    drawn_of 2 "$1"
}

drawn_of() { # N I
    [ -n "${HF_TEST_ALL:-}" ] || [ $(($(drawn_seed) % $1)) = "$2" ]
}

drawn_third() { # N
    local every=3 at=0
    if [ -n "${HF_TEST_ALL:-}" ]; then
        every=1
    else
        at=$(($(drawn_seed) % every))
    fi
    seq "$1" | awk -v every=$every -v at=$at 'NR % every == at'
}
