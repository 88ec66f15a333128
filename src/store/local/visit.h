/* SPDX-License-Identifier: Apache-2.0 */
/* One request at one name, inside a transaction: the record, the entries beside
 * it, and what each verb does to them.
 *
 * Two invariants make fences sound (they are all that a proof needs):
 *   I1  the counter of a name never decreases;
 *   I2  a value of it is owned by at most one owner, ever.
 * Every verb says which of the four moves that keep both it makes:
 *   (a) clear the owner;
 *   (b) install an owner while raising the counter, or the last owner again at
 *       the counter that it owned;
 *   (c) raise the counter while the owner stays;
 *   (d) raise the counter while there is no owner.
 * A group of sharers is one owner: joining it is move (c), leaving it is none,
 * but for the last, which is (a).
 *
 * What fails in the table is kept in `number`, and makes all that follows
 * harmless: the caller looks at it in the end, and aborts. */
#ifndef HF_STORE_LOCAL_VISIT_H
#define HF_STORE_LOCAL_VISIT_H

#include "store/local/entry.h"
#include "store/local/record.h"
#include "store/local/table.h"
#include "store/store.h"

/* A waiter that was granted the name, and to which the grant is pushed. */
struct hf_grant {
    struct hf_address address;
    struct hf_wake_note note;
    uint16_t owner_len;
    char owner[HF_OWNER_MAX];
};

struct hf_grants {
    struct hf_grant *of;
    size_t count;
    size_t capacity;
};

/* What a verb did. */
struct hf_deed {
    enum hf_verdict verdict; /* OK, REFUSED, QUEUED, or ERROR: nothing changed
                              */
    uint64_t counter;
    uint64_t floor;     /* CONFIRM: it was the floor that forbade it; or 0 */
    uint64_t bound;     /* … the bound */
    uint64_t ticket;    /* QUEUED: the place; REFUSED: the time */
    uint32_t ahead;     /* QUEUED: waiters before it; OK: 1: one is earlier */
    bool had_place;     /* QUEUED: a heartbeat */
    int64_t left_ms;    /* of the owner; 0: none */
    bool is_group;      /* several had it */
    uint16_t permits;   /* on these terms */
    uint16_t owner_len; /* of that owner; 0: none */
    char owner[HF_RECORD_OWNER_MAX];
};

/* Owners whose processes were seen to have ended. */
struct hf_dead {
    bool has_holder; /* `holder` is set */
    struct hf_record holder;
    struct hf_entry *sharers; /* of a group */
    size_t n_sharers;
};

struct hf_visit {
    struct hf_table *table;
    const struct hf_ask *ask;         /* NULL: no request */
    const struct hf_processes *life;  /* the asker's; goes with ask->life: the
                                         same processes, with what tells them
                                         from later ones */
    const struct hf_address *address; /* where the asker listens */
    const struct hf_dead *dead;       /* NULL: none is known to be */
    const struct hf_moment *now;
    struct hf_grants *grants; /* out, appended */
    struct hf_record record;
    struct hf_deed deed;
    uint64_t hint;   /* ACQUIRE: what the asker hints at; 0: beyond the bound */
    bool is_changed; /* the record is to be written, and all committed */
    int number;      /* 0, or the first error of the table's */
};

/* ---- verbs.c, release.c: what the ask says ----------------------------- */

void hf_visit_acquire(struct hf_visit *visit);
void hf_visit_yield(struct hf_visit *visit);
void hf_visit_confirm(struct hf_visit *visit);

void hf_visit_release(struct hf_visit *visit);
void hf_visit_break(struct hf_visit *visit);
void hf_visit_inspect(struct hf_visit *visit);

/* mark.c */
void hf_visit_mark(struct hf_visit *visit);

/* What INSPECT says of a name that is free: its mark, if there is one. */
void hf_visit_show_mark(struct hf_visit *visit);

/* The owner of the live mark, as one that has ended. @return its length; 0:
 * there is no mark. */
size_t hf_visit_emit_ended(const struct hf_visit *visit,
                           char out[HF_RECORD_OWNER_MAX]);

/* A grant without a receiver: take it back, and remove the waiter. */
void hf_visit_revoke(struct hf_visit *visit, const struct hf_grant *grant);

/* ---- moves.c: what verbs are made of ----------------------------------- */

static inline uint64_t hf_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool hf_visit_is_taken(const struct hf_visit *visit);
bool hf_visit_is_owner(const struct hf_visit *visit, const void *owner,
                       size_t owner_len);
bool hf_visit_is_mine(const struct hf_visit *visit); /* the asker's, alone */

/* The greatest counter that a hint or a fence may have (HF_FENCE_AHEAD_MAX). */
uint64_t hf_visit_bound(const struct hf_visit *visit);

