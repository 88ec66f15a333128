/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of ordered entries: which entries of a list hold the name, and which
 * entry a waiter must watch.
 *
 * A store that agrees by consensus has no rules of its own for locks. Each
 * contender creates an entry below the name, and the store gives it an order
 * number, greater than all before that it gave; a program that names its entry
 * itself may choose any. All contenders read the list and apply this
 * rule (store/ordered). Several permits are several lists: the rule knows
 * none.
 *
 * Calling sequence: create an entry; list; hf_entries_judge(). If it WAITS,
 * watch the entry that is named. When that entry has ended, list and judge
 * again: its end proves nothing else, since an entry that only waited may end
 * too. */
#ifndef HF_CORE_ENTRY_RULE_H
#define HF_CORE_ENTRY_RULE_H

#include "core/limits.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of a session's id: the longest is a UUID's 16. Shorter ones are padded
 * with zeros. */
#define HF_SESSION_ID_LEN 16

/* The owner of an entry. An attempt that lost its session goes on in another
 * one, and its first entry may still be in the list, so both are compared. */
struct hf_entry_owner {
    uint8_t attempt[HF_OWNER_ID_LEN];   /* the digits of its owner (owner.h);
                                           zeros: not written by Holdfast */
    uint8_t session[HF_SESSION_ID_LEN]; /* it lives no longer than that */
};

struct hf_entry {
    uint64_t number; /* order number, and fence; never 0. Two with one number
                        prove no order: each is before the other */
    struct hf_entry_owner owner;
    enum hf_mode mode;
};

enum hf_entry_turn {
    HF_ENTRY_UNPROVEN, /* the list lacks our entry: it is older than the entry,
                          or the entry is gone. Nothing follows from it */
    HF_ENTRY_WAITS,
    HF_ENTRY_HOLDS
};

struct hf_entry_rank {
    enum hf_entry_turn turn;
    size_t watch; /* WAITS: index of the entry to watch */
    size_t ahead; /* entries before ours; UNPROVEN: 0 */
};

/** Judge a list from the view of one entry.
 * @param entries All live entries of the name at one moment, in any order. From
 *                a server: no value of them can fail an assertion.
 * @param own     Our entry, as the store reported it; its number is not 0.
 *
 * A list that has our entry may be stale: it shows at most too many entries
 * before ours. HOLDS says nothing about time: whether our entry still lives is
 * proven by the renewal of its session. */
void hf_entries_judge(const struct hf_entry *entries, size_t n_entries,
                      const struct hf_entry *own, struct hf_entry_rank *out);

#endif
