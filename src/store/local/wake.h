/* SPDX-License-Identifier: Apache-2.0 */
/* Telling a waiter in another process that the name is its own now: a datagram
 * to the unix socket that every store which waits has bound.
 *
 *     hf_wake_listen(&wake, loop)       with the first wait
 *     hf_wake_send(&wake, &address, …)  after the commit, outside the gate
 *     hf_wake_read(&wake, …)            when the socket is readable */
#ifndef HF_STORE_LOCAL_WAKE_H
#define HF_STORE_LOCAL_WAKE_H

#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a waiter listens. */
struct hf_address {
    uint64_t id;     /* its socket is named by it; 0: it does not listen */
    uint64_t secret; /* what a message to it begins with */
    uint64_t space;  /* inode of its network namespace */
};

/* One grant, as it travels. */
struct hf_wake_note {
    uint64_t cookie;
    uint64_t counter;
};

/* Grants in one message. The kernel keeps some ten messages for a socket that
 * is not read meanwhile, however short: many readers of one process that are
 * admitted together must not be more. */
#define HF_WAKE_NOTES_MAX 128

enum hf_wake_result {
    HF_WAKE_SENT,
    HF_WAKE_NOBODY, /* no listener there: the process has ended */
    HF_WAKE_UNSURE  /* it lives, as far as can be told, and was not told */
};

struct hf_wake {
    struct hf_watch watch; /* fd -1: not made yet */
    struct hf_address address;
    uint64_t space; /* our network namespace; 0: not looked up */
};

void hf_wake_init(struct hf_wake *wake, hf_watch_fn *ready);

/* Be reachable from now on. @return false with errno set: we are not. */
bool hf_wake_listen(struct hf_wake *wake, struct hf_loop *loop);

enum hf_wake_result
hf_wake_send(struct hf_wake *wake, const struct hf_address *to,
             const struct hf_wake_note *notes, size_t n_notes);

/* @return number of notes; 0: none in this message; -1: no more messages. */
int hf_wake_read(struct hf_wake *wake,
                 struct hf_wake_note notes[HF_WAKE_NOTES_MAX]);

/* @p loop NULL: in a forked child, which shares the loop's kernel side. */
void hf_wake_close(struct hf_wake *wake, struct hf_loop *loop);

#endif