/* When a lease given now for so long ends. */
int64_t hf_visit_after_ms(const struct hf_visit *visit, int64_t ms);
int64_t hf_visit_asked_until(const struct hf_visit *visit);

/* Begin the answer: what there is before anything is done. */
void hf_visit_describe(struct hf_visit *visit);
void hf_visit_succeed(struct hf_visit *visit, uint64_t counter);

/* No message may ever shorten a lease: an older, shorter request may arrive
 * after a longer one whose answer is relied on. */
void hf_visit_prolong(struct hf_visit *visit, int64_t until_ns);

/* Move (b). @p life NULL: the lease alone. */
void hf_visit_install(struct hf_visit *visit, const void *owner,
                      size_t owner_len, uint64_t counter, int64_t until_ns,
                      const struct hf_processes *life);

/* Move (a): and forget `last`, or a CONFIRM that comes late would bring the
 * lock back. */
void hf_visit_clear(struct hf_visit *visit);

/* ---- group.c: sharers -------------------------------------------------- */

bool hf_visit_is_group(const struct hf_visit *visit);

/* A live one of the group that has the name. */
bool hf_visit_find_sharer(struct hf_visit *visit, const void *owner,
                          size_t owner_len, struct hf_entry *out);

/* Moves (b) or (c), to @p counter: found a group, or join the one there. */
void hf_visit_join(struct hf_visit *visit, struct hf_entry *entry,
                   uint64_t counter, int64_t until_ns);

/* Write a sharer's entry; the group lives as long as any of it. */
void hf_visit_keep_sharer(struct hf_visit *visit, struct hf_entry *entry,
                          int64_t until_ns);

/* None of moves, or (a). */
void hf_visit_leave(struct hf_visit *visit, const struct hf_entry *entry);

/* Those of `dead` that are still what they were. */
void hf_visit_bury_sharers(struct hf_visit *visit);

/* ---- serve.c: waiters -------------------------------------------------- */

/* Can a request with these terms have the name now? */
bool hf_visit_admits(const struct hf_visit *visit, bool is_shared,
                     uint16_t permits);

/* Give the name to the first waiters, for as long as it admits them. Then a
 * free name has no live waiter. @return true: the asker was among them, and the
 * deed says so. */
bool hf_visit_serve(struct hf_visit *visit);

/* Give the asker a place, or refresh the one it has. */
void hf_visit_enqueue(struct hf_visit *visit);

/* Its place is given up. */
void hf_visit_dequeue(struct hf_visit *visit, const void *owner,
                      size_t owner_len);

/* Give it to the asker: what admits it, and is not waited for. */
void hf_visit_grant(struct hf_visit *visit, struct hf_entry *entry);

/* The asker, as an entry. */
void hf_visit_introduce(const struct hf_visit *visit, struct hf_entry *out);

/* A place before the asker's ticket is live. */
bool hf_visit_has_earlier(struct hf_visit *visit);

/* ---- entries.c: as they are kept --------------------------------------- */

bool hf_entries_find_sharer(struct hf_visit *visit, const void *owner,
                            size_t owner_len, struct hf_entry *out);
bool hf_entries_find_waiter(struct hf_visit *visit, const void *owner,
                            size_t owner_len, struct hf_entry *out);

/* Insert or overwrite. */
void hf_entries_put_sharer(struct hf_visit *visit, const struct hf_entry *one);
void hf_entries_put_waiter(struct hf_visit *visit, const struct hf_entry *one);
void hf_entries_drop_sharer(struct hf_visit *visit, const struct hf_entry *one);
void hf_entries_drop_waiter(struct hf_visit *visit, const struct hf_entry *one);

/* The first waiter whose place is not over; removes those before it. */
bool hf_entries_head(struct hf_visit *visit, struct hf_entry *out);

/* How many live waiters are before @p one, which has its place. Exact if it is
 * below HF_ENTRIES_MANY and @p one is not the last of many. */
#define HF_ENTRIES_MANY 1000
uint32_t hf_entries_ahead(struct hf_visit *visit, const struct hf_entry *one);

enum hf_step { HF_STEP_ON, HF_STEP_DROP, HF_STEP_STOP };

/* Told of one entry, in order. DROP forgets it (sharers only). */
typedef enum hf_step hf_entries_fn(void *user, const struct hf_entry *one);

void hf_entries_each(struct hf_visit *visit, enum hf_entry_kind kind,
                     hf_entries_fn *each, void *user);

/* Remove all sharers: the group has lost the name. */
void hf_entries_drop_sharers(struct hf_visit *visit);

/* Forget all entries. */
void hf_entries_drop_all(struct hf_visit *visit);

#endif
