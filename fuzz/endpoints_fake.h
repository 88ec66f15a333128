/* SPDX-License-Identifier: Apache-2.0 */
/* A store of store/endpoints whose connection is in memory, for the targets of
 * etcd and Consul: one call of its wire, as store/ordered makes it, whose
 * requests are answered by the input, and what must be true of the reply.
 *
 *     fake_endpoints_run(&fake, input);
 *     fake_endpoints_fini(&fake);
 *
 * Input: a byte that chooses the call, then replies: each a byte that chooses
 * its status, a text that is a header of the store, and one that is the body.
 * Each text ends with a NUL. In a body the bytes from \1 to \2 become base64:
 * keys and values can be changed byte by byte. Requests without a reply in the
 * input are lost. A target links with --wrap of what endpoints_fake.c defines
 * with __wrap_. */
#ifndef FUZZ_ENDPOINTS_FAKE_H
#define FUZZ_ENDPOINTS_FAKE_H

#include "fuzz.h"

#include "store/endpoints/endpoints.h"
#include "store/ordered/wire_key.h"

struct json_t;

/* The key of an entry, and the one of a mark, as the store composes it. */
typedef void fake_key_fn(struct hf_wire_text *text, const char *prefix,
                         const struct hf_wire_key *key);
typedef void fake_name_fn(struct hf_wire_text *text, const char *prefix,
                          struct hf_bytes name);

/* A number of a JSON object, as the store reads it. */
typedef uint64_t fake_number_fn(const struct json_t *object, const char *name);

struct fake_endpoints {
    struct hf_endpoints *node;
    const struct hf_endpoints_ops *ops;
    fake_key_fn *key;
    fake_name_fn *folder;
    fake_name_fn *mark;
    fake_number_fn *number;
    const char *prefix;
    size_t id_begin;     /* bytes of an id before the part of the key */
    bool has_base64;     /* keys in JSON are base64 */
    bool has_quoted;     /* numbers in JSON are strings */
    unsigned json_flags; /* as the store decodes a body */
};

/** One call, to its end. */
void fake_endpoints_run(struct fake_endpoints *fake, struct fuzz_input in);

/* Free what the store and the machine above it have allocated. */
void fake_endpoints_fini(struct fake_endpoints *fake);

#endif
