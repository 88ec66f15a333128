/* SPDX-License-Identifier: Apache-2.0 */
/* Pushing a grant to a waiter in another process: a datagram to the unix socket
 * of that process's store.
 *
 *     hf_wake_listen(&wake, loop)       when the store first waits
 *     hf_wake_send(&wake, &address, …)  after the commit, outside the gate
 *     hf_wake_read(&wake, …)            when the socket is readable */
#ifndef HF_STORE_LOCAL_WAKE_H
#define HF_STORE_LOCAL_WAKE_H

#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The socket of a waiter's store. */
struct hf_wake_address {
    uint64_t id;     /* in the socket's name; 0: there is no socket */
    uint64_t secret; /* each message to the socket begins with it */
    uint64_t space;  /* inode of its network namespace; 0: unknown */
};

/* One grant in a message. */
struct hf_wake_note {
    uint64_t cookie;
    uint64_t counter;
};

/* Grants in one message. The receive queue of a socket has room for some ten
 * messages of any length, so many grants to one process share a message. */
#define HF_WAKE_NOTES_MAX 128

enum hf_wake_result {
    HF_WAKE_SENT,
    HF_WAKE_NOBODY, /* no socket of its namespace has that name: it has ended */
    HF_WAKE_UNSURE  /* not sent, and the process may be alive */
};

struct hf_wake {
    struct hf_watch watch; /* fd -1: no socket yet */
    struct hf_wake_address address;
    uint64_t space; /* inode of the socket's network namespace; 0: unknown */
};

/** Without a socket, which is made when it is first needed. @param ready  of
 * that socket. */
void hf_wake_init(struct hf_wake *wake, hf_watch_fn *ready);

/** Bind the socket, and watch it in the loop. @return false with errno set: it
 * failed, and the socket is closed. */
bool hf_wake_listen(struct hf_wake *wake, struct hf_loop *loop);

/* Send up to HF_WAKE_NOTES_MAX grants to one client, in one datagram. Never
 * blocks. */
enum hf_wake_result
hf_wake_send(struct hf_wake *wake, const struct hf_wake_address *to,
             const struct hf_wake_note *notes, size_t n_notes);

/** Read one message. @return its number of notes; 0: it is invalid; -1: there
 * is no message. */
int hf_wake_read(struct hf_wake *wake,
                 struct hf_wake_note notes[HF_WAKE_NOTES_MAX]);

/* @p loop NULL: in a forked child, which shares the parent's epoll instance. */
void hf_wake_close(struct hf_wake *wake, struct hf_loop *loop);

#endif
