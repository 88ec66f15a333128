/* SPDX-License-Identifier: Apache-2.0 */
/* Something that a caller waits for: an acquisition with its retries, or
 * several in one, an adoption, an extension, a release, a question to the
 * nodes, a break.
 *
 * A blocking call has its operation on the stack, an asynchronous one on the
 * heap. An acquisition owns no owner: each of its attempts is a lock of its
 * own, and one that failed drains by itself. */
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
    HF_OP_LOOK,   /* struct hf_look begins with it */
    HF_OP_JOB,    /* set-up work of the store */
    HF_OP_GIVE,   /* struct hf_give begins with it: handing on */
    HF_OP_LIST,   /* struct hf_list begins with it: many questions */
    HF_OP_BREAK,  /* struct hf_break begins with it */
    HF_OP_SEIZURE /* struct hf_seizure begins with it: never listed */
};

/* The holder for which a node refused us last, in that node's words. */
struct hf_rival {
    bool is_known;
    enum hf_kind kind; /* TYPE, or find out from `owner` */
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
    bool is_reporting; /* its user is told results, without the mutex */
    bool is_dropped;   /* … and has cancelled it meanwhile */
    enum hf_status status;
    struct hf_client *client;
    struct hf_op *prev, *next;
    struct hf_lock *lock;     /* the attempt under way; at last the result;
                                 RELEASE, EXTEND: one of those awaited */
    struct hf_op *bundle;     /* it is a member of that; NULL: the caller's */
    struct hf_op *parent;     /* one of its `n_children`; or NULL */
    unsigned n_children;      /* not done yet: it is done with the last */
    enum hf_status worst;     /* RELEASE, EXTEND: of those that are through */
    struct hf_waiter *waiter; /* a thread that sleeps until then; or NULL */
    unsigned interrupts;      /* of the client, when it began */
    bool is_cleanup;          /* no cancel token ends it */

    struct hf_order order;
    uint64_t counter; /* hint, or fence */
    struct hf_retry retry;
    struct hf_instant log_at; /* when a retry for the same reason is told again
                               */
    uint32_t log_why;         /* the reason told last; 0: none */
    uint16_t spared;          /* nodes that are not asked to disown */
    uint16_t answered;        /* nodes that voted, in this attempt */
    uint16_t refusing;        /* nodes that said why not */
    uint16_t apart;         /* nodes that granted, but whose counter is too far
                               from the others': clock_apart.c */
    uint16_t leading;       /* nodes that granted far ahead of their own time */
    bool has_dropped;       /* an answer, for want of memory to keep it */
    bool is_queued;         /* this attempt waits in queues */
    uint32_t ahead;         /* waiters before it, as a node last answered */
    uint16_t rival_permits; /* a semaphore of another size, as a node said */

    /* Of an asynchronous one. `report`, with the mutex, hands out results if it
     * is HF_OK, and may change that; false: it goes on. `call`, without the
     * mutex, ends it. */
    void (*call)(struct hf_op *op);
    bool (*report)(struct hf_op *op); /* or NULL */
    void (*fini)(struct hf_op *op);   /* frees what it has; or NULL */
    hf_op_fn *callback;
    void *user;

    struct hf_rival rival;
    struct hf_error error;
};

/* Everything but the big buffers is zero. */
void hf_op_init(struct hf_op *op, struct hf_client *client,
                enum hf_op_kind kind);

/* Its room in the tables, for later. @return false: no memory. */
bool hf_op_reserve(struct hf_op *op);

/* Put it among those under way; it may have a timer. @return false: no
 * memory, and it had no room. */
bool hf_op_list(struct hf_op *op);
void hf_op_unlist(struct hf_op *op);

/* Append to and remove from a list of operations. */
void hf_ops_append(struct hf_ops *ops, struct hf_op *op);
void hf_ops_remove(struct hf_ops *ops, struct hf_op *op);

/* It is over: tell its waiter. op->error is filled. */
void hf_op_finish(struct hf_op *op, enum hf_status status);

/* One of the children of `parent`, which is under way, is done. */
void hf_op_child_is_done(struct hf_op *parent);

