#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checks of public docstrings find what one lacks, in each part of the public
# header, and an @param that names no parameter; and a C file that opens with no
# comment and has no header that does.
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p "$W/tree/src" "$W/tree/docs"
cp -r "$HF_SOURCE/include" "$W/tree"
cp "$HF_SOURCE/docs/library.md" "$W/tree/docs"
cd "$W/tree" || exit
git init -q . && git add .
for check in docstrings statuses; do
    capture "$HF_SOURCE/scripts/checks/$check"
    is "$code:$out$err" 0: "$check: the headers as they are pass"
done

planted() { # CHECK PART SED FINDING WHAT
    local file=include/holdfast/$2
    cp "$file" "$W/kept"
    sed -i "$3" "$file"
    ok "$5: it is planted" eval "! cmp -s '$file' '$W/kept'"
    capture "$HF_SOURCE/scripts/checks/$1"
    is "$code:$out$err" "1:$file: $4" "$5: is named, and nothing else"
    cp "$W/kept" "$file"
}
planted docstrings locks.h '/^ \* @param ttl_ms /d' \
    'hf_lock_extend(): its docstring lacks @param ttl_ms' \
    'a function without one of its parameters'
planted docstrings holders.h '/The callback at the end of hf_op_start_i/,/\*\//{
    /@param error/d
    }' 'hf_info_fn(): its docstring lacks @param error' \
    'a callback without one of its parameters'
planted docstrings values.h 's/@param if_version /@param if_versions/' \
    'hf_value_put(): its docstring lacks @param if_version
include/holdfast/values.h: hf_value_put(): @param if_versions is no parameter' \
    'a misspelt parameter'
planted docstrings clients.h '/^ \* @param client  NULL is fine/s/client/clients/' \
    'hf_client_close(): @param clients is no parameter' \
    'one that a function of one parameter does not have'
planted docstrings admin.h '/^\/\*\* Number of nodes/,/\*\//s/Threads:/Callers:/' \
    'hf_client_nodes(): its docstring lacks `Threads:`' 'a field less'
planted docstrings operations.h 's/int64_t ttl_ms,/int64_t ttl,/; s/@param ttl_ms/@param ttl/' \
    'hf_op_start_extend(): ttl names no unit' 'a time without a unit'
planted statuses operations.h '/^ \* Start hf_lock_adopt()/,/\*\//s/HF_CANCELLED; //' \
    'hf_op_start_adopt(): a cancel token ends it: HF_CANCELLED is not listed' \
    'a status less'
planted statuses locks.h 's/^ \* @return As hf_lock_release();/ * @return As hf_lock_free();/' \
    'hf_lock_release_reserved(): refers to hf_lock_free(), which has no list
include/holdfast/locks.h: hf_lock_release_reserved(): HF_OK and HF_INVALID are in every list: HF_INVALID HF_UNSUPPORTED ' \
    'a reference to no list'

# ---- Comments at the head of a file
licence='/* SPDX-License-Identifier: Apache-2.0 */'
put() { # FILE TEXT: behind the licence
    printf '%s\n%s\n' "$licence" "$2" >"$1"
}
mkdir -p src/core cli sim
put src/core/own.c $'/* What it is\n * for. */\n#include "core/own.h"'
put src/core/own.h '#ifndef OWN_H'
put src/core/header.c '#include "core/header.h"'
put src/core/header.h $'/* What it is for. */\n#ifndef HEADER_H'
git add .
capture "$HF_SOURCE/scripts/checks/docstrings"
is "$code:$out$err" 0: "a file with a comment at its head passes, or with one in its header"
put src/core/bare.c $'#include "core/bare.h"\n\n/* Of a function. */'
put src/core/bare.h $'#ifndef BARE_H\n\n/* Of a struct. */'
put src/core/alone.c '#include "core/header.h"'
put cli/title.c $'/* ---- Reading ---- */\nint x;'
printf 'int x;\n' >cli/licence.c
put sim/world.c '#include "core/header.h"'
git add .
capture "$HF_SOURCE/scripts/checks/docstrings"
is "$code:$(sed 's/: neither it nor its header opens with a comment$//' <<<"$out" |
    sort | tr '\n' ' ')" \
    "1:cli/licence.c cli/title.c sim/world.c src/core/alone.c src/core/bare.c " \
    "one without either is named, and nothing else"
finish
