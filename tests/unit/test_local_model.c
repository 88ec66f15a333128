/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store against its rules, written a second time in the simplest
 * way: an array, searched from end to end. Requests are random, only the test
 * moves the clock. Every reply, push and list must be the same. */
/* link: -Wl,--wrap=hf_clock_now */
#include "local_model.h"

#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define STEPS 60000 /* random requests: some hundred have the rarest result */
#define BREAKER PARTIES

/* ---- The clock --------------------------------------------------------- */

static int64_t now_ms = 1000000;
struct hf_instant __wrap_hf_clock_now(void);

struct hf_instant __wrap_hf_clock_now(void)
{
    return (struct hf_instant){now_ms * 1000000};
}

/* ---- The rules --------------------------------------------------------- */

static bool is_taken(const struct model *m)
{
    return m->is_owned && now_ms < m->until;
}

static bool is_group(const struct model *m)
{
    return m->is_group && is_taken(m);
}

static bool owns(const struct model *m, int i)
{
    return is_taken(m) && !m->is_group && !m->is_ended && m->holder == i;
}

static bool shares(const struct model *m, int i)
{
    return is_group(m) && m->of[i].shares && now_ms < m->of[i].until;
}

static bool admits(const struct model *m, bool is_shared, uint16_t permits)
{
    return !is_taken(m) || (is_shared && m->is_group && m->permits == permits);
}

static void scatter(struct model *m)
{
    for (int i = 0; i <= PARTIES; i++) {
        m->of[i].shares = false;
    }
}

static void clear(struct model *m)
{
    scatter(m);
    m->is_owned = m->is_group = m->has_last = m->is_ended = false;
    m->holder = -1;
    m->until = now_ms;
}

static void measure(struct model *m)
{
    int64_t until = 0;
    for (int i = 0; i < PARTIES; i++) {
        if (m->of[i].shares && m->of[i].until > until) {
            until = m->of[i].until;
        }
    }
    if (until <= now_ms) {
        clear(m);
    } else {
        m->until = until;
    }
}

static void leave(struct model *m, int i)
{
    m->of[i].shares = false;
    measure(m);
}

static void grant_to(struct model *m, int i, bool is_shared, uint16_t permits,
                     uint64_t v, int64_t until)
{
    if (!is_shared) {
        scatter(m);
        m->is_owned = m->has_last = true;
        m->is_group = m->is_ended = false;
        m->holder = i;
        m->until = until;
        m->c = v;
        return;
    }
    if (!is_group(m)) {
        scatter(m);
        m->is_owned = m->is_group = true;
        m->has_last = m->is_ended = false;
        m->holder = -1;
        m->permits = permits;
        m->until = until;
        m->founded_at = v;
    }
    m->of[i].shares = true;
    m->of[i].until = until;
    m->of[i].v = v;
    m->c = v > m->c ? v : m->c;
    m->until = until > m->until ? until : m->until;
}

/* The first live waiter, or -1. Drops the expired ones before it. */
static int head(struct model *m)
{
    int first = -1;
    for (int i = 0; i < PARTIES; i++) {
        struct party *p = &m->of[i];
        if (p->waits && (first < 0 || p->ticket < m->of[first].ticket)) {
            first = i;
        }
    }
    if (first >= 0 && m->of[first].place_until <= now_ms) {
        m->of[first].waits = false;
        return head(m);
    }
    return first;
}

/* The store's counter must exceed all earlier ones; the floor says how far. */
static uint64_t risen(struct model *m, uint64_t got, uint64_t hint)
{
    assert_true(got > m->c);
    assert_true(got >= hint);
    return got;
}

