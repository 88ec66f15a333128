/* SPDX-License-Identifier: Apache-2.0 */
/* How a URL asks for locks of a session, and the digest of a name that is its
 * key on the server unless the URL has another.
 *
 *     lock=WORD          keys are made from the prefix and the name
 *     lock=WORD&key=...  as the store reads it */
#ifndef HF_SESSION_KEY_H
#define HF_SESSION_KEY_H

#include "store/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is the parameter one of these? */
bool hf_session_is_parameter(const char *name);

/* The words of a store for its errors. */
struct hf_session_words {
    const char *lock; /* value of lock= */
    const char *rows; /* what has the locks without it */
    const char *key;  /* what that of key= is */
};

/** Read them. @param is_asked  set: whether the URL asks for these locks.
 * @param key  set: that of key=, borrowed; NULL: there is none.
 * @return HF_OK; HF_INVALID with a text in @p error. */
enum hf_status
hf_session_read(const struct hf_url *url, const struct hf_session_words *words,
                bool *is_asked, const char **key, struct hf_error *error);

/* SHA-256 over the prefix and the name. */
#define HF_SESSION_DIGEST_LEN 32
void hf_session_digest(const char *prefix, const void *name, size_t name_len,
                       uint8_t out[HF_SESSION_DIGEST_LEN]);

#endif
