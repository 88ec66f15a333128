# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Files that are costly to make, and the same for each test. Source after
# tap.sh.
#
#   copy_of NAME FOLDER COMMAND...   makes FOLDER as "COMMAND... FOLDER" does: a
#                                    copy of the files that the first test of
#                                    tests/run's that asked for NAME has made

copy_of() {
    local name=$1 folder=$2 shared=${HF_SHARED:-}
    shift 2
    if [ -z "$shared" ]; then
        "$@" "$folder"
        return
    fi
    (
        flock 9 || exit
        [ ! -d "$shared/$name" ] || exit 0
        rm -rf "$shared/$name.new" # of a test that was ended
        "$@" "$shared/$name.new" && mv "$shared/$name.new" "$shared/$name"
    ) 9>>"$shared/$name.lock" && cp -a "$shared/$name" "$folder"
}
