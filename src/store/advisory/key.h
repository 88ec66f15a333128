/* SPDX-License-Identifier: Apache-2.0 */
/* The key of an advisory lock: which one a name has, by the URL.
 *
 *     lock=advisory               bigint: the first 8 bytes of SHA-256 over the
 *                                 prefix and the name, most significant first
 *     lock=advisory&key=12345     that bigint, for each name
 *     lock=advisory&key=1,2       those two ints, for each name
 *     lock=advisory&key=rails     two ints, as with_advisory_lock of Rails: the
 *                                 lower 31 bits of CRC-32 of the name, without
 *                                 the prefix; and 0 */
#ifndef HF_ADVISORY_KEY_H
#define HF_ADVISORY_KEY_H

#include "store/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bigint, or two ints: `bits` has the first one in the upper half. The two
 * kinds never exclude each other. */
struct hf_advisory_key {
    uint64_t bits;
    bool is_pair;
};

/* Whether both are the same lock of the server. */
static inline bool hf_advisory_key_is(struct hf_advisory_key a,
                                      struct hf_advisory_key b)
{
    return a.bits == b.bits && a.is_pair == b.is_pair;
}

/* How a name becomes a key: its digest; key=, the same for all names; or as
 * Rails computes it. */
struct hf_advisory_rule {
    enum { HF_ADVISORY_HASH, HF_ADVISORY_FIXED, HF_ADVISORY_RAILS } kind;
    struct hf_advisory_key fixed;
};

/** Read them. @param is_advisory  set: whether the URL asks for these locks.
 * @return HF_OK; HF_INVALID with a text in @p error. */
enum hf_status hf_advisory_read(const struct hf_url *url, bool *is_advisory,
                                struct hf_advisory_rule *out,
                                struct hf_error *error);

/** @return the key that the rule gives to a name. Different names may have one
 * key. */
struct hf_advisory_key hf_advisory_key_of(const struct hf_advisory_rule *rule,
                                          const char *prefix, const void *name,
                                          size_t name_len);

#endif
