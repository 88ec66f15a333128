/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an owner, as nodes store it and commands print it:
 *
 *     <32 hex digits>:<host>:<pid>:<unix seconds>[:<label>]
 *     ended:<owner>                          released with a reservation
 *
 * The digits are 128 bits of kernel entropy, drawn for one attempt; the rest
 * identifies the process. Bytes of host and label other than letters,
 * digits, '.', '-' and '_' are written %XX, so that an owner is one printable
 * word without '@', which separates it from its fence in OWNER@FENCE. A host
 * or label too long for HF_OWNER_MAX is truncated; the digits never. */
#ifndef HF_CORE_OWNER_H
#define HF_CORE_OWNER_H

#include "core/limits.h"
#include "core/opaque.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if a Holdfast client wrote it, with or without "ended:". */
bool hf_owner_is_ours(const void *text, size_t len);

/** Write the owner's text; @return its length, without NUL (none is written).
 */
size_t hf_owner_emit(char out[HF_OWNER_MAX], const uint8_t id[HF_OWNER_ID_LEN],
                     const char *host, int64_t pid, int64_t since_s,
                     const char *label);

/* Parse the value of a name's key, by any writer: fills kind
 * (HOLDFAST, ENDED or FOREIGN), owner (printable: other bytes as %XX, cut to
 * fit), host, pid, since_s and label of @p out, and leaves the rest. */
void hf_owner_describe(const void *text, size_t len, struct hf_holder *out);

/** Split OWNER@FENCE or OWNER@FENCE/TTL, where TTL is the lease in milliseconds
 * that a detached lock is extended by. @return false if it is neither. */
bool hf_owner_parse(const char *text, size_t *owner_len, uint64_t *fence);

/* The TTL of a text that hf_owner_parse() accepts; 0 if it names none. */
int64_t hf_owner_ttl_ms(const char *text);

/* A digest of an owner, to distinguish rivals; never 0. */
uint32_t hf_owner_digest(const void *text, size_t len);

#endif
