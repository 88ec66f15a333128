/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of keys that wires have in common:
 *
 *     NAME / SESSION -KIND- OWNER      NAME and OWNER escaped
 *     "-x30-" exclusive, of a session of 30 s; "-s30-" shared; "-s30p5-" of
 *     five permits */
#ifndef HF_ORDERED_WIRE_KEY_H
#define HF_ORDERED_WIRE_KEY_H

#include "store/ordered/wire.h"
#include "store/ordered/wire_text.h"

/* Letters and digits stay as they are, and what is in `plain`; each other byte
 * is the mark and two hex digits. So each text has one form. */
struct hf_wire_escape {
    char mark;
    const char *plain; /* without the mark and '/' */
};

void hf_wire_escape_add(const struct hf_wire_escape *escape,
                        struct hf_wire_text *text, struct hf_bytes bytes);

/** In place. @return the length. */
size_t hf_wire_escape_read(const struct hf_wire_escape *escape, char *text,
                           size_t len);

void hf_wire_kind_add(struct hf_wire_text *text, const struct hf_wire_key *key);

/** Mode, ttl and terms of a key. @return its length; 0: it is none. */
size_t hf_wire_kind_read(const char *text, size_t len,
                         struct hf_wire_entry *out);

/* A value: none, or what a replaced entry has, "TTL" or "TTL NOTE". */
void hf_wire_value_add(struct hf_wire_text *text,
                       const struct hf_wire_change *change);

/** Of an entry of ours, whose key was read before. */
void hf_wire_value_read(char *value, size_t len, struct hf_wire_entry *out);

#endif
