/* SPDX-License-Identifier: Apache-2.0 */
/* Host names to addresses, without ever blocking the caller. getaddrinfo(3)
 * may take many seconds and cannot be interrupted, so it runs in a thread of
 * its own that outlives a caller that gives up. Numeric addresses, and
 * "localhost", cost no thread and no file. */
#ifndef HF_IO_RESOLVE_H
#define HF_IO_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* More than a name sensibly has; the rest is not tried. */
#define HF_ADDRESSES_MAX 8

struct hf_address {
    struct sockaddr_storage sockaddr;
    socklen_t len;
};

struct hf_addresses {
    unsigned n;
    struct hf_address list[HF_ADDRESSES_MAX];
};

/* @return true if `host` needs no look-up; `out` is filled then. */
bool hf_resolve_numeric(const char *host, uint16_t port,
                        struct hf_addresses *out);

struct hf_resolve;

/* @return NULL with errno set. */
struct hf_resolve *hf_resolve_start(const char *host, uint16_t port);

/* Readable once there is an outcome. Owned by the look-up. */
int hf_resolve_fd(const struct hf_resolve *resolve);

/* @return false: `reason` says why there is no address; empty: not done yet. */
bool hf_resolve_take(struct hf_resolve *resolve, struct hf_addresses *out,
                     char *reason, size_t reason_size);

/* Free it, done or not. NULL is fine. */
void hf_resolve_drop(struct hf_resolve *resolve);

#endif
