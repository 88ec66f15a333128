/* SPDX-License-Identifier: Apache-2.0 */
#include "core_oracle.h"

#include "core/limits.h"
#include "core/validity.h"

#define TIMERS_MAX 50

void oracle_init(struct oracle *oracle, struct hf_lease *lease,
                 const struct hf_nodes *nodes)
{
    memset(oracle, 0, sizeof(*oracle));
    oracle->lease = lease;
    oracle->nodes = nodes;
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        oracle->heard[i].until = HF_LONG_AGO;
        oracle->heard[i].claim = HF_LONG_AGO;
        oracle->heard[i].kept = HF_LONG_AGO;
    }
}

/* ---- Replies and pushes ------------------------------------------------ */

static bool is_ask(enum hf_verb verb)
{
    return verb == HF_VERB_ACQUIRE || verb == HF_VERB_YIELD;
}

static struct hf_span place_of(const struct oracle *oracle)
{
    return hf_queue_lease(hf_lease_ttl(oracle->lease), oracle->place_stays);
}

static void hear_answer(struct oracle *oracle, const struct hf_event *event)
{
    struct heard *heard = &oracle->heard[event->node];
    const struct hf_send *send = &heard->sends[event->verb];
    FUZZ_CHECK(heard->is_pending[event->verb]);
    heard->is_pending[event->verb] = false;
    if (event->verb == HF_VERB_RELEASE) {
        if (event->verdict == HF_VERDICT_OK ||
            event->verdict == HF_VERDICT_REFUSED) {
            heard->kept = HF_LONG_AGO;
        }
        return;
    }
    if (event->verdict == HF_VERDICT_OK && event->counter > heard->refused) {
        struct hf_instant until =
            hf_instant_add(heard->sent[event->verb], hf_validity(send->ttl));
        bool is_news = event->counter > heard->counter;
        heard->counter = is_news ? event->counter : heard->counter;
        heard->until = hf_instant_max(heard->until, until);
    }
    if (event->verdict == HF_VERDICT_OK) {
        heard->kept = hf_instant_max(
            heard->kept, hf_instant_add(heard->sent[event->verb], send->ttl));
    }
    if (event->verdict == HF_VERDICT_REFUSED &&
        event->verb == HF_VERB_ACQUIRE) {
        heard->kept = HF_LONG_AGO; /* until a later request is granted */
    }
    if (event->verdict == HF_VERDICT_REFUSED ||
        event->verdict == HF_VERDICT_QUEUED) {
        bool is_newer = event->verdict == HF_VERDICT_QUEUED &&
                        heard->counter > event->counter;
        struct hf_span queue = place_of(oracle);
        /* A grant above this counter was made after this request was executed,
         * whatever its verb. */
        heard->claim = hf_instant_max(
            heard->claim,
            hf_instant_add(heard->sent[event->verb], hf_validity(queue)));
        if (heard->refused < event->counter) {
            heard->refused = event->counter;
        }
        heard->until =
            is_newer ? hf_instant_max(heard->until, heard->claim) : HF_LONG_AGO;
    }
}

void oracle_event(struct oracle *oracle, const struct hf_event *event)
{
    struct heard *heard = &oracle->heard[event->node];
    oracle->phase = hf_lease_phase(oracle->lease);
    oracle->deadline = oracle->phase == HF_PHASE_HOLDING
                           ? hf_lease_deadline(oracle->lease)
                           : HF_LONG_AGO;
    oracle->fence = hf_lease_fence(oracle->lease);
    switch (event->kind) {
    case HF_EV_ACQUIRE:
        oracle->queues = event->queues;
        oracle->place_stays = event->place_stays;
        break;
    case HF_EV_ADOPT:
        oracle->is_adopted = true;
        break;
    case HF_EV_RELEASE_FOREIGN:
        oracle->owes_release = true;
        break;
    case HF_EV_ANSWER:
        hear_answer(oracle, event);
        break;
    case HF_EV_GRANT: /* after a release, grants are ignored */
        if (event->counter > heard->refused &&
            (oracle->phase == HF_PHASE_ASKING ||
             oracle->phase == HF_PHASE_WAITING ||
             oracle->phase == HF_PHASE_HOLDING)) {
            if (event->counter > heard->counter) {
                heard->counter = event->counter;
            }
            heard->until = hf_instant_max(heard->until, heard->claim);
        }
        break;
    case HF_EV_NODE_RESET:
        heard->counter = heard->refused = 0;
        heard->until = HF_LONG_AGO;
        heard->kept = HF_LONG_AGO;
        break;
    case HF_EV_EXTEND:
        oracle->is_extending = true;
        oracle->is_shrunk |=
            event->ttl.ns > 0 && event->ttl.ns < hf_lease_ttl(oracle->lease).ns;
        break;
    case HF_EV_RELEASE:
        oracle->owes_release |= oracle->phase == HF_PHASE_HOLDING;
        break;
    case HF_EV_DETACH:
        oracle->is_forsaken = true;
        break;
    case HF_EV_DOUBT:
    case HF_EV_LISTEN:
    case HF_EV_TIMER:
    case HF_EV_NODE:
        break;
    }
}

