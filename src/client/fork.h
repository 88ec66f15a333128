/* SPDX-License-Identifier: Apache-2.0 */
/* Detecting a fork, so that parent and child never use one client. */
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

/* Kernel entropy, drawn 256 bytes at a time. */
void hf_client_entropy(struct hf_client *client, void *out, size_t len);

/* A pseudo-random number, for jitter. */
uint64_t hf_client_random(struct hf_client *client);

#endif
