/* SPDX-License-Identifier: Apache-2.0 */
/* What each verb does to a name. model/RULES.md has the rules and what goes
 * wrong without each; store/redis/acquire.lua, confirm.lua, release.lua,
 * break.lua and mark.lua are the same with a queue and sharers.
 *
 * The counter keeps I1 and I2 (skeleton.h) since it is only ever
 *   (a) kept while the owner is cleared;
 *   (b) raised while an owner is installed, or kept for its last owner;
 *   (c) raised while the owner stays;
 *   (d) raised while there is no owner. */
#include "skeleton.h"

#include "base/assert.h"

#include <string.h>

/* ---- State of a name ---------------------------------------------------- */

static void set_text(struct text *text, const void *bytes, size_t len)
{
    HF_ASSERT(len <= sizeof(text->bytes));
    text->len = len;
    if (len > 0) {
        memcpy(text->bytes, bytes, len);
    }
}

static void set_ended(struct text *text, const void *owner, size_t len)
{
    HF_ASSERT(len <= HF_OWNER_MAX);
    text->len = ENDED_MARK_LEN + len;
    memcpy(text->bytes, ENDED_MARK, ENDED_MARK_LEN);
    memcpy(text->bytes + ENDED_MARK_LEN, owner, len);
}

static bool is_text(const struct text *text, const void *bytes, size_t len)
{
    return text->len == len && len > 0 && memcmp(text->bytes, bytes, len) == 0;
}

bool skeleton_is_taken(const struct name *name, const struct moment *now)
{
    return name->is_owned && hf_instant_before(now->now, name->until);
}

bool skeleton_is_marked(const struct name *name, const struct moment *now)
{
    return name->mark.owner.len > 0 &&
           hf_instant_before(now->now, name->mark.until);
}

