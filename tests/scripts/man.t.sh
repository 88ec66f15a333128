#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of the man page: the synopsis of each command is the one that its
# help prints, and any difference is reported.
. "$(dirname "$0")/../lib/tap.sh"
cd "$HF_SOURCE" || exit
command -v mandoc >/dev/null || skip_all 'no mandoc'

capture scripts/checks/man
is "$code:$out$err" 0: "the page as it is passes"

planted() { # WHAT SED LINE : the change of the page, and the line that differs
    sed -E "$2" docs/holdfast.1 >"$W/holdfast.1"
    capture scripts/checks/man "$W/holdfast.1"
    is "$code" 1 "$1: fails"
    like "$out" "(^|"$'\n'")$3("$'\n'"|\$)" "$1: the line is shown"
}
planted 'another argument' '/^\.Sh SYNOPSIS/,/^\.Sh DESC/s/Ar owner@fence/Ar owner/' \
    '\+holdfast release NAME \[--owner OWNER\]'
planted 'an option less' '/^\.Sh SYNOPSIS/,/^\.Sh DESC/{/Fl .&-json/d}' \
    '\+holdfast ls \[--follow\] \[PATTERN\]'
planted 'a literal that is an argument' \
    '/^\.Sh SYNOPSIS/,/^\.Sh DESC/s/Cm stores/Ar stores/' \
    '\+holdfast help \[COMMAND \| STORES\]'
planted 'a command less' '/^\.Cm top$/,/^\.Nm/d' \
    '-holdfast top \[PATTERN\]'
finish
