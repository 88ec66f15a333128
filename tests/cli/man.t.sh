#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The man page and --help say the same: commands, options, exit codes.
. "$(dirname "$0")/../lib/tap.sh"
page=$HF_SOURCE/docs/holdfast.1

# mdoc's markup as plain text: "--ttl" for "Fl \&-ttl".
plain=$(sed -E 's/\.(It|Op|Ar|Nm|Cm|Fl|Sx|Dl) /&/; s/Fl \\&-/--/g; s/\\&//g' \
    "$page")

for command in run acquire extend release ls top break get put update guard doctor help; do
    like "$(holdfast help)" "(^|"$'\n'")  $command " "help lists $command"
    like "$plain" "\.Cm $command" "the synopsis has $command"
    like "$plain" "\.It Cm $command" "the man page describes $command"
    for option in $(holdfast $command --help | grep -oE '^ +(-., )?--[a-z-]+' |
        grep -oE -- '--[a-z-]+'); do
        like "$plain" "[ (]$option([ ,]|"$'\n'"|\$)" \
            "$command: the man page has $option"
    done
    for letter in $(holdfast $command --help | grep -oE '^ +-[a-zA-Z], ' |
        grep -oE '[a-zA-Z]'); do
        like "$plain" "\.(It )?Fl $letter |Fl .*[ ,]$letter ,|\.It Fl $letter ," \
            "$command: the man page has -$letter"
    done
done
all=$(for command in run acquire extend release ls top break get put update guard doctor help; do
    holdfast $command --help
done)
for option in $(grep -oE -- '^\.It .*--[a-z-]+' <<<"$plain" |
    grep -oE -- '--[a-z-]+' | sort -u); do
    like "$all" "${option}[ "$'\n'"]" "$option of the man page is offered"
done
named() { # the signals on stdin, sorted
    grep -oE 'SIG[A-Z0-9]+' | sort | xargs
}
relayed=$(sed -n '/^static const int relayed/,/;/p' "$HF_SOURCE/cli/signals.c" |
    named)
listed=$(sed -n '/^SIGHUP, .* SIGUSR1/,/^SIGCONT /p' "$page" |
    sed 's/^SIGCONT //' | named)
is "$listed" "$relayed" 'the man page lists the signals that are handed on'
for code in 64 69 70 75 76 77 78 124 126 127; do
    like "$plain" "\.It ([0-9]+ , )?$code( |"$'\n'"|\$)" \
        "exit code $code is in the man page"
    like "$(holdfast run --help)" "[^0-9]${code}[^0-9]" \
        "exit code $code is in run --help"
done
for parameter in prefix connect_timeout node_timeout tls_ca quarantine \
    max_ttl fence_keep fence_base; do
    like "$plain" "$parameter" "$parameter is in the man page"
    like "$(holdfast help stores)" "$parameter=?" "$parameter is in help stores"
done
if command -v mandoc >/dev/null; then
    is "$(mandoc -T lint -W warning "$page")" '' 'mandoc has nothing to say'
fi
is "$({ echo "$all"; holdfast help; holdfast help stores; } |
    grep -nE '.{81}')" '' \
    'help fits 80 columns'
finish
