/* SPDX-License-Identifier: Apache-2.0 */
/* The record of one name: its owner, its counter, and how many sharers and
 * waiters it has. Each sharer and each waiter has an entry (entry.h). */
#ifndef HF_STORE_LOCAL_RECORD_H
#define HF_STORE_LOCAL_RECORD_H

#include "base/time.h"
#include "store/local/liveness.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Written before the owner of a lock that was released but is kept taken, and
 * before the owner of a mark. */
#define HF_ENDED_MARK "ended:"
#define HF_ENDED_MARK_LEN (sizeof(HF_ENDED_MARK) - 1)
#define HF_RECORD_OWNER_MAX (HF_OWNER_MAX + HF_ENDED_MARK_LEN)

/* Once reached, it stays: the name is no more given back to its holder as the
 * last owner, which costs the holder no more than a late CONFIRM. */
#define HF_RECORD_BROKEN_MAX 7

/* The mark of the last command that --once started under this name. */
struct hf_local_mark {
    uint64_t fence; /* of the lock under which it ran; 0: no mark */
    struct hf_instant until;
    uint16_t owner_len; /* 0: a tombstone, which withdraws the mark */
};

struct hf_record {
    uint64_t counter; /* 0: nothing has raised it since the record was made */
    struct hf_instant until; /* is_owned: end of the lease; else the name is
                                free since then */
    bool is_owned;           /* `owner` has the lease until then */
    bool has_last;    /* `owner` owned `counter` last and did not release it */
    uint8_t n_broken; /* of a name that a breaker keeps: breakers that others
                         broke, up to HF_RECORD_BROKEN_MAX */
    uint16_t owner_len;
    struct hf_processes life; /* of the owner; their end frees the name */
    bool is_shared;           /* the owner is a group: "shared:<permits>-<n>" */
    uint16_t permits;         /* of the group */
    uint32_t n_sharers;       /* entries of sharers; leftovers unless a group is
                                 the owner */
    uint32_t n_waiters;       /* entries of waiters, live or expired */
    uint64_t queue_id;        /* in the keys of the entries; 0: no queue yet */
    struct hf_instant entries_until; /* by then all entries have expired */
    struct hf_local_mark mark;
    char owner[HF_RECORD_OWNER_MAX];
    char mark_owner[HF_OWNER_MAX];
};

/* The clocks of this machine, read once for each transaction. */
struct hf_clock_sample {
    struct hf_instant instant; /* the clock of leases */
    uint64_t wall_us; /* unix time: for bounds of counters, and tickets */
    uint64_t floor;   /* least counter of a grant or raise */
};

/* The name has an owner now. */
bool hf_record_is_taken(const struct hf_record *record, struct hf_instant now);

/* It is a client's: not that of a name that was released and is only kept
 * taken. */
bool hf_record_has_holder(const struct hf_record *record,
                          struct hf_instant now);

/* The name has a live mark of --once, not a tombstone. */
bool hf_record_is_marked(const struct hf_record *record, struct hf_instant now);

/* The record has entries, and all have expired. */
bool hf_record_has_litter(const struct hf_record *record,
                          const struct hf_clock_sample *now);

/* The record may be removed: the name has no owner, no entries and no mark, it
 * has been free for @p keep, and the next grant is above its counter. */
bool hf_record_is_idle(const struct hf_record *record, struct hf_span keep,
                       const struct hf_clock_sample *now);

/* ---- As bytes ---------------------------------------------------------- */

/* Room for any record. */
#define HF_RECORD_BYTES_MAX 1120

/** @return bytes written. */
size_t hf_record_emit(const struct hf_record *record,
                      unsigned char out[HF_RECORD_BYTES_MAX]);

/** @return bytes read; 0: the bytes are no record, so the file is damaged. */
size_t hf_record_parse(const unsigned char *data, size_t len,
                       struct hf_record *out);

#endif
