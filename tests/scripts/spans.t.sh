#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of spans finds arithmetic on `ns` in whatever form, and fields and
# parameters that are plain numbers, and nothing else.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/spans
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/core" "$W/tree/src/base"
cd "$W/tree" || exit
git init -q .
cat >src/base/time.h <<'END'
sum.ns = a.ns + b.ns;
END
cat >src/core/some.c <<'END'
half.ns = 7;
x = (struct hf_span){ttl.ns / 3};
y = nodes->rtt[node].ns * 3;
z = period_ns - early.ns;
span.ns *= 2;
span.ns++;
sum = 3 * lease->ttl.ns;
left = hf_instant_until(now, until).ns % 1000;
split = half.ns +
        rest;
END
cat >src/core/fine.c <<'END'
is_late = now.ns >= until.ns;
is_first = at.ns == other.ns && span.ns != 0 && span.ns < most->ns;
file.since_ns = now.ns;
span = (struct hf_span){ns};
value = flag ? at.ns : -1;
struct hf_span zero = {.ns = 0};
call(left.ns, -right);
END
mkdir -p src/store/local
cat >src/store/local/release.c <<'END'
struct head { int64_t until_ns; };
void prolong(int64_t until_ns, struct hf_txn *txn);
bool is_idle(const struct hf_record *record, int64_t keep_ns)
int64_t left_ns = left.ns;
uint64_t size_ns_of;
END
cp src/store/local/release.c src/store/local/record.c
git add .
capture "$HF_SOURCE/scripts/checks/spans"
is "$code" 1 "a tree with arithmetic fails"
is "$(cut -d: -f1,2 <<<"$out" | grep -v '\^' | tr '\n' ' ')" \
    "src/core/some.c:1 src/core/some.c:2 src/core/some.c:3 src/core/some.c:4 \
src/core/some.c:5 src/core/some.c:6 src/core/some.c:7 src/core/some.c:8 \
src/core/some.c:9 src/store/local/release.c:1 src/store/local/release.c:2 \
src/store/local/release.c:3 " "each line of it, each plain number, and no other"
finish
