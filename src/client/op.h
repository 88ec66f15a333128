/* SPDX-License-Identifier: Apache-2.0 */
/* An operation that a caller waits for: an acquisition with its retries, or
 * several in one, an adoption, an extension, a release, a query to the nodes, a
 * break.
 *
 * A blocking call has its operation on the stack, an asynchronous one on the
 * heap. An acquisition has no owner id of its own. Each attempt is a separate
 * hf_lock; a failed attempt releases itself in the background.
 *
 * In a call that blocks, between hf_client_begin() and hf_client_leave():
 *
 *     struct hf_op op;
 *     hf_op_init(&op, client, &handlers);
 *     op.order = …; op.lock = lock; lock->op = &op;
 *     hf_client_step(client, lock, &event);    may end it: a store may reply
 *                                              inside the call
 *     status = hf_op_await(&op, error);        wait.h: done, or abandoned
 *
 * In an asynchronous one the operation is on the heap:
 *
 *     hf_op_init(op, client, &handlers);
 *     hf_op_set_done(op, done, user);          op_async.h
 *     if (!hf_op_list(op)) { free(op); return hf_fail_memory(error); }
 *     op->lock = lock; lock->op = op;
 *     hf_client_step(client, lock, &event);
 *     … hf_client_process() calls `done`, and then frees it.
 *
 * hf_op_list() is also due in a call that blocks if the kind has a timer or a
 * `node` handler. A handler of the kind ends the operation once, with
 * hf_op_finish() or hf_op_fail(). The client's mutex is held in all functions
 * below. An operation that is not done must not be freed: hf_op_abandon() it
 * first. */
#ifndef HF_CLIENT_OP_H
#define HF_CLIENT_OP_H

#include "client/client.h"
#include "client/holder_hint.h"
#include "client/lock.h"
#include "core/retry.h"

enum hf_op_kind {
    HF_OP_ACQUIRE,
    HF_OP_BUNDLE, /* struct hf_bundle begins with it: several acquisitions */
    HF_OP_ADOPT,
    HF_OP_RELEASE_FOREIGN,
    HF_OP_EXTEND,
    HF_OP_RELEASE,
    HF_OP_QUERY,  /* struct hf_broadcast begins with it */
    HF_OP_JOB,    /* set-up work of the store */
    HF_OP_DETACH, /* struct hf_detach begins with it: detaching a lock */
    HF_OP_LIST,   /* struct hf_list begins with it: many queries */
    HF_OP_BREAK,  /* struct hf_break begins with it */
    HF_OP_SEIZURE /* struct hf_seizure begins with it: never listed */
};

/* The handlers of a kind of operation run with the client's mutex locked, in
 * the thread that has it: of a call, of the event loop, or the library's. They
 * must not call the user, but for options.log. */

/** The lock of the attempt has an outcome, in a step of that lock. The
 * operation is not done.
 * @param lock     lock->op is @p op. Its step is on the stack, so a step that
 *                 must follow is only requested here: HF_LOCK_GIVE_UP.
 * @param outcome  not HF_OUT_NONE. */
typedef void hf_op_outcome_fn(struct hf_op *op, struct hf_lock *lock,
                              enum hf_outcome outcome);

/** That lock had a step, with an outcome or without; after `outcome`.
 * @param op  may be done, by this step's outcome. */
typedef void hf_op_stepped_fn(struct hf_op *op);

/** The timer of the operation went off. The handler sets it anew, or off, or
 * ends the operation. Otherwise it goes off again after a millisecond.
 * @param op  not done. */
typedef void hf_op_due_fn(struct hf_op *op);

/** The status of a node has changed: client->nodes has the new one. Each
 * lock had a step for it before.
 * @param op  listed in client->ops. It may end here. */
typedef void hf_op_node_fn(struct hf_op *op);

/** The last of its children is done.
 * @param op  n_children is 0. It may start others, or end. */
typedef void hf_op_children_done_fn(struct hf_op *op);

/** A member of a bundle is done; or has lost its lock since; or its attempt was
 * split. Perhaps in a step of the member's lock: it may only take note.
 * @param op      the bundle.
 * @param member  an operation whose `bundle` is @p op. */
typedef void hf_op_member_fn(struct hf_op *op, struct hf_op *member);

/** The operation is cancelled: undo the part that has begun. hf_op_abandon()
 * takes it from the tables and sets its status afterwards.
 * @param op  not done. */
typedef void hf_op_abandon_fn(struct hf_op *op);

/** The operation has ended with an error, which is to be logged. Its bundle,
 * parent, callback or waiter is notified afterwards.
 * @param op  done: its status and its text are set. */
typedef void hf_op_failed_fn(const struct hf_op *op);

/** The result is not wanted: undo it. The callback is never called.
 * @param op  done with HF_OK. */
typedef void hf_op_discard_fn(struct hf_op *op);

/* The table of one kind; the file of the kind has the only instance. NULL: the
 * event is ignored, unless the comment says otherwise. */
struct hf_op_handlers {
    enum hf_op_kind kind;
    hf_op_outcome_fn *outcome; /* NULL: the kind has no attempt */
    hf_op_stepped_fn *stepped;
    hf_op_due_fn *due;                     /* NULL: the kind sets no timer */
    hf_op_node_fn *node;                   /* NULL: it waits for no node */
    hf_op_children_done_fn *children_done; /* NULL: it ends with HF_OK */
    hf_op_member_fn *member;               /* NULL: it is no bundle */
    hf_op_abandon_fn *abandon;
    hf_op_failed_fn *failed;
    hf_op_discard_fn *discard;
};

