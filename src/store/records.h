/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of the stores that keep a lock as a record on a server: redis,
 * postgres, mysql. Their scripts, functions and procedures reply with the same
 * fields; each store reads these from its protocol, and what they mean is here.
 */
#ifndef HF_STORE_RECORDS_H
#define HF_STORE_RECORDS_H

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Answers ------------------------------------------------------------- */

/* The verdict that a reply has as a number. */
enum hf_verdict hf_answer_verdict(int64_t number);

/** Does core accept this answer? Each reply of our own scripts passes. @return
 * false: a counter above the greatest fence, or below zero, was written by
 * hand, or the peer is another kind of server. In core it would fail an
 * assertion. */
bool hf_answer_is_sound(const struct hf_answer *answer);

/* ---- Seats: the reply to a QUEUE ----------------------------------------- */

/* Zero: empty. The owner frees `items`. */
struct hf_seat_list {
    struct hf_seat *items;
    size_t cap;
};

/** Make room for `n` seats. @return false: no memory. */
bool hf_seat_list_reserve(struct hf_seat_list *list, size_t n);

/* Begin the seats of the answer, with its holder if it is exclusive: sharers
 * have a seat each, which the reply lists. */
void hf_seat_list_begin(const struct hf_seat_list *list,
                        struct hf_answer *answer);

/* Set what the mode in the reply means: "x", "s", or "s" and permits; more of
 * them than there can be are the most. */
void hf_seat_set_mode(struct hf_seat *seat, const char *mode);

/* ---- Names: the reply to a SCAN ------------------------------------------ */

/* Zero: empty. The owner frees `items`. */
struct hf_name_list {
    struct hf_bytes *items;
    size_t cap;
};

/** Make room for `n` names. @return false: no memory. */
bool hf_name_list_reserve(struct hf_name_list *list, size_t n);

/* Bytes of a name with its prefix, in a column of a table. */
#define HF_CURSOR_NAME_MAX 1280

/* Where the next page of a SCAN begins, for servers that page by name. The
 * table is a ring: of so many scans at once the oldest must begin anew. */
#define HF_CURSORS_MAX 4
struct hf_cursor {
    uint64_t id; /* 0: free */
    size_t len;
    char name[HF_CURSOR_NAME_MAX];
};

/* Zero: empty. */
struct hf_cursors {
    struct hf_cursor ring[HF_CURSORS_MAX];
    uint64_t last;
};

/** Keep the last name of a page. @return the cursor of the next page. */
uint64_t hf_cursors_keep(struct hf_cursors *cursors, struct hf_bytes name);

/** Find the name after which a page begins: empty for cursor 0, the first page.
 * @return false: the cursor has been replaced. */
bool hf_cursors_find(const struct hf_cursors *cursors, uint64_t id,
                     struct hf_bytes *out);

#endif
