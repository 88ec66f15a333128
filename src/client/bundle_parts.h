/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a bundle share. bundle.c has the algorithm; bundle_plan.c
 * makes it of an order; bundle_member.c begins and drops one of its
 * acquisitions; bundle_end.c says what came of it. */
#ifndef HF_CLIENT_BUNDLE_PARTS_H
#define HF_CLIENT_BUNDLE_PARTS_H

#include "client/bundle.h"

#include "base/assert.h"

struct hf_member {
    struct hf_op op;
    bool is_begun;
};

struct hf_part {
    struct hf_member *members; /* any one of these */
    unsigned count;
    unsigned start;      /* which is tried first */
    struct hf_lock *got; /* NULL: missing */
};

enum hf_stage { HF_STAGE_SWEEP, HF_STAGE_WAIT };

struct hf_bundle {
    struct hf_op op;
    struct hf_bundle *next; /* in client->bundles */
    bool has_news;          /* it is in there */
    bool is_patient;        /* a try that waits a little */
    bool is_probing;        /* waits for a majority to be reached at all */
    enum hf_stage stage;
    struct hf_instant began;
    struct hf_instant until; /* HF_NEVER: waits for ever */
    unsigned at;             /* parts before it are there */
    unsigned n_parts;
    struct hf_part *parts;
    unsigned n_members;
    struct hf_member *members;
    uint8_t place[HF_NAMES_MAX]; /* of each part among the user's names */
};

static inline struct hf_bundle *hf_bundle_of(struct hf_op *op)
{
    HF_ASSERT(op->kind == HF_OP_BUNDLE);
    return (struct hf_bundle *)(void *)op;
}

static inline bool hf_bundle_is_semaphore(const struct hf_bundle *bundle)
{
    return bundle->op.order.n_slots > 0;
}

static inline bool hf_member_is_asking(const struct hf_member *member)
{
    return member->is_begun && !member->op.is_done;
}

static inline bool hf_member_has_failed(const struct hf_member *member)
{
    return member->is_begun && member->op.is_done && member->op.status != HF_OK;
}

static inline bool hf_member_is_held(const struct hf_member *member)
{
    return member->is_begun && member->op.is_done && member->op.status == HF_OK;
}

/* ---- bundle_member.c --------------------------------------------------- */

/* wait_ms 0: a try, without a place in a queue. */
void hf_member_begin(struct hf_member *member, int64_t wait_ms);

/* Cancelled, or given back. */
void hf_member_drop(struct hf_member *member);

/* Drop all of a part `but` one, which is what was got; NULL: all. */
void hf_part_keep(struct hf_part *part, const struct hf_member *but);

/* Drop all of the parts from `at` on. */
void hf_bundle_drop_from(struct hf_bundle *bundle, unsigned at);

/* ---- bundle_end.c ------------------------------------------------------ */

/* With a text that is there already, or in a member's words. */
void hf_bundle_fail(struct hf_bundle *bundle, enum hf_status status);
void hf_bundle_fail_like(struct hf_bundle *bundle,
                         const struct hf_member *member);

/* All is there: from now on it is the user's. */
void hf_bundle_hand_out(struct hf_bundle *bundle);

/* ---- bundle.c ---------------------------------------------------------- */

void hf_bundle_forget_news(struct hf_bundle *bundle);

#endif
