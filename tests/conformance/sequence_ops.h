/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of client_sequences.c. Each ends exactly once: with its callback,
 * or by hf_op_cancel(), which is called only where holdfast.h allows it: not
 * beside a callback of the operation. */
#ifndef SEQUENCE_OPS_H
#define SEQUENCE_OPS_H

#include "sequence_world.h"

enum op_state { OP_STARTING, OP_PENDING, OP_DONE, OP_CANCELLED, OP_FAILED };

struct op {
    struct op *next;
    struct hf_op *op;
    struct hf_client *client;
    struct box *box;
    const char *call;
    unsigned allowed; /* statuses of the callback */
    enum op_state state;
    struct wish wish;         /* of an acquisition */
    struct hf_cancel *cancel; /* of an acquisition, or NULL */
    struct held *held;        /* the lock that is being detached */
    struct loose *loose;      /* the text that is being adopted */
    int each;                 /* results */
};

static struct op *ops;

static void nested_step(void);

static inline struct op *op_begin(struct box *box, const char *call,
                                  unsigned allowed)
{
    struct op *op = calloc(1, sizeof(*op));
    *op = (struct op){
        .client = box->client, .box = box, .call = call, .allowed = allowed};
    calls(call);
    lock_world();
    op->next = ops;
    ops = op;
    box->ops++;
    unlock_world();
    return op;
}

/* What it used is free again. */
static inline void op_end(struct op *op)
{
    if (op->cancel != NULL) {
        token_free(op->cancel);
        op->cancel = NULL;
    }
    if (op->held != NULL) {
        held_put_back(op->held);
        if (op->held->is_dead) {
            free(op->held);
        }
        op->held = NULL;
    }
    if (op->loose != NULL) {
        loose_add(op->loose);
        op->loose = NULL;
    }
}

/* The status of the function that starts it. */
static inline bool op_started(struct op *op, unsigned allowed,
                              enum hf_status status,
                              const struct hf_error *error)
{
    expect(op->box, op->call, allowed | BIT(HF_OK), status, error);
    lock_world();
    if (status != HF_OK) {
        if (op->state != OP_STARTING) {
            wrong("it ended, but did not start");
        }
        op->state = OP_FAILED;
        op->box->ops--;
    } else if (op->state == OP_STARTING) {
        op->state = OP_PENDING;
    }
    unlock_world();
    if (status != HF_OK) {
        op_end(op);
    }
    return status == HF_OK;
}

static inline void check_alive(struct op *op, const char *what)
{
    lock_world();
    if (op->state == OP_DONE || op->state == OP_CANCELLED) {
        wrong("%s of %s after its end", what, op->call);
    }
    unlock_world();
}

/* A client that is being closed refuses all calls. */
static inline void check_refused(struct hf_client *client)
{
    struct hf_info *info;
    struct hf_request request = want("late", 1000, 0);
    struct hf_lock *lock;
    if (hf_client_inspect(client, "late", 4, &info, NULL) != HF_INVALID ||
        hf_lock_acquire(client, &request, &lock, NULL) != HF_INVALID) {
        wrong("a call on a client that is being closed was not refused");
    }
}

/* At the beginning of its callback. */
static inline void op_done(struct op *op, enum hf_status status,
                           const struct hf_error *error)
{
    bool is_closing = atomic_load(&op->box->is_closing);
    check_alive(op, "the callback");
    lock_world();
    op->state = OP_DONE;
    unlock_world();
    calls(op->call);
    if (!is_closing && self()->looping[box_idx(op->box)] == 0) {
        wrong("the callback of %s outside of the loop", op->call);
    }
    if (is_closing && status != HF_CANCELLED) {
        wrong("%s ended with %s while its client was closed", op->call,
              hf_status_name(status));
    }
    expect(op->box, op->call,
           op->allowed | (is_closing ? BIT(HF_CANCELLED) : 0U), status, error);
    if (is_closing && draw(4) == 0) {
        check_refused(op->client);
    }
}

static inline void op_over(struct op *op)
{
    op_end(op);
    nested_step();
    lock_world();
    op->box->ops--;
    unlock_world();
}

/* ---- Cancelling ---------------------------------------------------------- */

/* Whether no callback of its operations can begin in another thread. With
 * *is_locked, box_quiet_end() ends that. */
static inline bool box_quiet(struct box *box, bool *is_locked)
{
    *is_locked = false;
    if (self()->looping[box_idx(box)] > 0 && self()->in_state == NULL) {
        return true;
    }
    if (!box->is_serial || !box_enter(box)) {
        return false;
    }
    if (pthread_mutex_trylock(&box->loop) != 0) {
        box_leave(box);
        return false;
    }
    *is_locked = true;
    return true;
}

static inline void box_quiet_end(struct box *box, bool is_locked)
{
    if (is_locked) {
        pthread_mutex_unlock(&box->loop);
        box_leave(box);
    }
}

