/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of a bundle. multi_name.c has the algorithm;
 * multi_name_plan.c builds a bundle from an order; multi_name_member.c sets up,
 * begins and drops its acquisitions; multi_name_end.c reports the result.
 * semaphore.c has the parts that only a permit of a semaphore needs.
 *
 *     part = hf_bundle_add_part(bundle, 1, 0);         of each name, or
 *     text = hf_bundle_order_member(bundle, part->members, &name, text);
 *     hf_semaphore_plan(bundle, order, text);          two, of a permit
 *
 *     hf_member_begin(member, wait_ms);
 *     … hf_bundles_pump(): what have its members? …
 *     hf_part_keep(part, member);                      it has the lock
 *     hf_member_drop(member);                          of one: try another
 *     hf_bundle_drop_from(bundle, at);                 begin again from there
 *
 *     hf_bundle_hand_out(bundle);                      the end: all are held
 *     hf_bundle_fail_like(bundle, member);             ... or this one failed
 *     hf_bundle_fail(bundle, status);                  ... or the wait is over
 *     hf_bundle_abandon(op);                           ... or it is cancelled
 *
 * The mutex is held, and no step of a member's lock is on the stack. Owner: a
 * bundle owns its members, and their locks until it hands them out. Nothing but
 * hf_member_begin() needs memory; it then ends the member with HF_NO_MEMORY. */
#ifndef HF_CLIENT_MULTI_NAME_PARTS_H
#define HF_CLIENT_MULTI_NAME_PARTS_H

#include "client/op.h"

#include "base/assert.h"

/* The acquisition of one of a bundle's locks. */
struct hf_member {
    struct hf_op op;
    bool is_begun;
};

struct hf_part {
    struct hf_member *members; /* any one of these */
    unsigned count;
    unsigned start;      /* index of the one to try first */
    unsigned tried;      /* by the sweep, from `start` on */
    struct hf_lock *got; /* the held one; NULL: missing */
};

/* SWEEP: try each missing part without waiting. WAIT: wait for the first
 * missing one. */
enum hf_stage { HF_STAGE_SWEEP, HF_STAGE_WAIT };

struct hf_bundle {
    struct hf_op op;
    struct hf_bundle *next; /* in client->bundles */
    bool has_news;          /* is in client->bundles */
    bool is_patient;        /* a try that has begun to wait PATIENCE_MS */
    bool is_probing;        /* no majority was ever reached: FIRST_REACH_MS */
    enum hf_stage stage;
    struct hf_instant began;
    struct hf_instant until;    /* end of the wait; or HF_NEVER */
    struct hf_instant swept_at; /* begin of the last sweep */
    unsigned at;                /* first missing part: those before are held */
    unsigned n_parts;
    struct hf_part *parts;
    unsigned n_members;
    struct hf_member *members;
    uint8_t given[HF_NAMES_MAX]; /* index of each part in the user's order */
};

/* The bundle that this operation is. */
static inline struct hf_bundle *hf_bundle_of(struct hf_op *op)
{
    HF_ASSERT(op->kind == HF_OP_BUNDLE);
    return (struct hf_bundle *)(void *)op;
}

/* Whether any one of its parts suffices; else all of them are needed. */
static inline bool hf_bundle_is_semaphore(const struct hf_bundle *bundle)
{
    return bundle->op.order.n_slots > 0;
}

/* Whether its attempt is under way. */
static inline bool hf_member_is_asking(const struct hf_member *member)
{
    return member->is_begun && !member->op.is_done;
}

/* Whether its attempt has ended without a lock. */
static inline bool hf_member_has_failed(const struct hf_member *member)
{
    return member->is_begun && member->op.is_done && member->op.status != HF_OK;
}

/* Whether its attempt has ended with a lock. */
static inline bool hf_member_is_held(const struct hf_member *member)
{
    return member->is_begun && member->op.is_done && member->op.status == HF_OK;
}

/* ---- semaphore.c ------------------------------------------------------- */

/* Bytes of the permits' names. */
size_t hf_semaphore_text_size(const struct hf_order *order);

/* Add the two parts of a permit, with their names in `text`. */
void hf_semaphore_plan(struct hf_bundle *bundle, const struct hf_order *order,
                       char *text);

/* Link the held locks to a handle, and record which permit it is. */
struct hf_lock *hf_semaphore_link(struct hf_bundle *bundle);

/* Write the error text of the bundle for a member that has failed. */
void hf_semaphore_explain(struct hf_bundle *bundle, const struct hf_op *op);

/* ---- multi_name_member.c ---------------------------------------------------
 */

/* Add a part of `count` members. */
struct hf_part *hf_bundle_add_part(struct hf_bundle *bundle, unsigned count,
                                   unsigned start);

/** Set up a member's order: the user's, with another name. @return the end of
 * the name in `text`. */
char *hf_bundle_order_member(struct hf_bundle *bundle, struct hf_member *member,
                             const struct hf_name *name, char *text);

/* wait_ms 0: a try, without a place in a queue. */
void hf_member_begin(struct hf_member *member, int64_t wait_ms);

/* Cancel the acquisition, or release its lock. */
void hf_member_drop(struct hf_member *member);

/* Drop all members of a part except `but`, which keeps its lock; NULL: all. */
void hf_part_keep(struct hf_part *part, const struct hf_member *but);

/* Drop all of the parts from `at` on. */
void hf_bundle_drop_from(struct hf_bundle *bundle, unsigned at);

/* ---- multi_name_end.c ------------------------------------------------------
 */

/* Take it out of client->bundles, if it is there. */
void hf_bundle_forget_news(struct hf_bundle *bundle);

/* Cancel the bundle's attempts and release its locks. */
void hf_bundle_abandon(struct hf_op *op);

/* Fail with the text that is in op.error. */
void hf_bundle_fail(struct hf_bundle *bundle, enum hf_status status);

/* Fail with the status and the text of this member, which has failed. */
void hf_bundle_fail_like(struct hf_bundle *bundle,
                         const struct hf_member *member);

/* All parts are held: link their locks to a handle and finish. */
void hf_bundle_hand_out(struct hf_bundle *bundle);

/* ---- multi_name.c ----------------------------------------------------------
 */

/* The operations of kind HF_OP_BUNDLE (op.h). */
extern const struct hf_op_handlers hf_bundle_handlers;

#endif
