/* SPDX-License-Identifier: Apache-2.0 */
/* Error replies of a server. */
#ifndef HF_REDIS_FAULT_H
#define HF_REDIS_FAULT_H

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>

struct hf_script; /* scripts.h */

/** @return the status that an error reply means; `out` gets the text of the
 * reply, shortened. */
enum hf_status hf_redis_fault(const char *text, char *out, size_t size);

/* The same for an error from one of our scripts. Names the missing right, which
 * not every version of the server does. */
enum hf_status hf_redis_fault_in(const struct hf_script *script,
                                 const char *text, char *out, size_t size);

/* Write the right that an error reply demands: "+zadd", or `key` if it is about
 * a key. Empty: the error has another cause, or does not name the right.
 * `script` may be NULL. */
void hf_redis_right(const char *text, const struct hf_script *script,
                    const char *key, char *out, size_t size);

/* Whether the server closes the connection with this error, which answers no
 * request: it has no room for a client, or is in protected mode. */
bool hf_redis_fault_is_last(const char *text);

/* Whether the error shows that the server's identity has changed, as after a
 * failover. */
bool hf_redis_fault_is_identity(const char *text);

#endif