static void serve(struct model *m, const struct hf_ask *ask,
                  const struct driver *d)
{
    for (int i = head(m); i >= 0; i = head(m)) {
        struct party *p = &m->of[i];
        if (!admits(m, p->is_shared, p->permits)) {
            return;
        }
        p->waits = false;
        if (i == m->asker) {
            uint64_t hint = ask->verb == HF_VERB_ACQUIRE ? ask->counter : 0;
            assert_int_equal(m->answer->verdict, HF_VERDICT_OK);
            grant_to(m, i, p->is_shared, p->permits,
                     risen(m, m->answer->counter, hint), now_ms + ask->ttl_ms);
            m->is_served = true;
            continue;
        }
        assert_true(m->n_pushes < d->n_pushes);
        uint64_t v = risen(m, d->pushes[m->n_pushes].counter, 0);
        m->pushes[m->n_pushes++] = (struct driver_push){(uint64_t)i, v};
        grant_to(m, i, p->is_shared, p->permits, v, now_ms + p->queue_ms);
    }
}

/* ---- Comparing --------------------------------------------------------- */

static void describe(const struct model *m, char text[120])
{
    text[0] = '\0';
    if (is_group(m)) {
        snprintf(text, 120, "shared:%u-%llu", (unsigned)m->permits,
                 (unsigned long long)m->founded_at);
    } else if (is_taken(m)) {
        snprintf(text, 120, "%s%s", m->is_ended ? "ended:" : "",
                 m->of[m->holder].owner);
    }
}

static void told_of_holder(const struct model *m, const struct hf_answer *a)
{
    char text[120];
    describe(m, text);
    assert_string_equal(a->owner == NULL ? "" : (const char *)a->owner, text);
    assert_int_equal(a->left_ms, is_taken(m) ? m->until - now_ms : 0);
    assert_int_equal(a->permits, is_group(m) ? m->permits : 0);
}

/* Number of live waiters with an earlier place. */
static unsigned ahead_of(const struct model *m, int i)
{
    unsigned n = 0;
    for (int j = 0; j < PARTIES; j++) {
        const struct party *p = &m->of[j];
        bool is_before = p->ticket < m->of[i].ticket ||
                         (p->ticket == m->of[i].ticket && j < i);
        n += p->waits && p->place_until > now_ms && is_before ? 1 : 0;
    }
    return n;
}

/* The sharer with the least counter above @p after, or -1. */
static int next_sharer(const struct model *m, uint64_t after)
{
    int next = -1;
    for (int i = 0; i < PARTIES; i++) {
        if (shares(m, i) && m->of[i].v > after &&
            (next < 0 || m->of[i].v < m->of[next].v)) {
            next = i;
        }
    }
    return next;
}

static void check_queue(struct model *m, struct driver *d)
{
    char text[400] = "";
    size_t used = 0;
    uint64_t after = 0;
    for (int i = next_sharer(m, after); i >= 0; i = next_sharer(m, after)) {
        for (int j = i; j < PARTIES; j++) {
            if (shares(m, j) && m->of[j].v == m->of[i].v) {
                used +=
                    (size_t)snprintf(text + used, 24, "hs%u%c\n",
                                     (unsigned)m->permits, m->of[j].owner[0]);
            }
        }
        after = m->of[i].v;
    }
    if (is_taken(m) && !is_group(m)) {
        used += (size_t)snprintf(text + used, 24, "hx%c\n",
                                 m->is_ended ? 'e' : m->of[m->holder].owner[0]);
    }
    for (unsigned rank = 0; rank < PARTIES; rank++) {
        for (int i = 0; i < PARTIES; i++) {
            const struct party *p = &m->of[i];
            char terms[12] = "x";
            if (!p->waits || p->place_until <= now_ms ||
                ahead_of(m, i) != rank) {
                continue;
            }
            if (p->is_shared) {
                snprintf(terms, sizeof(terms), "s%u", (unsigned)p->permits);
            }
            used += (size_t)snprintf(text + used, 24, "w%s%c\n", terms,
                                     p->owner[0]);
        }
    }
    queue_entries(d, "job");
    assert_string_equal(d->seats, text);
}

/* ---- The verbs --------------------------------------------------------- */

static uint64_t last_auto;

static void prolong(struct model *m, int i, const struct hf_ask *ask)
{
    int64_t until = now_ms + ask->ttl_ms;
    if (shares(m, i) && m->of[i].until < until) {
        m->of[i].until = until;
    }
    if (m->until < until) {
        m->until = until;
    }
}

