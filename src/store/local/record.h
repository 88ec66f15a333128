/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded store keeps for one name: the owner, the counter, and the
 * numbers of sharers and waiters. Sharers and waiters are entries of their own
 * (entry.h). */
#ifndef HF_STORE_LOCAL_RECORD_H
#define HF_STORE_LOCAL_RECORD_H

#include "store/local/life.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An owner, and what is written before it when it has ended. */
#define HF_ENDED_MARK "ended:"
#define HF_ENDED_MARK_LEN (sizeof(HF_ENDED_MARK) - 1)
#define HF_RECORD_OWNER_MAX (HF_OWNER_MAX + HF_ENDED_MARK_LEN)

/* Of the last command that --once started under this name. */
struct hf_local_mark {
    uint64_t fence; /* of its run; 0: there is no mark */
    int64_t until_ns;
    uint16_t owner_len; /* 0: withdrawn, a tombstone */
    uint16_t unused[3];
};

struct hf_record {
    uint64_t counter; /* 0: the name has never been owned */
    int64_t until_ns; /* CLOCK_BOOTTIME: owned until then; if it is not owned,
                         free since then */
    bool is_owned;    /* until until_ns */
    bool has_last;    /* `owner` owned `counter` last, and did not give back */
    uint16_t owner_len;
    struct hf_processes life; /* of the owner; their end frees the name */
    bool is_shared;           /* the owner is a group: "shared:<permits>-<n>" */
    uint16_t permits;         /* its terms */
    uint32_t n_sharers;       /* entries of sharers; void unless a group is the
                                 owner */
    uint32_t n_waiters;       /* entries of waiters, live or not */
    uint64_t queue_id; /* what the entries' keys begin with; 0: no entries */
    int64_t entries_until_ns; /* no entry lives longer */
    struct hf_local_mark mark;
    char owner[HF_RECORD_OWNER_MAX];
    char mark_owner[HF_OWNER_MAX];
};

/* The clocks of this machine, read inside the transaction. */
struct hf_moment {
    int64_t boot_ns;  /* CLOCK_BOOTTIME: what leases are counted on */
    uint64_t wall_us; /* unix time: bounds a counter; a ticket */
    uint64_t floor;   /* least counter of a grant or raise */
};

/* The name has an owner now. */
bool hf_record_is_taken(const struct hf_record *record, int64_t boot_ns);

/* A command was started less than its period ago. */
bool hf_record_is_marked(const struct hf_record *record, int64_t boot_ns);

/* Entries that are of no use any more. */
bool hf_record_has_litter(const struct hf_record *record,
                          const struct hf_moment *now);

/* Nothing is lost with this record any more: it has no owner and no waiter, it
 * has been free for @p keep_ns, and whatever is granted next is above its
 * counter. */
bool hf_record_is_idle(const struct hf_record *record, int64_t keep_ns,
                       const struct hf_moment *now);

/* ---- As bytes ---------------------------------------------------------- */

/* Room for any record. */
#define HF_RECORD_BYTES_MAX 1120

/* @return bytes written. */
size_t hf_record_emit(const struct hf_record *record,
                      unsigned char out[HF_RECORD_BYTES_MAX]);

/* @return bytes read; 0: no record, the file is damaged. */
size_t hf_record_parse(const unsigned char *data, size_t len,
                       struct hf_record *out);

#endif