/* Over with a text. */
void hf_op_fail(struct hf_op *op, enum hf_status status, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

/* Stop it where it is; nothing is left behind. Not yet done. */
void hf_op_abandon(struct hf_op *op);

/* The attempt that it waits for came to this. */
void hf_op_outcome(struct hf_op *op, struct hf_lock *lock,
                   enum hf_outcome outcome);

/* Its timer went off. */
void hf_op_due(struct hf_op *op);

/* A node changed; op is under way. */
void hf_op_node(struct hf_op *op);

/* The attempt's nodes granted at counters that are too far apart. */
void hf_op_note_apart(struct hf_op *op, const struct hf_lease *lease);

/* A node answered the attempt of this operation. */
void hf_op_note(struct hf_op *op, const struct hf_answer *answer);

/* Abandon an asynchronous operation, or its result, and free it. */
void hf_op_drop(struct hf_op *op);

/* It is asynchronous from now on; `done` gets the lock, if there is one. */
void hf_op_set_done(struct hf_op *op, hf_op_fn *done, void *user);

/* End an asynchronous operation with HF_CANCELLED: its callback is owed. */
void hf_op_stop(struct hf_op *op);

/* It is done, and its user will not have its result. */
void hf_op_forget_result(struct hf_op *op);

/* Free an asynchronous operation. */
void hf_op_free(struct hf_op *op);

/* Enter a call that may start an operation, as hf_client_begin() does. *out is
 * NULL from here on; out may be NULL. missing: the argument that is missing,
 * for the error; or NULL. @return HF_OK, and hf_client_leave() is due; else as
 * hf_client_begin(). */
enum hf_status hf_op_enter(struct hf_client *client, const char *missing,
                           struct hf_op **out, struct hf_error *error);

/* On the heap, with copies of the name and the text of its order. @return NULL:
 * no memory. */
struct hf_op *hf_op_copy(const struct hf_op *plan);

/* Is a call on the lock under way that was started? A second one is refused. */
bool hf_lock_is_in_use(const struct hf_lock *lock);
enum hf_status hf_lock_check_unused(const struct hf_lock *lock,
                                    struct hf_error *error);

/* The lock is given back: what was started on it ends. */
void hf_lock_stop_calls(struct hf_lock *lock);

/* The lock is not this operation's any more: it drains by itself. What is
 * linked with it, neither. */
void hf_op_part(struct hf_op *op);

/* ---- wait.c ------------------------------------------------------------ */

/* Until op is done or interrupted. @return false: interrupted. */
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
void hf_job_due(struct hf_op *op); /* setup.c */
void hf_extend_outcome(struct hf_op *op, struct hf_lock *lock,
                       enum hf_outcome outcome);
void hf_release_outcome(struct hf_op *op, struct hf_lock *lock,
                        enum hf_outcome outcome);

void hf_give_due(struct hf_op *op);
void hf_give_heard(struct hf_op *op); /* the lock has had a step */
void hf_give_outcome(struct hf_op *op, enum hf_outcome outcome);
void hf_give_abandon(struct hf_op *op);
void hf_list_abandon(struct hf_op *op);
void hf_break_abandon(struct hf_op *op);

/* Begin to release what op->order names by its whole owner, behind op->counter,
 * at all nodes but those of op->spared. `op` is fresh, and a DISOWN. */
void hf_disown_begin(struct hf_op *op);

/* Begin to give a lock back. No call waits unless `op`. */
void hf_release_start(struct hf_lock *lock, struct hf_op *op);

/* The same for all that is linked with it. */
void hf_release_whole(struct hf_lock *lock, struct hf_op *op);

/* The outcome of an asynchronous release: its callback is owed now. */
void hf_release_owe(struct hf_lock *lock, enum hf_outcome outcome);

/* What an outcome of a release is called. */
enum hf_status hf_release_status(enum hf_outcome outcome);

/* ---- blame.c, rival.c -------------------------------------------------- */

/* Why there is no majority: status, and a line that names each node that is
 * missing with its reason. */
enum hf_status hf_blame_write(struct hf_op *op);

/* HF_CONFIG with a text if some node can never work as configured, HF_DENIED
 * if too many refuse us; else HF_OK. */
enum hf_status hf_blame_final(struct hf_op *op);

/* So many nodes do not permit it that no majority is left. @return true: with a
 * line that names them. */
bool hf_blame_is_denied(struct hf_op *op);

/* Every node that did not vote said definitely no. */
bool hf_blame_is_hopeless(const struct hf_op *op);

/* The same as a struct, its remaining lease as of `now`. */
void hf_rival_holder(const struct hf_rival *rival, struct hf_instant now,
                     struct hf_holder *out);

/* "held by db3 pid 4711 since 02:00:04 (label), lease ends in 12.3 s" */
void hf_rival_write(const struct hf_rival *rival, struct hf_instant now,
                    char *out, size_t len);

/* ---- request.c --------------------------------------------------------- */

/* Check a user's request. @return HF_OK or HF_INVALID with a text. */
enum hf_status hf_order_read(const struct hf_client *client,
                             const struct hf_request *request,
                             struct hf_order *out, struct hf_error *error);

/* Does it come to several locks? */
static inline bool hf_order_is_bundle(const struct hf_order *order)
{
    return order->n_slots > 0 || order->n_more > 0;
}

/* What the name of a semaphore is followed by in that of a permit: "#255". */
#define HF_SLOT_TEXT_MAX 4

/* Whether `a` sorts before (negative), like (0) or behind `b`, by bytes. */
int hf_name_compare(const struct hf_name *a, const struct hf_name *b);

/* One of the further names; the caller's structs may have another size. */
struct hf_name hf_order_more(const struct hf_order *order, size_t idx);

/* A name for messages: one line, not too long. */
#define HF_NAME_SHOWN_MAX 84
const char *hf_name_show(const void *name, size_t name_len,
                         char out[HF_NAME_SHOWN_MAX]);

enum hf_status hf_name_check(const void *name, size_t name_len,
                             struct hf_error *error);
enum hf_status hf_ttl_check(const struct hf_client *client, int64_t ttl_ms,
                            struct hf_error *error);

#endif