/* ---- Requests and outcomes --------------------------------------------- */

static void check_send(struct oracle *oracle, const struct hf_send *send,
                       struct hf_instant now)
{
    FUZZ_CHECK(send->node < oracle->nodes->count);
    FUZZ_CHECK(send->verb <= HF_VERB_YIELD);
    struct heard *heard = &oracle->heard[send->node];
    enum hf_phase phase = hf_lease_phase(oracle->lease);
    uint16_t bit = (uint16_t)(1U << send->node);
    FUZZ_CHECK(!heard->is_pending[send->verb]);
    FUZZ_CHECK(send->counter <= HF_FENCE_MAX);
    FUZZ_CHECK(oracle->phase != HF_PHASE_RELEASING ||
               send->verb == HF_VERB_RELEASE);
    FUZZ_CHECK(send->verb != HF_VERB_RELEASE || phase >= HF_PHASE_RELEASING);
    FUZZ_CHECK(send->verb != HF_VERB_CONFIRM || send->counter > 0);
    FUZZ_CHECK(send->verb != HF_VERB_YIELD || phase == HF_PHASE_WAITING);
    FUZZ_CHECK(!send->reacquires || phase == HF_PHASE_HOLDING);
    FUZZ_CHECK(!is_ask(send->verb) || (oracle->nodes->voting & bit) != 0);
    FUZZ_CHECK((oracle->nodes->down & bit) == 0);
    if (send->verb != HF_VERB_RELEASE) {
        FUZZ_CHECK(send->ttl.ns >= hf_span_ms(HF_TTL_MS_MIN).ns);
    }
    if (is_ask(send->verb)) { /* a pushed grant lasts Q, not the ttl */
        struct hf_span queue = place_of(oracle);
        heard->claim = hf_instant_max(heard->claim,
                                      hf_instant_add(now, hf_validity(queue)));
    }
    if (send->verb == HF_VERB_YIELD) {
        FUZZ_CHECK(send->counter > 0);
        heard->refused =
            heard->refused < send->counter ? send->counter : heard->refused;
        heard->counter = 0;
        heard->until = HF_LONG_AGO;
    }
    heard->is_pending[send->verb] = true;
    heard->sends[send->verb] = *send;
    heard->sent[send->verb] = now;
    heard->number[send->verb] = oracle->n_sends++;
}

/* The latest instant until which a majority may be relied on. Each node counts
 * until the end of the lease that its own replies confirmed. */
static struct hf_instant proved_until(const struct oracle *oracle)
{
    struct hf_instant best[HF_NODES_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < oracle->nodes->count; i++) {
        const struct heard *heard = &oracle->heard[i];
        if (heard->counter != hf_lease_fence(oracle->lease)) {
            continue;
        }
        unsigned at = n++;
        while (at > 0 && hf_instant_before(best[at - 1], heard->until)) {
            best[at] = best[at - 1];
            at--;
        }
        best[at] = heard->until;
    }
    unsigned quorum = oracle->nodes->count / 2U + 1;
    return n < quorum ? HF_LONG_AGO : best[quorum - 1];
}

static void check_belief(const struct oracle *oracle, struct hf_instant now)
{
    const struct hf_lease *lease = oracle->lease;
    enum hf_state state = hf_lease_state(lease);
    bool believes =
        hf_lease_phase(lease) == HF_PHASE_HOLDING && state != HF_STATE_LOST;
    FUZZ_CHECK(believes || state == HF_STATE_LOST ||
               state == HF_STATE_RELEASED);
    if (!believes) {
        return;
    }
    FUZZ_CHECK(state == HF_STATE_HELD || state == HF_STATE_AT_RISK);
    FUZZ_CHECK(hf_lease_fence(lease) > 0 &&
               hf_lease_fence(lease) <= HF_FENCE_MAX);
    FUZZ_CHECK(hf_instant_before(now, hf_lease_deadline(lease)));
    bool was_holding = oracle->phase == HF_PHASE_HOLDING;
    if (was_holding) {
        FUZZ_CHECK(hf_lease_fence(lease) == oracle->fence);
        FUZZ_CHECK(
            !hf_instant_before(hf_lease_deadline(lease), oracle->deadline));
    }
    if (!was_holding || hf_lease_deadline(lease).ns != oracle->deadline.ns) {
        FUZZ_CHECK(
            !hf_instant_before(proved_until(oracle), hf_lease_deadline(lease)));
    }
}