struct hf_op {
    struct hf_item item;
    enum hf_op_kind kind; /* of its handlers */
    const struct hf_op_handlers *handlers;
    bool is_done;
    bool is_reserved;  /* has room in the heap */
    bool is_listed;    /* in client->ops */
    bool is_reporting; /* report() runs, and may release the mutex */
    bool is_dropped;   /* cancelled by the user while report() runs */
    enum hf_status status;
    struct hf_client *client;
    struct hf_op *prev, *next;
    struct hf_lock *lock;   /* the present attempt; when done, the result;
                               RELEASE: one of the locks awaited; EXTEND: one
                               of the handle's */
    struct hf_op *bundle;   /* the bundle that it is a member of; or NULL */
    struct hf_op *parent;   /* it is one of the parent's children; or NULL */
    unsigned n_children;    /* that are not done; the last one ends it */
    enum hf_status worst;   /* RELEASE, EXTEND: of the outcomes so far */
    pthread_cond_t *waiter; /* of the thread that waits for it; or NULL */
    unsigned interrupts;    /* client->interrupts_before when it began */
    bool is_cleanup;        /* no cancel token ends it */

    struct hf_order order;
    struct hf_span patience; /* without a majority it fails after this; 0: by
                                its deadline */
    uint64_t counter;        /* hint, or fence */
    struct hf_retry retry;
    struct hf_instant log_at; /* when a retry for the same reason is logged
                                 again */
    uint32_t log_why;         /* the reason logged last; 0: none */
    uint16_t spared;   /* RELEASE_FOREIGN: nodes to which no RELEASE is sent */
    uint16_t answered; /* nodes that replied, in this attempt */
    uint16_t refusing; /* nodes with a failed request */
    uint16_t denying;  /* ADOPT, EXTEND: nodes that replied "not yours" */
    uint16_t astray;   /* ... that replied "yours", at another counter */
    uint16_t refused;  /* the same, of the attempt before */
    uint16_t apart;    /* nodes that granted, but with a counter too far
                          from the others': clock_apart.c */
    uint16_t leading;  /* nodes that granted far ahead of their own time */
    bool is_queued;    /* this attempt waits in the nodes' queues */
    bool has_asked;    /* ... and has asked once more before the end */
    bool is_denied;    /* ... and was refused for good by a node since */
    bool is_split;     /* the attempt before was split among the nodes */
    uint32_t ahead;    /* waiters before it, per the last reply */
    uint16_t rival_permits; /* size of the name's semaphore, if not ours */
    struct hf_instant attempted_at; /* ACQUIRE: the present attempt began */
    struct hf_instant fresh_since;  /* is_queued: what is heard from then on
                                       counts at the end */
    struct hf_instant heard_at[HF_NODES_MAX]; /* ACQUIRE: the last grant or
                                                 refusal of each voter */

    /* Of an asynchronous operation. `report` runs with the mutex if the status
     * is HF_OK: it delivers results, and may change the status; it returns
     * false if the operation continues. `call` runs without the mutex: it is
     * the user's callback, after which the operation is freed. */
    void (*call)(struct hf_op *op);
    bool (*report)(struct hf_op *op); /* or NULL */
    void (*fini)(struct hf_op *op);   /* frees its own memory; or NULL */
    hf_op_fn *callback;
    void *user;

    struct hf_holder_hint rival;
    struct hf_error error;
};

/* Whether nodes have to confirm a lock that some hold already. */
static inline bool hf_op_renews(const struct hf_op *op)
{
    return op->kind == HF_OP_ADOPT || op->kind == HF_OP_EXTEND;
}

/* Set up a new operation, on the stack or on the heap: zeroes all fields but
 * the big buffers. It is in no table yet. */
void hf_op_init(struct hf_op *op, struct hf_client *client,
                const struct hf_op_handlers *handlers);

/** Reserve its room in the tables. @return false: no memory. */
bool hf_op_reserve(struct hf_op *op);

/** Append it to client->ops; from now on it may have a timer. @return false: it
 * had no room reserved, and there is no memory. */
bool hf_op_list(struct hf_op *op);

/* Remove it from client->ops and from the tables, as far as it is there. */
void hf_op_unlist(struct hf_op *op);

/* Append to and remove from a list of operations. */
void hf_ops_append(struct hf_ops *ops, struct hf_op *op);
void hf_ops_remove(struct hf_ops *ops, struct hf_op *op);

/* The lock that it waits for has an outcome. */
void hf_op_outcome(struct hf_op *op, struct hf_lock *lock,
                   enum hf_outcome outcome);

/* End an operation that is not done: remove it from the tables, and notify the
 * first of its bundle, its parent, its callback, its waiter. The callback is
 * only queued; a parent without other children ends here, too. The status goes
 * to op->error, with its usual text if there is none. Frees nothing. */
void hf_op_finish(struct hf_op *op, enum hf_status status);

/* A child of `parent` is done; the last one ends the parent. */
void hf_op_end_child(struct hf_op *parent);

/* The same with an error text. */
void hf_op_fail(struct hf_op *op, enum hf_status status, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* An operation that another call has ended: wake the thread that waits for it,
 * if there is one. */
void hf_op_wake(struct hf_op *op);

/* End an operation that is not done, as HF_CANCELLED; a release as HF_UNKNOWN.
 * Notifies neither waiter, callback nor parent, and frees nothing. An attempt
 * releases itself in the background. */
void hf_op_abandon(struct hf_op *op);

/* A node replied to the attempt of this operation, which is to confirm the
 * counter `fence` if it is an ADOPT or EXTEND. */
void hf_op_note(struct hf_op *op, const struct hf_answer *answer,
                uint64_t fence);

/* Detach op->lock and its linked locks from the operation: their outcomes are
 * no longer reported to it. */
void hf_op_part(struct hf_op *op);

/* check.c: assert CL-5 and CL-6, at any time. */
void hf_op_check(const struct hf_op *op);

#endif
