/* SPDX-License-Identifier: Apache-2.0 */
/* Records as bytes: a fixed head, struct crowd if the name has entries, the
 * processes, the owner, the mark. In host byte order: contents are void after a
 * boot, so another machine never reads them. Instants and spans become plain
 * numbers here and in entry.c only. */
#include "store/local/record.h"

#include "base/assert.h"
#include "store/local/sum.h"

#include <stddef.h>
#include <string.h>

/* Bits of head.flags. */
#define FLAG_OWNED 1U
#define FLAG_LAST 2U
#define FLAG_SHARED 4U
#define FLAG_CROWD 8U  /* struct crowd follows the head */
#define FLAG_MARK 16U  /* struct mark_head and its owner come last */
#define BROKEN_SHIFT 5 /* the upper bits are n_broken */

struct record_head {
    uint64_t counter;
    int64_t until_ns;
    uint64_t pid_space;
    uint16_t owner_len;
    uint8_t flags;
    uint8_t life_count;
    uint32_t check; /* hf_sum() of the whole record */
};

#define KIND 0x68667233U /* "hfr3" */
#define CHECK_AT offsetof(struct record_head, check)

struct crowd {
    uint64_t queue_id;
    int64_t entries_until_ns;
    uint32_t n_sharers;
    uint32_t n_waiters;
    uint32_t permits;
    uint32_t unused;
};

struct mark_head {
    uint64_t fence;
    int64_t until_ns;
    uint16_t owner_len;
    uint16_t unused[3];
};

_Static_assert(sizeof(struct record_head) + sizeof(struct crowd) +
                       sizeof(((struct hf_processes *)0)->of) +
                       HF_RECORD_OWNER_MAX + sizeof(struct mark_head) +
                       HF_OWNER_MAX <=
                   HF_RECORD_BYTES_MAX,
               "any record fits");

bool hf_record_is_taken(const struct hf_record *record, struct hf_instant now)
{
    return record->is_owned && hf_instant_before(now, record->until);
}

bool hf_record_has_holder(const struct hf_record *record, struct hf_instant now)
{
    return hf_record_is_taken(record, now) &&
           (record->owner_len <= HF_ENDED_MARK_LEN ||
            memcmp(record->owner, HF_ENDED_MARK, HF_ENDED_MARK_LEN) != 0);
}

bool hf_record_is_marked(const struct hf_record *record, struct hf_instant now)
{
    return record->mark.owner_len > 0 &&
           hf_instant_before(now, record->mark.until);
}

bool hf_record_has_litter(const struct hf_record *record,
                          const struct hf_clock_sample *now)
{
    return record->n_sharers + record->n_waiters > 0 &&
           !hf_instant_before(now->instant, record->entries_until);
}

bool hf_record_is_idle(const struct hf_record *record, struct hf_span keep,
                       const struct hf_clock_sample *now)
{
    return !hf_record_is_taken(record, now->instant) &&
           record->n_sharers + record->n_waiters == 0 &&
           !hf_instant_before(now->instant, record->mark.until) &&
           hf_instant_until(record->until, now->instant).ns >= keep.ns &&
           record->counter < now->floor;
}

/* ---- As bytes ---------------------------------------------------------- */

static size_t emit_crowd(const struct hf_record *record, unsigned char *out)
{
    struct crowd crowd = {
        .queue_id = record->queue_id,
        .entries_until_ns = record->entries_until.ns,
        .n_sharers = record->n_sharers,
        .n_waiters = record->n_waiters,
        .permits = record->permits,
    };
    memcpy(out, &crowd, sizeof(crowd));
    return sizeof(crowd);
}

static void parse_crowd(const unsigned char *data, struct hf_record *out)
{
    struct crowd crowd;
    memcpy(&crowd, data, sizeof(crowd));
    out->queue_id = crowd.queue_id;
    out->entries_until = (struct hf_instant){crowd.entries_until_ns};
    out->n_sharers = crowd.n_sharers;
    out->n_waiters = crowd.n_waiters;
    out->permits = (uint16_t)crowd.permits;
}

/* A name without entries needs no struct crowd. */
static bool has_crowd(const struct hf_record *record)
{
    return record->n_sharers > 0 || record->n_waiters > 0;
}

static size_t emit_mark(const struct hf_record *record, unsigned char *out)
{
    const struct hf_local_mark *mark = &record->mark;
    if (mark->fence == 0) {
        return 0;
    }
    HF_ASSERT(mark->owner_len <= HF_OWNER_MAX);
    struct mark_head head = {
        .fence = mark->fence,
        .until_ns = mark->until.ns,
        .owner_len = mark->owner_len,
    };
    memcpy(out, &head, sizeof(head));
    memcpy(out + sizeof(head), record->mark_owner, head.owner_len);
    return sizeof(head) + head.owner_len;
}

