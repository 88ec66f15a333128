#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of callers finds a function that only tests call, however it is declared,
# and nothing else.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/callers
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/core" "$W/tree/cli" "$W/tree/sim" "$W/tree/tests"
cd "$W/tree" || exit
git init -q .
cat >src/core/vote.h <<'END'
/* As hf_vote_gone() was. */
typedef void hf_vote_fn(struct hf_vote *vote);
bool hf_vote_send(struct hf_vote *vote);
bool hf_vote_ask(struct hf_vote *vote, /* of (one), node */
                 enum hf_verb verb);
struct hf_instant
hf_vote_due(const struct hf_vote *vote);
void hf_vote_count(struct hf_vote *vote);
hf_vote_fn hf_vote_hear;
static inline bool hf_vote_is_late(const struct hf_vote *vote)
{
    return hf_instant_before(hf_vote_due(vote), vote->now);
}
END
cat >src/core/vote.c <<'END'
bool hf_vote_send(struct hf_vote *vote)
{
    return hf_vote_ask(vote, HF_VERB_ACQUIRE);
}
bool hf_vote_ask(struct hf_vote *vote, enum hf_verb verb)
{
    loop_add(hf_vote_hear);
    return true;
}
struct hf_instant hf_vote_due(const struct hf_vote *vote)
{
    return vote->due;
}
void hf_vote_count(struct hf_vote *vote)
{
    return;
}
END
cat >cli/vote.c <<'END'
int main(void)
{
    return hf_vote_send(&vote) && hf_vote_is_late(&vote) ? 0 : 1;
}
END
echo 'static step_fn *const steps[] = {hf_vote_count};' >sim/vote.c
git add .
capture "$HF_SOURCE/scripts/checks/callers"
is "$code:$out$err" 0: "used by the folder itself, the command, an inline function, a table"

cat >>src/core/vote.h <<'END'
bool hf_vote_add(struct hf_vote *vote);
struct hf_vote *hf_vote_copy(const struct hf_vote *vote,
                             enum hf_verb verb);
struct hf_instant
hf_vote_began(const struct hf_vote *vote);
static inline bool hf_vote_is_over(const struct hf_vote *vote)
{
    return false;
}
END
cat >>src/core/vote.c <<'END'
/* Not hf_vote_copy(). */
bool hf_vote_add(struct hf_vote *vote)
{
    HF_LOG("hf_vote_began(vote)");
    return true;
}
END
echo 'int main(void) { return hf_vote_add(&vote) + hf_vote_is_over(&vote); }' >tests/vote.c
git add .
capture "$HF_SOURCE/scripts/checks/callers"
is "$code" 1 "a tree with others fails"
is "$out" "hf_vote_add: no program calls it
hf_vote_began: no program calls it
hf_vote_copy: no program calls it
hf_vote_is_over: no program calls it" "these are the ones"
finish