static void enqueue(struct model *m, int i, const struct hf_ask *ask)
{
    struct party *p = &m->of[i];
    int64_t until = now_ms + ask->queue_ms;
    p->waits = p->waits && p->place_until > now_ms;
    p->place_until = until;
    p->queue_ms = ask->queue_ms;
    p->is_shared = ask->is_shared;
    p->permits = ask->permits;
    if (!p->waits) {
        bool is_known = m->answer->verdict == HF_VERDICT_QUEUED;
        uint64_t mine = is_known ? m->answer->ticket : last_auto + 1;
        p->ticket = ask->ticket != 0 ? ask->ticket : mine;
        if (ask->ticket == 0) {
            assert_true(mine > last_auto);
            last_auto = mine;
        }
        p->waits = true;
    }
}

static void is_earlier(struct model *m, const struct hf_ask *ask,
                       const struct hf_answer *a, int i)
{
    int first = ask->ticket > 0 ? head(m) : -1;
    bool is_so =
        first >= 0 && (m->of[first].ticket < ask->ticket ||
                       (m->of[first].ticket == ask->ticket && first < i));
    assert_int_equal(a->ahead, is_so ? 1 : 0);
}

/* Grant the name to the asker, if it may overtake or no client waits. */
static bool take(struct model *m, const struct hf_ask *ask,
                 const struct driver *d)
{
    int i = m->asker;
    const struct hf_answer *a = m->answer;
    uint64_t hint = ask->verb == HF_VERB_ACQUIRE ? ask->counter : 0;
    if (!admits(m, ask->is_shared, ask->permits) ||
        (!ask->is_unfair && head(m) >= 0)) {
        return false;
    }
    m->of[i].waits = false;
    assert_int_equal(a->verdict, HF_VERDICT_OK);
    grant_to(m, i, ask->is_shared, ask->permits, risen(m, a->counter, hint),
             now_ms + ask->ttl_ms);
    serve(m, ask, d);
    is_earlier(m, ask, a, i);
    return true;
}

static void on_acquire(struct model *m, const struct hf_ask *ask,
                       const struct driver *d)
{
    int i = m->asker;
    const struct hf_answer *a = m->answer;
    bool yields = ask->verb == HF_VERB_YIELD;
    if (yields && owns(m, i) && m->c == ask->counter) {
        clear(m);
    } else if (yields && shares(m, i) && m->of[i].v == ask->counter) {
        leave(m, i);
    }
    if (owns(m, i) || shares(m, i)) {
        assert_int_equal(a->verdict, HF_VERDICT_OK);
        assert_int_equal(a->counter, owns(m, i) ? m->c : m->of[i].v);
        prolong(m, i, ask);
        is_earlier(m, ask, a, i);
        return;
    }
    if (take(m, ask, d)) {
        return;
    }
    if (ask->queue_ms > 0) {
        enqueue(m, i, ask);
    }
    serve(m, ask, d);
    if (m->is_served) {
        is_earlier(m, ask, a, i);
        return;
    }
    if (ask->queue_ms == 0 && take(m, ask, d)) {
        return;
    }
    assert_int_equal(a->verdict, ask->queue_ms > 0 ? HF_VERDICT_QUEUED
                                                   : HF_VERDICT_REFUSED);
    assert_int_equal(a->counter, m->c);
    told_of_holder(m, a);
    if (ask->queue_ms > 0) {
        assert_int_equal(a->ticket, m->of[i].ticket);
        assert_int_equal(a->ahead, ahead_of(m, i));
    }
}

