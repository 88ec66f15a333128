/* SPDX-License-Identifier: Apache-2.0 */
/* An operation that a caller waits for: an acquisition with its retries, or
 * several in one, an adoption, an extension, a release, a query to the nodes, a
 * break.
 *
 * A blocking call has its operation on the stack, an asynchronous one on the
 * heap. An acquisition has no owner id of its own. Each attempt is a separate
 * hf_lock; a failed attempt releases itself in the background. */
#ifndef HF_CLIENT_OP_H
#define HF_CLIENT_OP_H

#include "client/client.h"
#include "client/lock.h"
#include "core/retry.h"

enum hf_op_kind {
    HF_OP_ACQUIRE,
    HF_OP_BUNDLE, /* struct hf_bundle begins with it: several acquisitions */
    HF_OP_ADOPT,
    HF_OP_DISOWN,
    HF_OP_EXTEND,
    HF_OP_RELEASE,
    HF_OP_QUERY,  /* struct hf_broadcast begins with it */
    HF_OP_JOB,    /* set-up work of the store */
    HF_OP_GIVE,   /* struct hf_give begins with it: detaching a lock */
    HF_OP_LIST,   /* struct hf_list begins with it: many queries */
    HF_OP_BREAK,  /* struct hf_break begins with it */
    HF_OP_SEIZURE /* struct hf_seizure begins with it: never listed */
};

/* The holder that the last refusal named, with the node's data about it. */
struct hf_holder_hint {
    bool is_known;
    enum hf_kind kind; /* TYPE; else `owner` shows it */
    unsigned node;
    int64_t left_ms;
    uint64_t counter; /* of the name */
    struct hf_instant heard;
    size_t len;
    char owner[HF_OWNER_MAX];
};

struct hf_op {
    struct hf_item item;
    enum hf_op_kind kind;
    bool is_done;
    bool is_reserved;  /* has room in the heap */
    bool is_listed;    /* in client->ops */
    bool is_reporting; /* report() runs, and may release the mutex */
    bool is_dropped;   /* … and the user has cancelled it meanwhile */
    enum hf_status status;
    struct hf_client *client;
    struct hf_op *prev, *next;
    struct hf_lock *lock;     /* the present attempt; when done, the result;
                                 RELEASE: one of the locks awaited; EXTEND: one
                                 of the handle's */
    struct hf_op *bundle;     /* the bundle that it is a member of; or NULL */
    struct hf_op *parent;     /* it is one of the parent's children; or NULL */
    unsigned n_children;      /* that are not done; the last one ends it */
    enum hf_status worst;     /* RELEASE, EXTEND: of the outcomes so far */
    struct hf_waiter *waiter; /* the thread to wake at the end; or NULL */
    unsigned interrupts;      /* client->interrupts when it began */
    bool is_cleanup;          /* no cancel token ends it */

    struct hf_order order;
    struct hf_span patience; /* without a majority it fails after this; 0: by
                                its deadline */
    uint64_t counter; /* hint, or fence */
    struct hf_retry retry;
    struct hf_instant log_at; /* when a retry for the same reason is logged
                                 again */
    uint32_t log_why;         /* the reason logged last; 0: none */
    uint16_t spared;          /* DISOWN: nodes to which no RELEASE is sent */
    uint16_t answered;        /* nodes that replied, in this attempt */
    uint16_t refusing;        /* nodes with a failed request */
    uint16_t apart;         /* nodes that granted, but whose counter is too far
                               from the others': clock_apart.c */
    uint16_t leading;       /* nodes that granted far ahead of their own time */
    bool has_dropped;       /* a reply was dropped: out of memory */
    bool is_queued;         /* this attempt waits in the nodes' queues */
    uint32_t ahead;         /* waiters before it, per the last reply */
    uint16_t rival_permits; /* size of the name's semaphore, if not ours */

