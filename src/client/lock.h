/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt: one owner, one lease, and, once it is held, the user's handle. A
 * request for several names, or for a permit of a semaphore, makes several
 * linked locks; the first is the handle (lock_group.h).
 *
 * A client may hold 100,000 locks, so each is one allocation: with one node, at
 * most 256 bytes plus the name.
 *
 *     struct hf_lock
 *     struct hf_lease      with a vote for each node
 *     struct hf_life_set   if the store watches processes
 *     struct hf_lock_group if it is one of several locks of a handle
 *     struct hf_notice     if the client has an on_state callback
 *     name, NUL            label, or the whole owner of an adopted lock
 *
 * `deadline_ns` and `state` are read without the mutex. */
#ifndef HF_CLIENT_LOCK_H
#define HF_CLIENT_LOCK_H

#include "client/client.h"
#include "client/item.h"

enum hf_lock_flags {
    HF_LOCK_OURS = (1 << 0),      /* the user has the handle: report changes */
    HF_LOCK_HAS_EVENT = (1 << 1), /* in the queue of changed states: events.c */
    HF_LOCK_RESERVES = (1 << 2),  /* released; the name stays reserved */
    HF_LOCK_CALLING = (1 << 3),   /* released; `done` will get the outcome */
    HF_LOCK_HAS_CALLBACK = (1 << 4), /* outcome known; `done` is queued */
    HF_LOCK_OVER = (1 << 5),         /* its lease is done */
    HF_LOCK_GIVE_UP = (1 << 6),      /* release it at the end of this step */
    HF_LOCK_LEAVES = (1 << 7)        /* it is being detached: detach.c */
};

struct hf_lock {
    struct hf_item item;
    uint16_t name_len;
    uint16_t text_len;
    uint32_t since_s; /* Unix time of the attempt, for display */
    uint8_t flags;
    uint8_t outcome;       /* of an asynchronous release: enum hf_status */
    _Atomic uint8_t state; /* enum hf_state */
    bool is_shared : 1;
    bool is_unfair : 1;
    bool is_linked : 1;
    bool is_adopted : 1; /* the text is a whole owner, not a label */
    uint16_t permits;    /* shared hold of a semaphore: its size; else 0 */
    struct hf_client *client;
    uint8_t id[HF_OWNER_ID_LEN];
    struct hf_op *op; /* gets the next outcome; or NULL */
    union {
        void *user;
        struct hf_instant reserve_until; /* RESERVES, no hf_notice */
        hf_op_fn *done;                  /* CALLING, no hf_notice */
    };
    union {
        _Atomic int64_t deadline_ns; /* HF_LONG_AGO: not held */
        void *done_user;             /* CALLING, no hf_notice */
    };
    uint32_t queue_prev; /* in one of the client's queues, by index */
    uint32_t queue_next;
};

/* Links to the other locks of the handle (lock_group.h). */
struct hf_lock_group {
    struct hf_lock *prev;
    struct hf_lock *next;
    int16_t permit;   /* first lock, of a semaphore: its number; else -1 */
    uint8_t reported; /* first lock: enum hf_state that was reported last */
};

/* Its data for on_state (notify.h). */
struct hf_notice {
    uint32_t prev; /* in the queue of changed locks, by index */
    uint32_t next;
    bool is_queued;
    uint8_t state;                 /* enum hf_state reported last */
    const struct hf_lock *follows; /* next lock of the handle; never changes */
    struct hf_lock *next_held;     /* in the list hf_notifier.held */
    union {
        struct hf_instant reserve_until; /* HF_LOCK_RESERVES */
        hf_op_fn *done;                  /* HF_LOCK_CALLING */
    };
    void *done_user;
};

/* A user's request, checked, with lengths. Borrows its texts. */
struct hf_order {
    const void *name;
    size_t name_len;
    const char *text; /* the label, or the whole owner if `is_owner` */
    size_t text_len;
    bool is_owner;
    bool is_lasting; /* HF_LIVENESS_LEASE */
    bool is_shared;
    bool is_unfair;
    bool is_linked;   /* one lock of several */
    uint16_t permits; /* shared hold of a semaphore: its size; else 0 */
    uint16_t n_slots; /* a request for a permit: number of permits; else 0 */
    uint16_t n_more;
    const struct hf_name *more; /* further names: see hf_order_more() */
    size_t more_size;
    int64_t ttl_ms;
    int64_t wait_ms;
    void *user;
    const struct hf_cancel *cancel; /* or NULL */
};

/** A new attempt with a fresh owner, or with the owner of the order. It is in
 * the tables, and no request is sent yet. @return NULL: no memory. */
struct hf_lock *hf_lock_new(struct hf_client *client,
                            const struct hf_order *order);

/* The lease of the attempt: it lies behind the struct, in one allocation. */
static inline struct hf_lease *hf_lock_lease(struct hf_lock *lock)
{
    return (struct hf_lease *)(lock + 1);
}

/* The same, of a lock that is only read. */
static inline const struct hf_lease *
hf_lock_lease_const(const struct hf_lock *lock)
{
    return (const struct hf_lease *)(lock + 1);
}

/* The processes that keep the lock while they live; NULL: the store cannot see
 * them. */
struct hf_life_set *hf_lock_life(struct hf_lock *lock);

/* Its links to the other locks of the handle; NULL: a single lock. */
struct hf_lock_group *hf_lock_link(const struct hf_lock *lock);

/* Its data for on_state; NULL: on_state is not set. */
struct hf_notice *hf_lock_notice(const struct hf_lock *lock);

/* For a release: reserve the name until an instant; call `done` with the
 * outcome. */
void hf_lock_set_reserve_until(struct hf_lock *lock, struct hf_instant until);

/* What was set. Only of a lock with HF_LOCK_RESERVES. */
struct hf_instant hf_lock_reserve_until(const struct hf_lock *lock);

/* Before an asynchronous release, which has no reservation: when the outcome
 * is known, `done` is queued with `user`. Sets HF_LOCK_CALLING. */
void hf_lock_set_done(struct hf_lock *lock, hf_op_fn *done, void *user);

/* What was set; `*user` is set to its argument. Only of a lock with
 * HF_LOCK_CALLING. */
hf_op_fn *hf_lock_done(const struct hf_lock *lock, void **user);

/* The name, which ends with a NUL; valid as long as the lock. */
const char *hf_lock_name_bytes(const struct hf_lock *lock);

/** Write its owner as the nodes store it. @return the length; no NUL is
 * written.
 */
size_t hf_lock_emit_owner(const struct hf_lock *lock, char out[HF_OWNER_MAX]);

/* Copy the lease's state and deadline to where other threads read them. */
void hf_lock_mirror(struct hf_lock *lock);

/* check.c: assert CL-1 to CL-4, after each step. */
void hf_lock_check(const struct hf_lock *lock);

/* The lock that this item of the tables is: its kind is HF_ITEM_LOCK. */
static inline struct hf_lock *hf_lock_of(struct hf_item *item)
{
    return (struct hf_lock *)item;
}

#endif
