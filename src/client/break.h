/* SPDX-License-Identifier: Apache-2.0 */
/* A break of a lock, as a sequence of steps.
 *
 * break_call.c: hf_break_begin() with the first step, FIND_MARK; then, as
 * op->report, hf_break_go_on() each time that a step is done, until it returns
 * true. A blocking call runs that itself after its wait, hf_client_process()
 * does for an operation. A blocking call that is interrupted calls
 * hf_break_interrupt() once, and goes on. break.c has the order of the steps,
 * and why. */
#ifndef HF_CLIENT_BREAK_H
#define HF_CLIENT_BREAK_H

#include "client/mark.h"
#include "client/seize.h"

enum hf_break_step {
    HF_BREAK_FIND_MARK,
    HF_BREAK_TAKE,
    HF_BREAK_WAIT,
    HF_BREAK_WITHDRAW_MARK,
    HF_BREAK_FREE_LONG, /* under the owner with HF_LONG_MARK (seize.h) */
    HF_BREAK_FREE,
    HF_BREAK_GIVE_BACK,
    HF_BREAK_OVER
};

struct hf_break {
    struct hf_op op; /* first: it is the item in the tables */
    enum hf_break_step step;
    bool frees_now;        /* without HF_BREAK_WAIT */
    hf_break_fn *may_wait; /* or NULL */
    hf_broken_fn *done;    /* NULL: a blocking call */
    int64_t held_until_ms; /* from now on the old holder may be HELD; -1: for
                              an unknown time */
    struct hf_error why;   /* the result so far */
    struct hf_mark mark;
    struct hf_mark_look ask;    /* HF_BREAK_FIND_MARK, HF_BREAK_WITHDRAW_MARK */
    struct hf_op release;       /* HF_BREAK_FREE_LONG, HF_BREAK_FREE */
    struct hf_instant end;      /* when the old lease has expired */
    struct hf_seizure *seizure; /* ours; it has an owner of its own */
};

/* The break that this operation is. */
static inline struct hf_break *hf_break_of(struct hf_op *op)
{
    return (struct hf_break *)(void *)op;
}

/* What an operation of the kind HF_OP_BREAK does where kinds differ. */
extern const struct hf_op_handlers hf_break_handlers;

/** Begin brk->step. @return false: no memory, recorded in brk->why. */
bool hf_break_begin(struct hf_break *brk);

/** A step is done. @return true: the break is over, with op->status; false: the
 * next step has begun. */
bool hf_break_go_on(struct hf_op *op);

/** The blocking call was interrupted. @return true: the break is over; false:
 * the name is being given back. */
bool hf_break_interrupt(struct hf_break *brk);

#endif
