/* SPDX-License-Identifier: Apache-2.0 */
/* What each verb does to a record. The rules are those of the Redis scripts,
 * word for word; there is one node, and its clock is ours. */
#include "base/assert.h"
#include "base/time.h"
#include "store/local/record.h"

#include <string.h>

/* How far a hint or a fence may be ahead of what the name has, or of the clock
 * in microseconds: 71 minutes. Without a bound one wrong client could use up
 * the fences of a name. */
#define AHEAD_MAX (UINT64_C(1) << 32)

static const char ended_mark[] = "ended:";
#define ENDED_LEN (sizeof(ended_mark) - 1)

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool hf_record_is_taken(const struct hf_record *record, int64_t boot_ns)
{
    return record->is_owned && boot_ns < record->until_ns;
}

static bool is_owner(const struct hf_record *record, const struct hf_ask *ask)
{
    return record->owner_len == ask->owner_len &&
           memcmp(record->owner, ask->owner, ask->owner_len) == 0;
}

/* The owner gave back already, keeping the name taken. */
static bool is_ended_owner(const struct hf_record *record,
                           const struct hf_ask *ask)
{
    return record->owner_len == ENDED_LEN + ask->owner_len &&
           memcmp(record->owner, ended_mark, ENDED_LEN) == 0 &&
           memcmp(record->owner + ENDED_LEN, ask->owner, ask->owner_len) == 0;
}

static int64_t after_ms(const struct hf_moment *now, int64_t ms)
{
    struct hf_instant at = {now->boot_ns};
    return hf_instant_add(at, hf_span_ms(ms)).ns;
}

static bool is_out_of_bounds(const struct hf_record *record, uint64_t counter,
                             const struct hf_moment *now)
{
    return counter > max_u64(record->counter, now->wall_us) + AHEAD_MAX ||
           counter > HF_FENCE_MAX;
}

/* The answer so far: what the record says before anything is done to it. */
static void begin(const struct hf_record *record, const struct hf_moment *now,
                  struct hf_deed *out)
{
    out->verdict = HF_VERDICT_REFUSED;
    out->is_changed = false;
    out->counter = record->counter;
    out->floor = 0;
    out->left_ms = 0;
    out->owner_len = 0;
    if (hf_record_is_taken(record, now->boot_ns)) {
        struct hf_span left = {record->until_ns - now->boot_ns};
        /* Up, so that nobody polls a millisecond early. */
        out->left_ms = hf_span_ms_ceil(left);
        out->owner_len = record->owner_len;
        memcpy(out->owner, record->owner, record->owner_len);
    }
}

static void succeed(const struct hf_record *record, struct hf_deed *out)
{
    out->verdict = HF_VERDICT_OK;
    out->is_changed = true;
    out->counter = record->counter;
}

static void set_life(struct hf_record *record, const struct hf_ask *ask,
                     const struct hf_processes *life)
{
    if (ask->life != NULL) {
        record->life = *life;
    }
}

/* No message may ever shorten a lease: an older, shorter request may arrive
 * after a longer one whose answer is relied on. */
static void prolong(struct hf_record *record, int64_t ttl_ms,
                    const struct hf_moment *now)
{
    int64_t until_ns = after_ms(now, ttl_ms);
    if (until_ns > record->until_ns) {
        record->until_ns = until_ns;
    }
}

/* Move (b). */
static void install(struct hf_record *record, const struct hf_ask *ask,
                    uint64_t counter, const struct hf_moment *now)
{
    HF_ASSERT(ask->owner_len > 0 && ask->owner_len <= HF_OWNER_MAX);
    record->counter = counter;
    record->until_ns = after_ms(now, ask->ttl_ms);
    record->is_owned = true;
    record->has_last = true;
    record->life.count = 0;
    record->owner_len = (uint16_t)ask->owner_len;
    memcpy(record->owner, ask->owner, ask->owner_len);
}

/* ACQUIRE. Free: move (b) with c = max(c + 1, hint, floor). Mine already, a
 * retry after a lost reply: nothing but the expiry moves. */
void hf_record_acquire(struct hf_record *record, const struct hf_ask *ask,
                       const struct hf_processes *life, bool is_dead,
                       const struct hf_moment *now, struct hf_deed *out)
{
    begin(record, now, out);
    bool is_taken = hf_record_is_taken(record, now->boot_ns);
    if (is_taken && is_owner(record, ask)) {
        prolong(record, ask->ttl_ms, now);
        set_life(record, ask, life);
        succeed(record, out);
        return;
    }
    if (is_taken && !is_dead) {
        return;
    }
    uint64_t next =
        max_u64(max_u64(record->counter + 1, ask->counter), now->floor);
    if (is_out_of_bounds(record, ask->counter, now) || next > HF_FENCE_MAX) {
        out->verdict = HF_VERDICT_ERROR;
        return;
    }
    install(record, ask, next, now);
    set_life(record, ask, life);
    succeed(record, out);
}

/* CONFIRM. Mine: move (c) to T if c < T and T is not below the floor; else the
 * counter stays, and its actual value is the answer. Free, and the asker is a
 * holder: move (b), to T above c, or at c for the last owner. */