    /* Of an asynchronous operation. `report` runs with the mutex if the status
     * is HF_OK: it delivers results, and may change the status; it returns
     * false if the operation continues. `call` runs without the mutex: it is
     * the user's callback, after which the operation is freed. */
    void (*call)(struct hf_op *op);
    bool (*report)(struct hf_op *op); /* or NULL */
    void (*fini)(struct hf_op *op);   /* frees what it has; or NULL */
    hf_op_fn *callback;
    void *user;

    struct hf_holder_hint rival;
    struct hf_error error;
};

/* Zeroes all fields but the big buffers. */
void hf_op_init(struct hf_op *op, struct hf_client *client,
                enum hf_op_kind kind);

/** Reserve its room in the tables. @return false: no memory. */
bool hf_op_reserve(struct hf_op *op);

/** Append it to client->ops; from now on it may have a timer. @return false: it
 * had no room reserved, and there is no memory. */
bool hf_op_list(struct hf_op *op);
void hf_op_unlist(struct hf_op *op);

/* Append to and remove from a list of operations. */
void hf_ops_append(struct hf_ops *ops, struct hf_op *op);
void hf_ops_remove(struct hf_ops *ops, struct hf_op *op);

/* End the operation: notify its bundle, its parent, its callback or its waiter.
 * Fills op->error. */
void hf_op_finish(struct hf_op *op, enum hf_status status);

/* A child of `parent` is done; the last one ends the parent. */
void hf_op_child_is_done(struct hf_op *parent);

/* End the operation with an error text. */
void hf_op_fail(struct hf_op *op, enum hf_status status, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* Assert what holds for an operation at any time. (check.c) */
void hf_op_check(const struct hf_op *op);

/* End an operation that is not done, as cancelled. Notifies no waiter. An
 * attempt releases itself in the background. */
void hf_op_abandon(struct hf_op *op);

/* The lock that it waits for has an outcome. */
void hf_op_outcome(struct hf_op *op, struct hf_lock *lock,
                   enum hf_outcome outcome);

/* Its timer went off. */
void hf_op_due(struct hf_op *op);

/* The status of a node changed; the operation is listed. */
void hf_op_node(struct hf_op *op);

/* The attempt's nodes granted at counters that are too far apart. */
void hf_op_note_apart(struct hf_op *op, const struct hf_lease *lease);

/* A node replied to the attempt of this operation. */
void hf_op_note(struct hf_op *op, const struct hf_answer *answer);

/* Abandon an asynchronous operation, or its result, and free it. */
void hf_op_drop(struct hf_op *op);

/* Make it asynchronous; `done` gets the lock, if there is one. */
void hf_op_set_done(struct hf_op *op, hf_op_fn *done, void *user);

/* End an asynchronous operation with HF_CANCELLED, and queue its callback. */
void hf_op_stop(struct hf_op *op);

/* Discard the result of an operation that is done. */
void hf_op_forget_result(struct hf_op *op);

/* Free an asynchronous operation. */
void hf_op_free(struct hf_op *op);

/** Enter a call that may start an operation, as hf_client_begin() does. *out is
 * NULL from here on; out may be NULL. missing: the argument that is missing,
 * for the error; or NULL. @return HF_OK, and hf_client_leave() is due; else as
 * hf_client_begin(). */
enum hf_status hf_op_enter(struct hf_client *client, const char *missing,
                           struct hf_op **out, struct hf_error *error);

/** A copy on the heap, with copies of the name and the text of its order.
 * @return NULL: no memory. */
struct hf_op *hf_op_copy(const struct hf_op *plan);

/* Whether an asynchronous operation on the lock is in progress: a second one is
 * refused. */
bool hf_lock_is_in_use(const struct hf_lock *lock);
enum hf_status hf_lock_check_unused(const struct hf_lock *lock,
                                    struct hf_error *error);

/* The lock is being released: end the asynchronous operations on it. */
void hf_lock_stop_calls(struct hf_lock *lock);

/* Detach op->lock and its linked locks from the operation: their outcomes are
 * no longer reported to it. */
void hf_op_part(struct hf_op *op);

/* ---- wait.c ------------------------------------------------------------ */

/** Wait until op is done or interrupted. @return false: interrupted. */
bool hf_client_wait(struct hf_client *client, struct hf_op *op);

/* Wait, abandon if interrupted, copy the error out. */
enum hf_status hf_op_await(struct hf_op *op, struct hf_error *error);

void hf_waiter_wake(struct hf_waiter *waiter);

/* ---- acquire.c, adopt.c, release.c, extend.c, give.c ------------------- */

void hf_acquire_begin(struct hf_op *op);
void hf_acquire_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome);
void hf_acquire_due(struct hf_op *op);
void hf_adopt_outcome(struct hf_op *op, struct hf_lock *lock,
                      enum hf_outcome outcome);
