#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of headers finds a part of the public header that holdfast.h, or
# holdfast.hpp, does not include, one that does not compile alone, and a guard of
# another name. The tree is small, since each header is compiled ten times.
. "$(dirname "$0")/../lib/tap.sh"

for tool in gcc g++ clang clang++; do
    command -v $tool >/dev/null || skip_all "no $tool"
done
mkdir -p "$W/tree/include/holdfast"
cd "$W/tree/include/holdfast" || exit
header() { # FILE GUARD LINE...
    printf '%s\n' "#ifndef $2" "#define $2" "${@:3}" '#endif' >"$1"
}
header guard.h HF_GUARD_H 'struct hf_guard;'
header holdfast.h HF_HOLDFAST_H '#include <holdfast/locks.h>' \
    '#include <holdfast/values.h>'
header holdfast.hpp HF_HOLDFAST_HPP '#include <holdfast/locks.hpp>'
header locks.h HF_HOLDFAST_LOCKS_H 'struct hf_lock;' 'typedef int hf_status;'
header locks.hpp HF_HOLDFAST_LOCKS_HPP '#include <holdfast/holdfast.h>'
header values.h HF_HOLDFAST_VALUES_H '#include <holdfast/locks.h>' \
    'hf_status hf_value_get(void);'
cd "$W/tree" || exit
git init -q . && git add .
capture "$HF_SOURCE/scripts/checks/headers"
is "$code:$out$err" 0: "a tree in order passes"

cd include/holdfast || exit
header holdfast.h HF_HOLDFAST_H '#include <holdfast/locks.h>'
header holdfast.hpp HF_HOLDFAST_HPP
header locks.h HF_LOCK_H 'struct hf_lock;' 'typedef int hf_status;'
header values.h HF_HOLDFAST_VALUES_H 'hf_status hf_value_get(void);'
cd "$W/tree" || exit
capture "$HF_SOURCE/scripts/checks/headers"
is "$code" 1 "one with faults fails"
is "$out" "include/holdfast/locks.h: its include guard is HF_LOCK_H
include/holdfast/holdfast.hpp: does not include its part holdfast/locks.hpp
include/holdfast/holdfast.h: does not include its part holdfast/values.h" \
    "a guard of another name, and two parts that are not included"
like "$err" 'values\.h:3:1: error: unknown type name .hf_status' \
    "a part that does not compile alone"
unlike "$err" '(locks|guard|holdfast)\.h(pp)?:[0-9]+:[0-9]+: error' "nothing else"
finish