void hf_record_confirm(struct hf_record *record, const struct hf_ask *ask,
                       const struct hf_processes *life,
                       const struct hf_moment *now, struct hf_deed *out)
{
    begin(record, now, out);
    uint64_t fence = ask->counter;
    bool is_above = record->counter < fence;
    bool can_raise = is_above && fence >= now->floor;
    if (is_out_of_bounds(record, fence, now)) {
        out->verdict = HF_VERDICT_ERROR;
        return;
    }
    if (hf_record_is_taken(record, now->boot_ns)) {
        if (!is_owner(record, ask)) {
            return;
        }
        record->counter = can_raise ? fence : record->counter;
        prolong(record, ask->ttl_ms, now);
        set_life(record, ask, life);
        succeed(record, out);
        out->floor = is_above && !can_raise ? now->floor : 0;
        return;
    }
    bool is_last = record->has_last && record->counter == fence && fence > 0 &&
                   is_owner(record, ask);
    if (!ask->holder || !(is_last || can_raise)) {
        out->floor = is_above && !can_raise ? now->floor : 0;
        return;
    }
    struct hf_processes kept = record->life;
    install(record, ask, fence, now);
    if (is_last) {
        record->life = kept; /* unless the ask brings another */
    }
    set_life(record, ask, life);
    succeed(record, out);
}

/* Move (a): and forget `last`, or a CONFIRM that comes late would bring the
 * lock back. */
static void clear(struct hf_record *record, const struct hf_moment *now)
{
    record->is_owned = false;
    record->has_last = false;
    record->owner_len = 0;
    record->life.count = 0;
    record->until_ns = now->boot_ns;
}

/* Keep the name taken, by nobody: move (a) but for the look of it. */
static void mark_ended(struct hf_record *record, const struct hf_ask *ask,
                       const struct hf_moment *now)
{
    memcpy(record->owner, ended_mark, ENDED_LEN);
    memcpy(record->owner + ENDED_LEN, ask->owner, ask->owner_len);
    record->owner_len = (uint16_t)(ENDED_LEN + ask->owner_len);
    record->is_owned = true;
    record->has_last = false;
    record->life.count = 0; /* it is to outlive the process */
    record->until_ns = after_ms(now, ask->ttl_ms);
}

/* RELEASE. Mine: move (a), and (d) to T. Free: move (d) to T, so that a hint
 * is not forgotten. A T out of bounds is ignored rather than refused: whoever
 * gives back must not be kept from it. */
void hf_record_release(struct hf_record *record, const struct hf_ask *ask,
                       const struct hf_moment *now, struct hf_deed *out)
{
    begin(record, now, out);
    bool is_taken = hf_record_is_taken(record, now->boot_ns);
    bool is_mine = is_taken && is_owner(record, ask);
    if (is_taken && !is_mine) {
        if (is_ended_owner(record, ask)) {
            out->verdict = HF_VERDICT_OK; /* a retry */
        }
        return;
    }
    if (record->counter < ask->counter &&
        !is_out_of_bounds(record, ask->counter, now)) {
        record->counter = ask->counter;
        record->has_last = false;
        out->is_changed = true;
    }
    if (!is_mine && record->has_last && is_owner(record, ask)) {
        clear(record, now);
        out->is_changed = true;
    }
    if (is_mine) {
        if (ask->ttl_ms > 0) {
            mark_ended(record, ask, now);
        } else {
            clear(record, now);
        }
        succeed(record, out);
    }
    out->counter = record->counter;
}

/* BREAK. Move (b) for the breaker, who has the name for as long as it was
 * taken; with `now`, or if it was free, (a) and (d). The counter moves on in
 * any case, so that guarded stores refuse the old holder. */
void hf_record_break(struct hf_record *record, const struct hf_ask *ask,
                     const struct hf_moment *now, struct hf_deed *out)
{
    begin(record, now, out);
    bool is_taken = hf_record_is_taken(record, now->boot_ns);
    int64_t until_ns = record->until_ns;
    uint64_t next = max_u64(record->counter + 1, now->floor);
    if (is_taken && is_owner(record, ask)) {
        out->verdict = HF_VERDICT_OK; /* a retry */
        return;
    }
    if (next > HF_FENCE_MAX) {
        out->verdict = HF_VERDICT_ERROR;
        return;
    }
    if (is_taken && !ask->now) {
        install(record, ask, next, now);
        record->until_ns = until_ns;
    } else {
        clear(record, now);
        record->counter = next;
    }
    succeed(record, out);
}

void hf_record_inspect(const struct hf_record *record,
                       const struct hf_moment *now, struct hf_deed *out)
{
    begin(record, now, out);
    out->verdict = HF_VERDICT_OK;
}

bool hf_record_is_idle(const struct hf_record *record, int64_t keep_ns,
                       const struct hf_moment *now)
{
    return !hf_record_is_taken(record, now->boot_ns) &&
           now->boot_ns - record->until_ns >= keep_ns &&
           record->counter < now->floor;
}
