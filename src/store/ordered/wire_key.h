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

/* All printable ASCII but '/' and '%', so that other programs show it. */
extern const struct hf_wire_escape hf_wire_escape_printable;

/* Append bytes, escaped. */
void hf_wire_escape_add(const struct hf_wire_escape *escape,
                        struct hf_wire_text *text, struct hf_bytes bytes);

/** Unescape a text in place. @return the length; SIZE_MAX:
 * hf_wire_escape_add() does not write it so, and it is unchanged. */
size_t hf_wire_escape_read(const struct hf_wire_escape *escape, char *text,
                           size_t len);

/* What follows the session in a key: mode, ttl, terms, owner. */
void hf_wire_key_add(const struct hf_wire_escape *escape,
                     struct hf_wire_text *text, const struct hf_wire_key *key);

/** The same, of an entry of @p session. Unescapes in place. @return false: it
 * is none, and nothing has changed. */
bool hf_wire_key_read(const struct hf_wire_escape *escape, char *text,
                      size_t len, const uint8_t session[HF_SESSION_ID_LEN],
                      struct hf_wire_entry *out);

/* An entry of another program, whose key is any text: it is exclusive. */
void hf_wire_key_foreign(const char *text, size_t len,
                         struct hf_wire_entry *out);

/* ---- Sessions whose id is a number of 64 bits ---------------------------- */

/* The number that is the id of the session: its first 8 bytes. */
uint64_t hf_wire_id_of(const uint8_t session[HF_SESSION_ID_LEN]);

/* The session whose id is a number: the other bytes are zero. */
void hf_wire_session_of(uint64_t id, uint8_t out[HF_SESSION_ID_LEN]);

/* In hex digits. */
void hf_wire_id_add(struct hf_wire_text *text,
                    const uint8_t session[HF_SESSION_ID_LEN]);

/** The hex digits at the start, as hf_wire_id_add() writes them. @return how
 * many; 0: none. */
size_t hf_wire_id_read(const char *text, size_t len,
                       uint8_t out[HF_SESSION_ID_LEN]);

/* ---- Values -------------------------------------------------------------- */

/* A value: none, or what a replaced entry has, "TTL" or "TTL NOTE". */
void hf_wire_value_add(struct hf_wire_text *text,
                       const struct hf_wire_change *change);

/** Of an entry of ours, whose key was read before. */
void hf_wire_value_read(char *value, size_t len, struct hf_wire_entry *out);

#endif