/** @return bytes read; 0: the file is damaged. */
static size_t parse_mark(const unsigned char *data, size_t len,
                         struct hf_record *out)
{
    struct mark_head head;
    if (len < sizeof(head)) {
        return 0;
    }
    memcpy(&head, data, sizeof(head));
    if (head.owner_len > HF_OWNER_MAX || head.fence == 0 ||
        head.fence > HF_FENCE_MAX || head.until_ns < 0 ||
        len < sizeof(head) + head.owner_len) {
        return 0;
    }
    out->mark = (struct hf_local_mark){
        .fence = head.fence,
        .until = {head.until_ns},
        .owner_len = head.owner_len,
    };
    memcpy(out->mark_owner, data + sizeof(head), head.owner_len);
    return sizeof(head) + head.owner_len;
}

static uint8_t flags_of(const struct hf_record *record)
{
    return (uint8_t)((record->is_owned ? FLAG_OWNED : 0) |
                     (record->has_last ? FLAG_LAST : 0) |
                     (record->is_shared ? FLAG_SHARED : 0) |
                     (has_crowd(record) ? FLAG_CROWD : 0) |
                     (record->mark.fence != 0 ? FLAG_MARK : 0) |
                     (unsigned)record->n_broken << BROKEN_SHIFT);
}

size_t hf_record_emit(const struct hf_record *record,
                      unsigned char out[HF_RECORD_BYTES_MAX])
{
    struct record_head head = {
        .counter = record->counter,
        .until_ns = record->until.ns,
        .pid_space = record->life.pid_space,
        .owner_len = record->owner_len,
        .flags = flags_of(record),
        .life_count = (uint8_t)record->life.count,
    };
    size_t life_len = record->life.count * sizeof(record->life.of[0]);
    size_t used = sizeof(head);
    HF_ASSERT(record->life.count <= HF_LIFE_PROCESSES_MAX);
    HF_ASSERT(record->n_broken <= HF_RECORD_BROKEN_MAX);
    HF_ASSERT(record->owner_len <= HF_RECORD_OWNER_MAX);
    memcpy(out, &head, sizeof(head));
    if (has_crowd(record)) {
        used += emit_crowd(record, out + used);
    }
    memcpy(out + used, record->life.of, life_len);
    used += life_len;
    memcpy(out + used, record->owner, record->owner_len);
    used += record->owner_len;
    used += emit_mark(record, out + used);
    head.check = hf_sum(KIND, out, used, CHECK_AT);
    memcpy(out + CHECK_AT, &head.check, sizeof(head.check));
    return used;
}

size_t hf_record_parse(const unsigned char *data, size_t len,
                       struct hf_record *out)
{
    struct record_head head;
    if (len < sizeof(head)) {
        return 0;
    }
    memcpy(&head, data, sizeof(head));
    size_t life_len = head.life_count * sizeof(out->life.of[0]);
    size_t life_at =
        sizeof(head) +
        ((head.flags & FLAG_CROWD) != 0 ? sizeof(struct crowd) : 0);
    size_t used = life_at + life_len + head.owner_len;
    if (head.counter > HF_FENCE_MAX || head.until_ns < 0 ||
        head.life_count > HF_LIFE_PROCESSES_MAX ||
        head.owner_len > HF_RECORD_OWNER_MAX || len < used) {
        return 0;
    }
    memset(out, 0, offsetof(struct hf_record, owner));
    out->counter = head.counter;
    out->until = (struct hf_instant){head.until_ns};
    out->is_owned = (head.flags & FLAG_OWNED) != 0;
    out->has_last = (head.flags & FLAG_LAST) != 0;
    out->n_broken = head.flags >> BROKEN_SHIFT;
    out->is_shared = (head.flags & FLAG_SHARED) != 0;
    out->owner_len = head.owner_len;
    out->life.count = head.life_count;
    out->life.pid_space = head.pid_space;
    if (life_at > sizeof(head)) {
        parse_crowd(data + sizeof(head), out);
    }
    memcpy(out->life.of, data + life_at, life_len);
    memcpy(out->owner, data + life_at + life_len, head.owner_len);
    if ((head.flags & FLAG_MARK) != 0) {
        size_t mark_len = parse_mark(data + used, len - used, out);
        used = mark_len == 0 ? len + 1 : used + mark_len;
    }
    bool is_whole =
        used <= len && head.check == hf_sum(KIND, data, used, CHECK_AT);
    return is_whole ? used : 0;
}