static int64_t left_ms(struct hf_instant until, const struct moment *now)
{
    return hf_span_ms_ceil(hf_instant_until(now->now, until));
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The greatest counter that a hint or a fence may have: one wrong client, or
 * one wrong clock, must not use up the name's fences. */
static uint64_t bound_of(const struct name *name, const struct moment *now)
{
    uint64_t base = most(name->counter, now->wall_us);
    return base > HF_FENCE_MAX - HF_FENCE_AHEAD_MAX ? HF_FENCE_MAX
                                                    : base + HF_FENCE_AHEAD_MAX;
}

/* ---- Replies ------------------------------------------------------------ */

struct visit {
    struct name *name;
    const struct moment *now;
    const struct hf_ask *ask;
    struct hf_answer *answer;
    struct text *text; /* of the answer's owner */
    bool is_taken;
    bool is_mine;
};

static void show_owner(struct visit *visit, int64_t left)
{
    struct hf_answer *answer = visit->answer;
    answer->owner = visit->text->len > 0 ? visit->text->bytes : NULL;
    answer->owner_len = visit->text->len;
    answer->left_ms = left;
    answer->holder_kind =
        visit->text->len > 0 ? HF_HOLDER_FOREIGN : HF_HOLDER_NONE;
}

/* Before anything is done: the name is the other owner's, or free. */
static void refuse(struct visit *visit)
{
    const struct name *name = visit->name;
    visit->answer->verdict = HF_VERDICT_REFUSED;
    visit->answer->counter = name->counter;
    visit->answer->ticket = visit->now->wall_us;
    visit->text->len = 0;
    if (visit->is_taken) {
        *visit->text = name->owner;
    }
    show_owner(visit, visit->is_taken ? left_ms(name->until, visit->now) : 0);
}

static void grant(struct visit *visit)
{
    visit->answer->verdict = HF_VERDICT_OK;
    visit->answer->counter = visit->name->counter;
}

static struct hf_instant asked_until(const struct visit *visit)
{
    return hf_instant_add(visit->now->now, hf_span_ms(visit->ask->ttl_ms));
}

/* No lease becomes shorter: an earlier request may be relied on. */
static void prolong(struct visit *visit)
{
    visit->name->until = hf_instant_max(visit->name->until, asked_until(visit));
}

static void install(struct visit *visit, uint64_t counter)
{
    struct name *name = visit->name;
    set_text(&name->owner, visit->ask->owner, visit->ask->owner_len);
    name->counter = counter;
    name->until = asked_until(visit);
    name->is_owned = true;
    name->has_last = true;
}

static void clear(struct visit *visit)
{
    visit->name->is_owned = false;
    visit->name->has_last = false;
    visit->name->owner.len = 0;
    visit->name->until = visit->now->now;
}

static void fail_bound(struct visit *visit)
{
    visit->answer->verdict = HF_VERDICT_ERROR;
    visit->answer->fault = HF_CONFIG;
    visit->answer->reason = "a fence beyond what this name can have (is the "
                            "clock of this machine wrong?)";
}

/* ---- ACQUIRE ------------------------------------------------------------ */

/* Free: move (b). Mine: a retry after a lost answer. */
static void acquire(struct visit *visit)
{
    const struct name *name = visit->name;
    uint64_t hint = visit->ask->counter;
    if (visit->is_mine) {
        prolong(visit);
        grant(visit);
        return;
    }
    if (visit->is_taken) {
        return;
    }
    hint = hint <= bound_of(name, visit->now) ? hint : 0;
    uint64_t next = most(most(name->counter + 1, hint), visit->now->floor);
    if (next > HF_FENCE_MAX) {
        fail_bound(visit);
        return;
    }
    install(visit, next);
    grant(visit);
}

/* ---- CONFIRM ------------------------------------------------------------ */

/* Mine: move (c) to the fence asked for, unless the floor or the bound forbid
 * it. The actual counter is answered. Free: a holder takes it back, move (b).
 */
static void confirm(struct visit *visit)
{
    struct name *name = visit->name;
    struct hf_answer *answer = visit->answer;
    uint64_t fence = visit->ask->counter;
    uint64_t bound = bound_of(name, visit->now);
    bool is_above = fence > name->counter;
    bool is_late = is_above && fence < visit->now->floor;
    bool can_raise = is_above && !is_late && fence <= bound;
    bool is_last =
        name->has_last && fence > 0 && fence == name->counter &&
        is_text(&name->owner, visit->ask->owner, visit->ask->owner_len);
    answer->floor = is_late && fence <= bound ? visit->now->floor : 0;
    if (visit->is_mine) {
        answer->bound = fence > bound ? bound : 0;
        name->counter = can_raise ? fence : name->counter;
        prolong(visit);
        grant(visit);
    } else if (!visit->is_taken && visit->ask->reacquires &&
               (is_last || can_raise)) {
        install(visit, fence);
        grant(visit);
    }
}

/* ---- RELEASE ------------------------------------------------------------ */

/* Keep the name taken, without an owner, for ttl_ms: --min-hold. */
static void mark_ended(struct visit *visit)
{
    struct name *name = visit->name;
    set_ended(&name->owner, visit->ask->owner, visit->ask->owner_len);
    name->has_last = false;
    name->until = asked_until(visit);
}

static bool has_ended(const struct visit *visit)
{
    struct text ended;
    set_ended(&ended, visit->ask->owner, visit->ask->owner_len);
    return visit->is_taken &&
           is_text(&visit->name->owner, ended.bytes, ended.len);
}

/* Mine: move (a). A free name is aligned, move (d). A fence out of bounds is
 * ignored: a release must not fail for it. */
static void release(struct visit *visit)
{
    struct name *name = visit->name;
    const struct hf_ask *ask = visit->ask;
    bool is_retry = has_ended(visit);
    if (visit->is_mine && ask->ttl_ms > 0) {
        mark_ended(visit);
    } else if (visit->is_mine ||
               (!visit->is_taken &&
                is_text(&name->owner, ask->owner, ask->owner_len))) {
        clear(visit); /* also what has run out: a late CONFIRM must not take
                         it back */
    }
    if ((visit->is_mine || !visit->is_taken) && ask->counter > name->counter &&
        ask->counter <= bound_of(name, visit->now)) {
        name->counter = ask->counter;
        name->has_last = false;
    }
    visit->answer->counter = name->counter;
    if (visit->is_mine) {
        grant(visit);
    } else if (is_retry) {
        visit->answer->verdict = HF_VERDICT_OK;
    }
}

/* ---- BREAK -------------------------------------------------------------- */

static bool has_holder(const struct visit *visit)
{
    const struct text *owner = &visit->name->owner;
    return visit->is_taken &&
           (owner->len <= ENDED_MARK_LEN ||
            memcmp(owner->bytes, ENDED_MARK, ENDED_MARK_LEN) != 0);
}

/* The breaker gets the name until the holder's lease ends, at the holder's
 * counter, so that it can be given back. With `frees_now`, or without a holder,
 * it becomes free: (a) and (d). */
static void break_name(struct visit *visit)
{
    struct name *name = visit->name;
    const struct hf_ask *ask = visit->ask;
    uint64_t next = most(name->counter + 1, visit->now->floor);
    if (next > HF_FENCE_MAX) {
        fail_bound(visit);
        return;
    }
    visit->answer->verdict = HF_VERDICT_OK;
    visit->answer->counter = next;
    if (ask->back_len > 0 && visit->is_mine && !name->has_last) {
        set_text(&name->owner, ask->back, ask->back_len);
        name->has_last = true;
    } else if (ask->back_len == 0 && has_holder(visit) && !visit->is_mine &&
               !ask->frees_now) {
        set_text(&name->owner, ask->owner, ask->owner_len);
        name->has_last = false;
    } else if (ask->back_len == 0 && !visit->is_mine) {
        clear(visit);
        name->counter = next;
    }
}

/* ---- INSPECT, MARK ------------------------------------------------------ */

/* A free name with a mark is shown as ended. */
static void inspect(struct visit *visit)
{
    const struct mark *mark = &visit->name->mark;
    visit->answer->verdict = HF_VERDICT_OK;
    if (!visit->is_taken && skeleton_is_marked(visit->name, visit->now)) {
        set_ended(visit->text, mark->owner.bytes, mark->owner.len);
        show_owner(visit, left_ms(mark->until, visit->now));
    }
}

/* The greater fence is kept; of one fence the tombstone is. The end of a mark
 * never moves. */
static void mark_once(struct visit *visit)
{
    struct mark *mark = &visit->name->mark;
    const struct hf_ask *ask = visit->ask;
    if (!hf_instant_before(visit->now->now, mark->until)) {
        mark->fence = 0;
        mark->owner.len = 0;
    }
    if (ask->counter > mark->fence ||
        (ask->counter == mark->fence && ask->owner_len == 0 &&
         mark->owner.len > 0)) {
        mark->fence = ask->counter;
        mark->until = asked_until(visit);
        set_text(&mark->owner, ask->owner, ask->owner_len);
    }
    *visit->text = mark->owner;
    show_owner(visit, mark->fence == 0 ? 0 : left_ms(mark->until, visit->now));
    visit->answer->verdict = HF_VERDICT_OK;
    visit->answer->counter = mark->fence;
}

/* ---- All ---------------------------------------------------------------- */

void skeleton_execute(struct name *name, const struct moment *now,
                      const struct hf_ask *ask, struct hf_answer *answer,
                      struct text *text)
{
    bool is_taken = skeleton_is_taken(name, now);
    bool is_mine =
        is_taken && is_text(&name->owner, ask->owner, ask->owner_len);
    struct visit visit = {name, now, ask, answer, text, is_taken, is_mine};
    refuse(&visit);
    switch (ask->verb) {
    case HF_VERB_ACQUIRE:
        acquire(&visit);
        return;
    case HF_VERB_CONFIRM:
        confirm(&visit);
        return;
    case HF_VERB_RELEASE:
        release(&visit);
        return;
    case HF_VERB_BREAK:
        break_name(&visit);
        return;
    case HF_VERB_INSPECT:
    case HF_VERB_QUEUE:
        inspect(&visit);
        return;
    case HF_VERB_MARK:
        mark_once(&visit);
        return;
    case HF_VERB_YIELD: /* without a queue it is not asked */
    case HF_VERB_GET:   /* without HF_CAP_VALUES neither is this */
    case HF_VERB_PUT:   /* nor this */
    case HF_VERB_SCAN:  /* of no one name: store.c */
        break;
    }
    HF_ASSERT(ask->verb == HF_VERB_ACQUIRE);
}
