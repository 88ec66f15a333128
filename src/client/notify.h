/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of on_state callbacks, which run without the client's mutex.
 *
 *     hf_notify_init(&client->notifier);           open.c
 *     hf_notify_push(client, lock);                events.c: its state changed
 *     hf_notify_here(client);                      at the end of each call, and
 *                                                  before one sleeps
 *     hf_notify_all(client);                       in the library's thread
 *     hf_notify_remove(client, lock);              hf_lock_free()
 *     if (!hf_notify_holds(client, lock)) { free(lock); }
 *
 * A call that reads a handle after it has waited brackets that:
 *
 *     struct hf_reader reader;
 *     hf_notify_read(client, &reader, lock);
 *     … waits; a callback may release the handle …
 *     hf_notify_read_end(client, &reader);         may free its memory
 *
 * All functions need the mutex. After hf_notify_here() and hf_notify_all() data
 * that was read before may be stale, and the client may be closing.
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

#include <stdbool.h>

struct hf_client;   /* has the queue: struct hf_notifier */
struct hf_lock;     /* has its entry of it: struct hf_notice */
struct hf_notifier; /* client.h */

/* A callback or a call that reads a handle which may be released meanwhile; on
 * its stack. */
struct hf_reader {
    const struct hf_lock *lock; /* the first one of the handle */
    struct hf_reader *next;
};

/* Without handles. */
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

/* The end of that. Frees the locks that were removed meanwhile, unless there
 * is another reader. */
void hf_notify_read_end(struct hf_client *client, struct hf_reader *reader);

/** `lock` was removed from all tables. @return true: a callback that runs, or a
 * call, may read its memory, which is freed afterwards. */
bool hf_notify_holds(struct hf_client *client, struct hf_lock *lock);

#endif
