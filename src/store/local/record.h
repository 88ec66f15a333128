/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded store keeps for one name, and what each verb does to it.
 * Pure: the clocks are arguments, and nothing here knows how a record is kept.
 *
 * Two invariants make fences sound (they are all that a proof needs):
 *   I1  the counter of a name never decreases;
 *   I2  a value of it is owned by at most one owner, ever.
 * Every verb says below which of the four moves that keep both it makes:
 *   (a) clear the owner;
 *   (b) install an owner while raising the counter, or the last owner again at
 *       the counter he owned;
 *   (c) raise the counter while the owner stays;
 *   (d) raise the counter while there is no owner. */
#ifndef HF_STORE_LOCAL_RECORD_H
#define HF_STORE_LOCAL_RECORD_H

#include "store/local/life.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An owner, and what is written before it when it has ended. */
#define HF_RECORD_OWNER_MAX (HF_OWNER_MAX + 6)

struct hf_record {
    uint64_t counter; /* 0: the name has never been owned */
    int64_t until_ns; /* CLOCK_BOOTTIME: owned until then; if it is not owned,
                         free since then */
    bool is_owned;    /* until until_ns */
    bool has_last;    /* `owner` owned `counter` last, and did not give back */
    uint16_t owner_len;
    struct hf_processes life; /* whose end frees the name; of the owner */
    char owner[HF_RECORD_OWNER_MAX];
};

/* The clocks of this machine, read inside the transaction. */
struct hf_moment {
    int64_t boot_ns;  /* CLOCK_BOOTTIME: what leases are counted on */
    uint64_t wall_us; /* unix time: what bounds a counter */
    uint64_t floor;   /* least counter of a grant or raise */
};

/* What a verb did. */
struct hf_deed {
    enum hf_verdict verdict; /* OK, REFUSED, or ERROR: nothing changed */
    bool is_changed;         /* the record is to be written */
    uint64_t counter;
    uint64_t floor;     /* CONFIRM: it was the floor that forbade it; or 0 */
    int64_t left_ms;    /* of whoever had the name before; 0: nobody */
    uint16_t owner_len; /* who that was; 0: nobody */
    char owner[HF_RECORD_OWNER_MAX];
};

/* Somebody owns the name now. */
bool hf_record_is_taken(const struct hf_record *record, int64_t boot_ns);

/* Do what @p ask says. @p life goes with ask->life: the same processes, with
 * what tells them from later ones; unused if that is NULL. @p is_dead: the
 * owner's processes were seen to have ended. */
void hf_record_acquire(struct hf_record *record, const struct hf_ask *ask,
                       const struct hf_processes *life, bool is_dead,
                       const struct hf_moment *now, struct hf_deed *out);
void hf_record_confirm(struct hf_record *record, const struct hf_ask *ask,
                       const struct hf_processes *life,
                       const struct hf_moment *now, struct hf_deed *out);
void hf_record_release(struct hf_record *record, const struct hf_ask *ask,
                       const struct hf_moment *now, struct hf_deed *out);
void hf_record_break(struct hf_record *record, const struct hf_ask *ask,
                     const struct hf_moment *now, struct hf_deed *out);
void hf_record_inspect(const struct hf_record *record,
                       const struct hf_moment *now, struct hf_deed *out);

/* Nothing is lost with this record any more: nobody owns it, it has been free
 * for @p keep_ns, and whatever is granted next is above its counter. */
bool hf_record_is_idle(const struct hf_record *record, int64_t keep_ns,
                       const struct hf_moment *now);

/* ---- As bytes ---------------------------------------------------------- */

/* Room for any record. */
#define HF_RECORD_BYTES_MAX 640

/* @return bytes written. */
size_t hf_record_emit(const struct hf_record *record,
                      unsigned char out[HF_RECORD_BYTES_MAX]);

/* @return bytes read; 0: no record, the file is damaged. */
size_t hf_record_parse(const unsigned char *data, size_t len,
                       struct hf_record *out);

#endif