void hf_adopt_due(struct hf_op *op);
void hf_job_due(struct hf_op *op); /* node_admin.c */
void hf_extend_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome);
void hf_release_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome);

void hf_give_due(struct hf_op *op);
void hf_give_heard(struct hf_op *op); /* its lock had a step */
void hf_give_outcome(struct hf_op *op, enum hf_outcome outcome);
void hf_give_abandon(struct hf_op *op);
void hf_list_abandon(struct hf_op *op);
void hf_break_abandon(struct hf_op *op);

/* Begin to release the lock with the owner of op->order, with op->counter as
 * its fence, at all nodes but those of op->spared. `op` is a new DISOWN. */
void hf_release_foreign_begin(struct hf_op *op);

/* Begin to release a lock. `op` gets the outcome; or NULL. */
void hf_release_start(struct hf_lock *lock, struct hf_op *op);

/* The same for all locks of the handle. */
void hf_release_whole(struct hf_lock *lock, struct hf_op *op);

/* Queue the callback of an asynchronous release, with its outcome. */
void hf_release_owe(struct hf_lock *lock, enum hf_outcome outcome);

/* The status for an outcome of a release. */
enum hf_status hf_release_status(enum hf_outcome outcome);

/* ---- unavailable.c, holder_hint.c -------------------------------------- */

/** Write why there is no majority: a line that names each missing node with its
 * reason. @return the status. */
enum hf_status hf_unavailable_write(struct hf_op *op);

/** @return HF_CONFIG with a text if some node can never work as configured;
 * HF_DENIED if too many nodes deny access; else HF_OK. */
enum hf_status hf_unavailable_final(struct hf_op *op);

/** @return true: so many nodes deny access that no majority is left; the error
 * text names them. */
bool hf_unavailable_is_denied(struct hf_op *op);

/* Each node without a vote is down, denies access, or has a counter too far
 * from the others'. */
bool hf_unavailable_is_hopeless(const struct hf_op *op);

/* Fill `out` from the rival, with its remaining lease at `now`. */
void hf_holder_hint_holder(const struct hf_holder_hint *rival,
                           struct hf_instant now, struct hf_holder *out);

/* "held by db3 pid 4711 since 02:00:04 (label), lease ends in 12.3 s" */
void hf_holder_hint_write(const struct hf_holder_hint *rival,
                          struct hf_instant now, char *out, size_t len);

/* ---- request.c --------------------------------------------------------- */

/** Check a user's request. @return HF_OK or HF_INVALID with a text. */
enum hf_status hf_order_read(const struct hf_client *client,
                             const struct hf_request *request,
                             struct hf_order *out, struct hf_error *error);

/* Whether the request needs several locks. */
static inline bool hf_order_is_bundle(const struct hf_order *order)
{
    return order->n_slots > 0 || order->n_more > 0;
}

/* A permit's name is the semaphore's name and a suffix: "#255". */
#define HF_SLOT_TEXT_MAX 4

/* The further name `idx`; the caller's structs may have another size. */
struct hf_name hf_order_more(const struct hf_order *order, size_t idx);

enum hf_status hf_order_check_ttl(const struct hf_client *client,
                                  int64_t ttl_ms, struct hf_error *error);

#endif
