#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of nouns finds a function whose name begins with none, in whatever
# form it is declared, and nothing else.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/nouns
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/core" "$W/tree/include/holdfast"
cd "$W/tree" || exit
git init -q .
cat >include/holdfast/holdfast.h <<'END'
struct hf_lock;
END
cat >src/core/lease_hold.h <<'END'
struct hf_vote {
    int counter;
};
/* hf_nothing_here(a comment) */
#define HF_CALL(x) hf_nothing_either(x)
void hf_hold_begin(int x);
bool hf_vote_is_pending(const struct hf_vote *vote);
unsigned hf_votes_count(void);
struct hf_vote *hf_lock_vote(struct hf_lock *lock);
int hf_drift(int ttl);
bool hf_is_pending(const struct hf_vote *vote);
struct hf_vote *hf_make_vote(void);
static inline int hf_bit(unsigned node)
{
    return hf_any_call(node);
}
/* A comment
 * of two lines. */
void hf_tell_all(int x,
                 int y);
END
git add .
capture "$HF_SOURCE/scripts/checks/nouns"
is "$code" 1 "a tree with other names fails"
is "$(sed -n 's/^src\/core\/lease_hold\.h: \(.*\): begins.*/\1/p' <<<"$out" |
    tr '\n' ' ')" "hf_is_pending hf_make_vote hf_bit hf_tell_all " \
    "these are the ones"

cat >src/core/lease_hold.h <<'END'
struct hf_hold {
    struct hf_hold *next;
};
struct hf_hold;
void hf_hold_begin(struct hf_hold *hold);
END
git add .
capture "$HF_SOURCE/scripts/checks/nouns"
is "$code:$out" 0: "a struct that is declared again passes"
printf 'struct hf_hold {\n    int held;\n};\n' >src/core/table.c
git add .
capture "$HF_SOURCE/scripts/checks/nouns"
is "$code:$out" "1:src/core/table.c: struct hf_hold: src/core/lease_hold.h has one of this name" \
    "one that is defined twice fails"

mkdir cli
printf 'struct stop {\n    int fd;\n};\n' >src/core/table.c
printf 'static const struct stop {\n    int signal;\n} stops[1];\n' >cli/run.c
git add .
capture "$HF_SOURCE/scripts/checks/nouns"
is "$code:$out" "1:src/core/table.c: struct stop: cli/run.c has one of this name" \
    "a tag of one file, behind static const, that another has, too, fails"
printf 'struct keep {\n    union stop {\n        int fd;\n    } stop;\n};\n' >cli/run.c
git add .
capture "$HF_SOURCE/scripts/checks/nouns"
is "$code:$out" "1:src/core/table.c: struct stop: cli/run.c has one of this name" \
    "one inside of another struct fails"
printf 'struct keep {\n    struct stop *stop;\n};\nstruct stop;\n' >cli/run.c
git add .
capture "$HF_SOURCE/scripts/checks/nouns"
is "$code:$out" 0: "one that is only used there passes"
finish
