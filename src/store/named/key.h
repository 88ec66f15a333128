/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a lock on the server: which one a name of Holdfast has, by the
 * URL.
 *
 *     lock=named             "holdfast:" and the first 48 hexadecimal digits of
 *                            SHA-256 over the prefix and the name
 *     lock=named&key=NAME    NAME itself, for each name
 *
 * A server's name has at most 64 characters, and in MySQL letters of either
 * case are equal in it. So the names of Holdfast are not used as they are. */
#ifndef HF_NAMED_KEY_H
#define HF_NAMED_KEY_H

#include "store/url.h"

#include <stdbool.h>
#include <stddef.h>

/* Of a server: characters, each of at most three bytes. */
#define HF_NAMED_KEY_CHARS_MAX 64
#define HF_NAMED_KEY_MAX (3 * HF_NAMED_KEY_CHARS_MAX)

/* The name of a lock of the server. Not ended by a NUL. */
struct hf_named_key {
    size_t len;
    char text[HF_NAMED_KEY_MAX];
};

/* Whether both are the same lock of the server. */
bool hf_named_key_is(const struct hf_named_key *a,
                     const struct hf_named_key *b);

/* How a name becomes a key: key=, the same for all names, or computed from it.
 */
struct hf_named_rule {
    bool is_fixed;
    struct hf_named_key fixed;
};

/** Read them. @p is_named  false: without lock=named, locks are rows.
 * @return HF_OK; HF_INVALID with a text in @p error. */
enum hf_status hf_named_key_read(const struct hf_url *url, bool *is_named,
                                 struct hf_named_rule *out,
                                 struct hf_error *error);

/* The key that the rule gives to a name. */
void hf_named_key_of(const struct hf_named_rule *rule, const char *prefix,
                     const void *name, size_t name_len,
                     struct hf_named_key *out);

#endif