static inline struct op *op_pick(const struct box *box)
{
    struct op *found = NULL;
    unsigned n = 0;
    lock_world();
    for (struct op *at = ops; at != NULL; at = at->next) {
        if (at->box == box && at->state == OP_PENDING && at->op != NULL &&
            draw(++n) == 0) {
            found = at;
        }
    }
    unlock_world();
    return found;
}

static inline void op_cancel(struct op *op)
{
    lock_world();
    bool is_mine = op->state == OP_PENDING;
    if (is_mine) {
        op->state = OP_CANCELLED;
    }
    unlock_world();
    if (is_mine) {
        calls("hf_op_cancel");
        hf_op_cancel(op->op);
        count("hf_op_cancel", HF_OK);
        op_end(op);
        lock_world();
        op->box->ops--;
        unlock_world();
    }
}

static inline void op_look(struct op *op)
{
    struct hf_waiting *waiting;
    calls("hf_op_waiting");
    if (!hf_op_waiting(op->op, &waiting)) {
        count("hf_op_waiting", HF_BUSY);
        return;
    }
    count("hf_op_waiting", HF_OK);
    if (hf_waiting_name(waiting, NULL) == NULL ||
        hf_waiting_holder(waiting) == NULL || hf_waiting_ahead(waiting) > 999) {
        wrong("strange progress");
    }
    hf_waiting_free(waiting);
}

static inline void do_cancel(struct box *box)
{
    bool is_locked;
    if (box_quiet(box, &is_locked)) {
        struct op *op = op_pick(box);
        if (op != NULL && draw(3) == 0) {
            op_look(op);
        } else if (op != NULL) {
            op_cancel(op);
        }
        box_quiet_end(box, is_locked);
    }
}

/* ---- Callbacks ----------------------------------------------------------- */

static inline void on_lock(void *user, struct hf_lock *lock,
                           enum hf_status status, const struct hf_error *error)
{
    struct op *op = user;
    op_done(op, status, error);
    if ((lock != NULL) != (status == HF_OK && op->wish.n > 0)) {
        wrong("%s: a lock, or none, with %s", op->call, hf_status_name(status));
    }
    if (lock != NULL) {
        held_add(op->box, lock, &op->wish,
                 op->loose == NULL ? 0 : op->loose->fence);
    }
    if (op->loose != NULL && (status == HF_OK || status == HF_LOST)) {
        free(op->loose);
        op->loose = NULL;
    }
    op_over(op);
}

static inline struct loose *loose_new(const struct held *held, uint64_t fence,
                                      const char *text)
{
    struct loose *loose = calloc(1, sizeof(*loose));
    loose->wish = held->wish;
    loose->fence = fence;
    snprintf(loose->text, sizeof(loose->text), "%s", text);
    return loose;
}

static inline void on_detached(void *user, const char *text,
                               enum hf_status status,
                               const struct hf_error *error)
{
    struct op *op = user;
    op_done(op, status, error);
    if ((text != NULL) != (status == HF_OK)) {
        wrong("a text, or none, with %s", hf_status_name(status));
    }
    if (status == HF_OK || status == HF_LOST) {
        if (text != NULL) {
            loose_add(loose_new(op->held, op->held->fence, text));
        }
        free(op->held);
        op->held = NULL;
    }
    op_over(op);
}

static inline void on_info(void *user, struct hf_info *info,
                           enum hf_status status, const struct hf_error *error)
{
    struct op *op = user;
    op_done(op, status, error);
    if ((info != NULL) != (status == HF_OK)) {
        wrong("a state, or none, with %s", hf_status_name(status));
    }
    hf_info_free(info);
    op_over(op);
}

static inline void on_broken(void *user, int64_t held_until_ms,
                             enum hf_status status,
                             const struct hf_error *error)
{
    if (held_until_ms < -1) {
        wrong("held for %lld ms", (long long)held_until_ms);
    }
    on_lock(user, NULL, status, error);
}

/* In a callback with a result, of a blocking call or of an operation, which it
 * may cancel. */
static inline bool op_result(struct op *op)
{
    if (op == NULL) {
        nested_step();
        return draw(8) != 0;
    }
    check_alive(op, "a result");
    op->each++;
    nested_step();
    if (draw(8) == 0) {
        op_cancel(op);
    }
    return draw(8) != 0;
}

static inline bool on_entry(void *user, const struct hf_queue_entry *entry)
{
    if (hf_queue_entry_node(entry) < 0 ||
        hf_queue_entry_holder(entry) == NULL) {
        wrong("a strange entry");
    }
    return op_result(user);
}

static inline bool on_name(void *user, const void *name, size_t name_len,
                           const struct hf_info *info)
{
    if (name == NULL || name_len == 0 || hf_info_nodes(info) < 1) {
        wrong("a strange name");
    }
    return op_result(user);
}

static inline bool on_wait(void *user, const struct hf_holder *holder,
                           int64_t wait_ms)
{
    if (holder == NULL || wait_ms < 0) {
        wrong("a strange wait");
    }
    return op_result(user);
}

#endif