/* The fence in a request is at most the greatest one granted, or far above. */
static void on_confirm(struct model *m, const struct hf_ask *ask)
{
    int i = m->asker;
    uint64_t fence = ask->counter;
    const struct hf_answer *a = m->answer;
    bool can_raise = fence > m->c;
    if (owns(m, i)) {
        m->c = can_raise ? fence : m->c;
        prolong(m, i, ask);
        assert_int_equal(a->verdict, HF_VERDICT_OK);
        assert_int_equal(a->counter, m->c);
        return;
    }
    if (shares(m, i)) {
        struct party *p = &m->of[i];
        assert_true(a->floor == 0 || (p->v < fence && fence < a->floor));
        p->v = fence > p->v && a->floor == 0 ? fence : p->v;
        m->c = p->v > m->c ? p->v : m->c;
        prolong(m, i, ask);
        assert_int_equal(a->verdict, HF_VERDICT_OK);
        assert_int_equal(a->counter, p->v);
        return;
    }
    bool is_last = !ask->is_shared && m->has_last && m->holder == i &&
                   m->c == fence && fence > 0;
    if (ask->reacquires && admits(m, ask->is_shared, ask->permits) &&
        (can_raise || is_last)) {
        m->of[i].waits = false;
        grant_to(m, i, ask->is_shared, ask->permits, fence,
                 now_ms + ask->ttl_ms);
        assert_int_equal(a->verdict, HF_VERDICT_OK);
        assert_int_equal(a->counter, fence);
        return;
    }
    assert_int_equal(a->verdict, HF_VERDICT_REFUSED);
    assert_int_equal(a->counter, m->c);
    told_of_holder(m, a);
}

static void on_release(struct model *m, const struct hf_ask *ask,
                       const struct driver *d)
{
    int i = m->asker;
    const struct hf_answer *a = m->answer;
    bool was_mine = owns(m, i) || shares(m, i);
    bool is_retry = is_taken(m) && m->is_ended && m->holder == i;
    m->of[i].waits = false;
    if (!was_mine && is_taken(m)) {
        told_of_holder(m, a);
    }
    if (owns(m, i) && ask->ttl_ms > 0) {
        m->is_ended = true;
        m->has_last = false;
        m->until = now_ms + ask->ttl_ms;
    } else if (owns(m, i) || (!is_taken(m) && m->has_last && m->holder == i)) {
        clear(m);
    } else if (is_group(m)) {
        leave(m, i);
    }
    if (!is_group(m) && (was_mine || !is_taken(m)) && m->c < ask->counter) {
        m->c = ask->counter;
        m->has_last = false;
    }
    assert_int_equal(a->verdict,
                     was_mine || is_retry ? HF_VERDICT_OK : HF_VERDICT_REFUSED);
    assert_int_equal(a->counter, m->c);
    serve(m, ask, d);
}

static void on_break(struct model *m, const struct hf_ask *ask,
                     const struct driver *d)
{
    bool is_mine = owns(m, BREAKER);
    assert_int_equal(m->answer->verdict, HF_VERDICT_OK);
    assert_true(m->answer->counter > m->c);
    told_of_holder(m, m->answer);
    if (ask->back_len > 0 && is_mine && !m->has_last) {
        m->holder = m->broken;
        m->has_last = true;
    } else if (ask->back_len > 0 || is_mine) {
        return;
    } else if (is_group(m) && !ask->frees_now) {
        grant_to(m, BREAKER, false, 0, m->answer->counter, m->until);
    } else if (is_taken(m) && !m->is_ended && !ask->frees_now) {
        m->broken = m->holder;
        m->holder = BREAKER;
        m->has_last = false;
    } else {
        clear(m);
        m->c = m->answer->counter;
        serve(m, ask, d);
    }
}

/* ---- Steps ------------------------------------------------------------- */

static unsigned seed;

static unsigned any(unsigned below)
{
    return (unsigned)rand_r(&seed) % below;
}

static uint64_t any_fence(const struct model *m)
{
    switch (any(6)) {
    case 0:
        return m->c;
    case 1:
        return m->c + 5000000 + any(100); /* above any floor */
    case 2:
        return m->of[any(PARTIES)].v;
    case 3:
        return m->c > 3 ? m->c - any(3) : 0;
    default:
        return 0;
    }
}

