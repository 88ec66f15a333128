/* SPDX-License-Identifier: Apache-2.0 */
/* Detecting a fork, so that parent and child never use one client; and the
 * random numbers that must not be the same in both.
 *
 *     if (!hf_page_open(client)) …                  open.c
 *     if (hf_client_is_forked(client)) { return … } before the mutex is locked,
 *                                                   and after each callback
 *     hf_client_entropy(client, id, sizeof(id));    ids of owners, of writes
 *     n = hf_client_random(client);
 *     hf_page_close(client);                        close.c
 *
 * Threads: entropy and random numbers need the mutex, and are not for a child,
 * whose pool is all zeros. Owner: the page is the client's. Errors: only
 * hf_page_open() fails. */
#ifndef HF_CLIENT_FORK_H
#define HF_CLIENT_FORK_H

#include "client/client.h"

/** Set client->page, for a client that no other thread has yet. @return false:
 * no memory. */
bool hf_page_open(struct hf_client *client);

/* Wipe and unmap the page, if there is one; the last user is gone. */
void hf_page_close(struct hf_client *client);

/* Whether this process is a child of the one that opened the client. Needs no
 * mutex, which the child may find locked for ever. */
bool hf_client_is_forked(const struct hf_client *client);

/* Kernel entropy, drawn 256 bytes at a time, which `len` must not exceed. */
void hf_client_entropy(struct hf_client *client, void *out, size_t len);

/* A pseudo-random number, for jitter. */
uint64_t hf_client_random(struct hf_client *client);

#endif
