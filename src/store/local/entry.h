/* SPDX-License-Identifier: Apache-2.0 */
/* Each sharer and each waiter of a name has an entry beside the name's record,
 * so that a grant costs the same with a thousand of them as with ten.
 *
 * Entries are in the same LMDB tree as the names, in order of these keys:
 *
 *     'z' queue_id  0  0       owner    a sharer
 *     'z' queue_id  1  ticket  owner    a waiter: the first is the head
 *     'z' queue_id  2  0       owner    a waiter's ticket, to find it by owner
 *
 * In a key, "owner" is the first 32 bytes of the owner: the random digits that
 * make owners unique. The entry has the whole owner, which is compared. */
#ifndef HF_STORE_LOCAL_ENTRY_H
#define HF_STORE_LOCAL_ENTRY_H

#include "base/time.h"
#include "core/limits.h"
#include "store/local/liveness.h"
#include "store/local/wake.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Above the tags of names (names.c): a walk over names ends at it. */
#define HF_ENTRY_TAG 'z'

/* The kind is a part of the key, so the entries of a name lie together by
 * kind. Do not renumber: the file has these values. */
enum hf_entry_kind {
    HF_ENTRY_SHARER = 0,
    HF_ENTRY_WAITER = 1,
    HF_ENTRY_INDEX = 2
};

struct hf_local_entry {
    struct hf_instant until; /* end of the lease, or of the place */
    struct hf_span queue;    /* waiter: length of its place, and of its claim */
    uint64_t ticket;         /* waiter; 0: sharer */
    uint64_t counter;        /* sharer: its v, the counter at which it joined */
    uint64_t cookie;         /* waiter: part of the pushed grant */
    struct hf_wake_address address;
    bool is_shared;
    uint16_t permits;
    uint16_t owner_len;
    struct hf_processes life; /* their end also ends the lease */
    char owner[HF_OWNER_MAX];
};

/* ---- As bytes ---------------------------------------------------------- */

/* Bytes of a key: tag 1, queue 8, kind 1, ticket 8, owner 32. */
#define HF_ENTRY_KEY_LEN 50

/* @p owner may be shorter than 32 bytes; NULL: the least key. */
void hf_entry_key(unsigned char out[HF_ENTRY_KEY_LEN], uint64_t queue_id,
                  enum hf_entry_kind kind, uint64_t ticket, const void *owner,
                  size_t owner_len);

/* Bytes: a head, all processes of a lock, and the longest owner (entry.c
 * asserts that they fit). */
#define HF_ENTRY_BYTES_MAX 640

/** @return bytes written. */
size_t hf_entry_emit(const struct hf_local_entry *entry,
                     unsigned char out[HF_ENTRY_BYTES_MAX]);

/** @return false: the bytes are no entry, so the file is damaged. */
bool hf_entry_parse(const unsigned char *data, size_t len,
                    struct hf_local_entry *out);

#endif
