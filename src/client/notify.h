/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of on_state callbacks, which run without the client's mutex.
 *
 * A changed lock is itself the entry of the queue, so queueing needs no memory
 * and cannot fail. If the library's thread runs, it alone calls on_state. So no
 * callback runs inside a public call, whose caller may hold a mutex that the
 * callback locks. Without that thread, a call runs the callbacks before it
 * returns or sleeps. Only one thread does so at a time, so the callbacks of a
 * lock run in order.
 *
 * A release does not wait for a callback that runs. Until that callback
 * returns, the memory of all locks of its handle is kept, and with it the data
 * that it may read. So it is for a call that waits several times, and in which
 * a callback may release its lock. */
#ifndef HF_CLIENT_NOTIFY_H
#define HF_CLIENT_NOTIFY_H

#include <holdfast/holdfast.h>

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_client;
struct hf_lock;

/* Part of each lock if on_state is set. */
struct hf_notice {
    uint32_t prev; /* in the queue of changed locks, by slot */
    uint32_t next;
    bool is_queued;
    uint8_t state;                 /* enum hf_state reported last */
    const struct hf_lock *follows; /* next lock of the handle; never changes */
    struct hf_lock *next_held;     /* in the list hf_notifier.held */
    union {
        struct hf_instant keep; /* HF_LOCK_KEEPING */
        hf_op_fn *done;         /* HF_LOCK_CALLING */
    };
    void *done_user;
};

/* A callback or a call that reads a handle which may be released meanwhile; on
 * its stack. */
struct hf_reader {
    const struct hf_lock *lock; /* the first one of the handle */
    struct hf_reader *next;
};

/* Part of the client. */
struct hf_notifier {
    uint32_t first; /* queue of changed locks, by slot */
    uint32_t last;
    bool is_notifying; /* a thread runs the callbacks */
    struct hf_reader *readers;
    struct hf_lock *held; /* released, but read; freed after that */
};

void hf_notify_init(struct hf_notifier *notifier);

/* Append a handle with a changed state to the queue; remove it. */
void hf_notify_push(struct hf_client *client, struct hf_lock *lock);
void hf_notify_remove(struct hf_client *client, struct hf_lock *lock);

/* Whether this call has to run callbacks: some are queued, and neither the
 * library's thread nor another call does it. */
bool hf_notify_is_due(const struct hf_client *client);

/* Run the queued callbacks: in a call; in the library's thread. They release
 * the mutex around each callback. */
void hf_notify_here(struct hf_client *client);
void hf_notify_all(struct hf_client *client);

/* The memory of all locks of the handle is kept until the end. */
void hf_notify_read(struct hf_client *client, struct hf_reader *reader,
                    const struct hf_lock *lock);
void hf_notify_read_end(struct hf_client *client, struct hf_reader *reader);

/** `lock` was removed from all tables. @return true: a callback that runs, or a
 * call, may read its memory, which is freed afterwards. */
bool hf_notify_holds(struct hf_client *client, struct hf_lock *lock);

#endif
