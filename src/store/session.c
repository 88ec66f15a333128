/* SPDX-License-Identifier: Apache-2.0 */
#include "store/session.h"

#include "base/assert.h"

#include <stdio.h>

/* Nothing is held: as in store/sql/node.c. */
#define HANG_MS_MIN 1000
#define HANG_TIMEOUTS 10

/* A turn of the loop, in nanoseconds: the client settles in between. */
#define TURN_NS 1000000

static void report(struct hf_session *session, enum hf_node_status status,
                   enum hf_status fault, const char *why)
{
    hf_standing_set(&session->standing, session->owner.env, 0, status, false,
                    fault, why);
}

void hf_session_init(struct hf_session *session,
                     const struct hf_session_owner *owner,
                     struct hf_instant now)
{
    *session =
        (struct hf_session){.phase = HF_SESSION_WAITING, .owner = *owner};
    hf_standing_init(&session->standing);
    owner->reconnect->retry_at = now;
}

void hf_session_refuse(struct hf_session *session, enum hf_status fault,
                       const char *why)
{
    HF_ASSERT(hf_session_is_opening(session) && fault != HF_OK);
    session->refusal = fault;
    snprintf(session->why, sizeof(session->why), "%s", why);
}

void hf_session_ready(struct hf_session *session, struct hf_instant now)
{
    HF_ASSERT(session->phase == HF_SESSION_SETTING);
    session->phase = HF_SESSION_READY;
    hf_reconnect_served(session->owner.reconnect, now);
    report(session, HF_NODE_STATUS_VOTING, HF_OK, "");
}

/* ---- The end ------------------------------------------------------------- */

/* At once, or after a back-off. */
static void reconnect(struct hf_session *session, struct hf_instant now)
{
    session->phase = HF_SESSION_WAITING;
    if (session->is_quick) {
        report(session, HF_NODE_STATUS_CONNECTING, HF_UNAVAILABLE,
               session->why);
        session->owner.connect(session, now);
    } else {
        report(session, HF_NODE_STATUS_DOWN, session->fault, session->why);
        hf_jobs_end(session->owner.jobs, session->fault, session->why);
    }
}

enum hf_status hf_session_lose(struct hf_session *session, bool holds,
                               enum hf_status fault, const char *why,
                               struct hf_instant now)
{
    bool is_refused = session->refusal != HF_OK;
    session->fault = is_refused ? session->refusal : fault;
    session->refusal = HF_OK;
    if (!is_refused) {
        snprintf(session->why, sizeof(session->why), "%s", why);
    }
    session->is_quick =
        hf_reconnect_plan(session->owner.reconnect, session->owner.seed, now);
    session->phase = HF_SESSION_WAITING;
    if (holds) {
        session->phase = HF_SESSION_ENDING;
        session->turn_at = hf_instant_add(now, (struct hf_span){TURN_NS});
        hf_standing_set(&session->standing, session->owner.env, 0,
                        HF_NODE_STATUS_CONNECTING, true, session->fault,
                        session->why);
    }
    return session->fault == HF_NO_MEMORY ? HF_NO_MEMORY : HF_UNAVAILABLE;
}

void hf_session_lost(struct hf_session *session, struct hf_instant now)
{
    if (session->phase == HF_SESSION_WAITING) {
        reconnect(session, now);
    }
}

void hf_session_turn(struct hf_session *session, struct hf_instant now)
{
    HF_ASSERT(session->phase >= HF_SESSION_ENDING);
    if (hf_instant_before(now, session->turn_at)) {
        return;
    }
    if (session->phase == HF_SESSION_ENDED) {
        reconnect(session, now);
        return;
    }
    /* The client asks, and hears that the locks are not its own. */
    session->phase = HF_SESSION_ENDED;
    session->turn_at = hf_instant_add(now, (struct hf_span){TURN_NS});
    report(session, HF_NODE_STATUS_VOTING, HF_OK, session->why);
}

void hf_session_resume(struct hf_session *session, struct hf_instant now)
{
    HF_ASSERT(session->phase == HF_SESSION_WAITING);
    report(session, HF_NODE_STATUS_CONNECTING, session->standing.fault,
           session->standing.reason);
    session->owner.connect(session, now);
}

/* ---- Times --------------------------------------------------------------- */

struct hf_span hf_session_patience(struct hf_span node_timeout, bool holds,
                                   int64_t max_ttl_ms)
{
    struct hf_span least = hf_span_max(
        hf_span_scale(node_timeout, HANG_TIMEOUTS), hf_span_ms(HANG_MS_MIN));
    return holds ? hf_span_max(least, hf_span_ms(max_ttl_ms)) : least;
}