static void check_outcome(struct oracle *oracle, enum hf_outcome outcome)
{
    enum hf_phase phase = hf_lease_phase(oracle->lease);
    switch (outcome) {
    case HF_OUT_NONE:
        break;
    case HF_OUT_HELD:
        FUZZ_CHECK(phase == HF_PHASE_HOLDING && oracle->n_held++ == 0);
        FUZZ_CHECK(oracle->n_over == 0);
        break;
    case HF_OUT_QUEUED:
        FUZZ_CHECK(oracle->n_queued++ == 0 && oracle->n_held == 0);
        break;
    case HF_OUT_TAKEN:
    case HF_OUT_SPLIT:
    case HF_OUT_TOO_SLOW:
    case HF_OUT_UNREACHED:
        FUZZ_CHECK(oracle->n_over++ == 0 && oracle->n_held == 0);
        FUZZ_CHECK(phase >= HF_PHASE_RELEASING);
        break;
    case HF_OUT_EXTENDED:
    case HF_OUT_UNEXTENDED:
        FUZZ_CHECK(oracle->is_extending && phase == HF_PHASE_HOLDING);
        oracle->is_extending = false;
        break;
    case HF_OUT_LOST:
        FUZZ_CHECK(oracle->n_held == 1 || oracle->is_adopted ||
                   oracle->owes_release);
        oracle->is_extending = false;
        oracle->owes_release = false;
        break;
    case HF_OUT_RELEASED:
    case HF_OUT_UNKNOWN:
        FUZZ_CHECK(oracle->owes_release && phase >= HF_PHASE_RELEASING);
        oracle->owes_release = false;
        break;
    }
}

/* No node stores this owner any more. */
static void check_done(const struct oracle *oracle, struct hf_instant now)
{
    FUZZ_CHECK(hf_lease_phase(oracle->lease) == HF_PHASE_DONE);
    if (oracle->is_forsaken) {
        return;
    }
    FUZZ_CHECK(!oracle->owes_release);
    for (unsigned i = 0; i < oracle->nodes->count; i++) {
        FUZZ_CHECK(oracle->is_shrunk || oracle->is_adopted ||
                   !hf_instant_before(now, oracle->heard[i].kept));
    }
}

/* A timer that is due must have an effect within a few steps. */
static void check_timer(struct oracle *oracle, const struct hf_event *event,
                        const struct hf_effects *effects)
{
    struct hf_instant wake = hf_lease_wake(oracle->lease);
    bool again = event->kind == HF_EV_TIMER && effects->n_sends == 0 &&
                 !hf_instant_before(event->now, wake) &&
                 oracle->timer_at.ns == event->now.ns;
    oracle->n_timers = again ? oracle->n_timers + 1 : 0;
    oracle->timer_at = event->now;
    FUZZ_CHECK(oracle->n_timers < TIMERS_MAX);
    if (hf_lease_phase(oracle->lease) == HF_PHASE_RELEASING) {
        FUZZ_CHECK(wake.ns != HF_NEVER.ns); /* else the run might never end */
    }
}

void oracle_effects(struct oracle *oracle, const struct hf_event *event,
                    const struct hf_effects *effects)
{
    FUZZ_CHECK(effects->n_sends <= 2U * oracle->nodes->count);
    for (unsigned i = 0; i < effects->n_sends; i++) {
        check_send(oracle, &effects->sends[i], event->now);
    }
    FUZZ_CHECK((effects->missed >> oracle->nodes->count) == 0);
    check_outcome(oracle, effects->outcome);
    check_belief(oracle, event->now);
    FUZZ_CHECK(effects->done ==
               (hf_lease_phase(oracle->lease) == HF_PHASE_DONE));
    if (effects->done) {
        check_done(oracle, event->now);
    } else {
        check_timer(oracle, event, effects);
    }
}
