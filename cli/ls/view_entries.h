/* SPDX-License-Identifier: Apache-2.0 */
/* The holders and the waiters of a name, node by node and in order; of a
 * semaphore, slot by slot. For ls NAME and the lower half of top. */
#ifndef CLI_VIEW_ENTRIES_H
#define CLI_VIEW_ENTRIES_H

#include "out.h"
#include "snapshot.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name itself, not one of its slots. */
#define CLI_NO_SLOT (-1)

struct cli_entry {
    struct cli_queue_entry at;
    int slot;
    uint32_t ahead; /* waiter: number of earlier waiters at this node */
};

/* Holders and waiters of one name, at each node. */
struct cli_entries {
    struct cli_entry *list;
    size_t count;
    size_t capacity;
    uint32_t permits; /* of the semaphore that the name is, or 0 */
    int slot;         /* being read */
    bool is_short;    /* memory ran out */
};

/* Without entries, and without memory. */
void cli_entries_init(struct cli_entries *entries);

/* Free the list. Without entries again. */
void cli_entries_fini(struct cli_entries *entries);

/* Into an empty list. One request to each node; of a semaphore one more for
 * each permit. */
enum hf_status cli_entries_look(struct cli_entries *entries,
                                struct hf_client *client, const void *name,
                                size_t name_len, struct hf_error *error);

/* Which slot's queue stands for the queue of the whole at this node: a
 * waiter for a permit waits for all of them, so the longest has all waiters.
 * CLI_NO_SLOT: it is no semaphore, or there are no waiters. */
int cli_entries_queue(const struct cli_entries *entries, int node);

/* True if the entry is shown. A sharer of a semaphore's own name is not: it
 * also holds a slot, or is in a queue. `queue` as above. */
bool cli_entry_is_shown(const struct cli_entries *entries,
                        const struct cli_entry *entry, int queue);

/* True if two nodes have the same holders and the same queue. Ends of leases
 * and the order of holders are not compared. */
bool cli_entries_agree(const struct cli_entries *entries, int a, int b);

/* "vm pid 4711 since 02:00:04 (label), frees by 02:00:41", or "vm pid 4712,
 * exclusive, waiting since 02:00:05 (label)". */
void cli_entry_text(struct cli_out *out, const struct cli_entry *entry);

/* Members "holders" and "queue" of an open JSON object: those of one node and
 * slot. */
void cli_entries_json(struct cli_out *out, const struct cli_entries *entries,
                      int node, int slot);

#endif
