#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of assertions names each function of core that has none, but those of
# one statement.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/asserts
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/core" "$W/tree/src/io"
cd "$W/tree" || exit
git init -q .
cat >src/core/some.c <<'END'
int long_predicate(int a, int b)
{
    return a == 1 || /* first; */
           b == 2 ||
           a == 3;
}

int asserts(int a)
{
    HF_ASSERT(a > 0);
    int b = a + 1;
    return b;
}

int planted(int a)
{
    int b = a + 1;
    return b;
}
END
printf 'static inline int in_header(int a)\n{\n    a++;\n    return a;\n}\n' \
    >src/core/some.h
printf 'int elsewhere(int a)\n{\n    a++;\n    return a;\n}\n' >src/io/some.c
git add .
capture "$HF_SOURCE/scripts/checks/asserts"
is "$code" 1 "a tree with functions that assert nothing fails"
is "$out" "src/core/some.c:15: planted() asserts nothing
src/core/some.h:1: in_header() asserts nothing" "it names them, and no other"
finish
