#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/test says what it does, and starts nothing for an option that it has not.
. "$(dirname "$0")/../lib/tap.sh"

# A run that started would install and build: it has no programs for that here.
mkdir "$W/bin"
for program in bash sed dirname; do
    ln -s "$(command -v $program)" "$W/bin"
done
cd "$W" || exit
run() {
    capture timeout 60 env PATH="$W/bin" "$HF_SOURCE/scripts/test" "$@"
}

for option in -h --help; do
    run $option
    is "$code:$err" 0: "$option"
    like "$out" '^Install what the tests need, build plain' "$option: what it does"
    like "$out" 'scripts/test \[WORD\.\.\.\]     only tests' "$option: its words"
    unlike "$out" '#|==|set -' "$option: and no more"
done
run cli/run --help
like "$code:$out" '^0:Install' 'behind a word too'
for option in -x --helpp -v -; do
    run cli/run $option
    is "$code:$out" 64: "$option: refused"
    is "$err" "scripts/test: no option $option: see scripts/test --help" "$option: in one line"
done
finish
