/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous look-up of host names. getaddrinfo(3) may take many seconds and
 * cannot be interrupted, so it runs in a thread of its own, which outlives a
 * look-up that is dropped. Numeric addresses and "localhost" need no thread and
 * no file.
 *
 *     struct hf_addresses addresses;
 *     if (hf_resolve_numeric(host, port, &addresses)) … connect …
 *     struct hf_resolve *resolve = hf_resolve_start(host, port);
 *     … watch hf_resolve_fd(resolve) for input; when it is readable:
 *     found = hf_resolve_take(resolve, &addresses, reason, sizeof(reason));
 *     … stop watching the descriptor …
 *     hf_resolve_drop(resolve);                    closes the descriptor
 *
 * Owner: the caller, until hf_resolve_drop(), which it must call once; it may
 * do so at any time. `host` is copied. Threads: one at a time per look-up.
 * Blocks: never. */
#ifndef HF_IO_RESOLVE_H
#define HF_IO_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Further addresses of a name are ignored. */
#define HF_ADDRESSES_MAX 8

/* One address with its port, for connect(). */
struct hf_address {
    struct sockaddr_storage sockaddr;
    socklen_t len;
};

/* The result of a look-up, in the resolver's order. */
struct hf_addresses {
    unsigned n;
    struct hf_address list[HF_ADDRESSES_MAX];
};

/** @return true if `host` needs no look-up; `out` has its addresses. */
bool hf_resolve_numeric(const char *host, uint16_t port,
                        struct hf_addresses *out);

struct hf_resolve;

/** @return NULL with errno set. */
struct hf_resolve *hf_resolve_start(const char *host, uint16_t port);

/* Readable once the look-up is done. Owned by the look-up. */
int hf_resolve_fd(const struct hf_resolve *resolve);

/** Get the result. @return false: `reason` is the error; empty: not done yet.
 */
bool hf_resolve_take(struct hf_resolve *resolve, struct hf_addresses *out,
                     char *reason, size_t reason_size);

/* Free it, done or not. NULL is fine. */
void hf_resolve_drop(struct hf_resolve *resolve);

#endif