static struct hf_ask any_ask(struct model *m)
{
    static const enum hf_verb verbs[] = {
        HF_VERB_ACQUIRE, HF_VERB_ACQUIRE, HF_VERB_ACQUIRE, HF_VERB_ACQUIRE,
        HF_VERB_CONFIRM, HF_VERB_RELEASE, HF_VERB_RELEASE, HF_VERB_RELEASE,
        HF_VERB_YIELD,   HF_VERB_YIELD};
    bool breaks = any(200) == 0 || (owns(m, BREAKER) && any(4) == 0);
    enum hf_verb verb = breaks ? HF_VERB_BREAK : verbs[any(10)];
    m->asker = breaks ? BREAKER : (int)any(PARTIES);
    struct hf_ask ask = queue_ask("job", m->of[m->asker].owner, 0);
    bool can_wait = verb == HF_VERB_ACQUIRE || verb == HF_VERB_YIELD;
    ask.verb = verb;
    ask.cookie = (uint64_t)m->asker;
    ask.is_shared = any(2) == 0;
    ask.permits = ask.is_shared && any(6) == 0 ? 3 : 0;
    ask.is_unfair = verb == HF_VERB_ACQUIRE && any(12) == 0;
    ask.queue_ms = can_wait && (verb == HF_VERB_YIELD || any(4) > 0)
                       ? 1 + (int64_t)any(300)
                       : 0;
    ask.ticket = can_wait && any(3) == 0 ? 1 + any(30) : 0;
    ask.ttl_ms = 1 + (int64_t)any(400);
    ask.counter = any_fence(m);
    ask.reacquires = any(2) == 0;
    ask.frees_now = any(2) == 0;
    ask.back = breaks && any(2) == 0 ? m->of[m->broken].owner : "";
    ask.back_len = strlen(ask.back);
    if (verb == HF_VERB_RELEASE) {
        ask.ttl_ms = any(10) == 0 ? 1 + (int64_t)any(50) : 0;
    } else if (verb == HF_VERB_YIELD && any(2) == 0) {
        ask.counter = is_group(m) ? m->of[m->asker].v : m->c;
    }
    return ask;
}

static void step(struct model *m, struct driver *d)
{
    struct hf_ask ask = any_ask(m);
    driver_forget(d);
    m->answer = driver_ask(d, &ask);
    driver_turn(d);
    m->is_served = false;
    m->n_pushes = 0;
    if (ask.verb == HF_VERB_ACQUIRE || ask.verb == HF_VERB_YIELD) {
        on_acquire(m, &ask, d);
    } else if (ask.verb == HF_VERB_CONFIRM) {
        on_confirm(m, &ask);
    } else if (ask.verb == HF_VERB_RELEASE) {
        on_release(m, &ask, d);
    } else {
        on_break(m, &ask, d);
    }
    assert_int_equal(d->n_pushes, m->n_pushes);
    for (unsigned i = 0; i < m->n_pushes; i++) {
        assert_int_equal(d->pushes[i].cookie, m->pushes[i].cookie);
    }
    told_of_holder(m, inspect(d, "job"));
    assert_int_equal(d->answer.counter, m->c);
}

static void as_the_rules_say(void **state)
{
    char folder[64];
    struct driver d;
    struct model m;
    (void)state;
    seed = (unsigned)time(NULL);
    printf("# seed %u\n", seed);
    folder_make(folder);
    driver_start(&d, folder);
    memset(&m, 0, sizeof(m));
    m.holder = -1;
    for (int i = 0; i <= PARTIES; i++) {
        memset(m.of[i].owner, 'a' + i, 32);
        strcpy(m.of[i].owner + 32, ":host:1:1");
    }
    m.of[BREAKER].owner[0] = 'z';
    m.c = acquire(&d, "job", m.of[0].owner, 1, 0)->counter; /* at the floor */
    release(&d, "job", m.of[0].owner, 0, 0);
    unsigned n_pushes = 0, n_together = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        step(&m, &d);
        n_pushes += m.n_pushes;
        n_together += m.n_pushes > 1 ? 1 : 0;
        check_queue(&m, &d);
        now_ms += any(3) == 0 ? (int64_t)any(120) : 0;
    }
    printf("# %u pushes, %u times several\n", n_pushes, n_together);
    assert_true(n_pushes > STEPS / 50);
    assert_true(n_together > STEPS / 1000);
    driver_close(&d);
    folder_drop(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_rules_say)};
    return cmocka_run_group_tests_name("local_model", tests, NULL, NULL);
}
