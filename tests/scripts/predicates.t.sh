#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of predicates finds a function named is_… or has_… that may write
# through a pointer, in whatever form it is declared, and nothing else.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/predicates
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/core" "$W/tree/cli" "$W/tree/include/holdfast"
cd "$W/tree" || exit
git init -q .
cat >include/holdfast/holdfast.h <<'END'
bool hf_guard_is_stale(const char *text, uint64_t *seen);
END
cat >src/core/vote.h <<'END'
bool hf_vote_is_pending(const struct hf_vote *vote, /* of (one), node */
                        enum hf_verb verb);
static inline bool
hf_vote_has_place(const struct hf_vote *vote)
{
    return vote->place != 0 && is_first(vote);
}
bool hf_vote_send(struct hf_vote *vote);
bool hf_this_vote(struct hf_vote *vote);
END
cat >cli/vote.c <<'END'
static bool has_dash(char *const *words, const int counts[2], unsigned n)
{
}
bool hf_guard_is_stale(const char *text, uint64_t *seen)
{
}
static bool is_shared; /* a variable */
END
git add .
capture "$HF_SOURCE/scripts/checks/predicates"
is "$code:$out$err" 0: "pointers to const, verbs and public names pass"

cat >>src/core/vote.h <<'END'
bool hf_vote_is_late(struct hf_vote *vote);
bool
hf_vote_has_time(const struct hf_vote *vote,
                 uint64_t *time_us);
END
cat >>cli/vote.c <<'END'
static bool is_counted(const char **words)
{
}
static int has_counts(int counts[2])
{
}
END
git add .
capture "$HF_SOURCE/scripts/checks/predicates"
is "$code" 1 "a tree with others fails"
is "$(grep -oE '[a-z_]+: may.*' <<<"$out" | sort | tr '\n' ' ')" \
    'has_counts: may write through "int counts[2]" hf_vote_has_time: may write through "uint64_t *time_us" hf_vote_is_late: may write through "struct hf_vote *vote" is_counted: may write through "const char **words" ' \
    "these are the ones"
finish
