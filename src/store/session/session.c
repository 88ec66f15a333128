/* SPDX-License-Identifier: Apache-2.0 */
/* THE PHASES OF A SESSION, AND ITS END (session.h has a picture)
 *
 * lose() is the only way back to WAITING. The end is reported before the
 * requests are answered, so that no answer leads to a new request here.
 *
 * Cost: one timer. While READY it is armed for the hang alone. */
#include "store/session/session.h"

#include "base/assert.h"

#include <stdio.h>

/* Nothing is held: as in store/sql/node.c. */
#define HANG_MS_MIN 1000
#define HANG_TIMEOUTS 10

/* The server may have closed a connection that was silent for this long. Look
 * before a request is sent: it is then UNSENT instead of UNKNOWN. A busy
 * connection does without that system call. */
#define IDLE_MS 1000

/* A turn of the loop, in nanoseconds: the client settles in between. */
#define TURN_NS 1000000

static void report(struct hf_session *session, enum hf_node_status status,
                   enum hf_status fault, const char *why)
{
    hf_standing_set(&session->standing, &session->env, 0, status, false, fault,
                    why);
}

static bool is_past(struct hf_instant at, struct hf_instant now)
{
    return !hf_instant_before(now, at);
}

/* ---- The timer ----------------------------------------------------------- */

struct hf_span hf_session_patience(struct hf_span node_timeout, bool holds,
                                   int64_t max_ttl_ms)
{
    struct hf_span least = hf_span_max(
        hf_span_scale(node_timeout, HANG_TIMEOUTS), hf_span_ms(HANG_MS_MIN));
    return holds ? hf_span_max(least, hf_span_ms(max_ttl_ms)) : least;
}

static struct hf_span patience(const struct hf_session *session)
{
    return hf_session_patience(session->node_timeout, session->n_seats > 0,
                               session->max_ttl_ms);
}

static struct hf_instant hangs_at(const struct hf_session *session)
{
    struct hf_instant since;
    session->ops->silent_since(session, &since);
    return hf_instant_add(since, patience(session));
}

struct hf_instant hf_session_due(const struct hf_session *session)
{
    struct hf_instant at = HF_LONG_AGO;
    if (session->link->is_broken) {
        return at;
    }
    switch (session->phase) {
    case HF_SESSION_WAITING:
        at = session->link->reconnect.retry_at;
        break;
    case HF_SESSION_CONNECTING:
    case HF_SESSION_GREETING:
    case HF_SESSION_SETTING:
        at = session->link->deadline;
        break;
    case HF_SESSION_READY:
        at = hangs_at(session);
        break;
    case HF_SESSION_ENDING:
    case HF_SESSION_ENDED:
        at = session->turn_at;
        break;
    }
    return at;
}

void hf_session_arm(struct hf_session *session)
{
    hf_timer_set(&session->link->timer, hf_session_due(session));
}

bool hf_session_is_idle(const struct hf_session *session, struct hf_instant now)
{
    return hf_session_is_ready(session) &&
           is_past(hf_instant_add(session->link->heard_at, hf_span_ms(IDLE_MS)),
                   now);
}

/* ---- Connecting ---------------------------------------------------------- */

static void connect_now(struct hf_session *session, struct hf_instant now)
{
    HF_ASSERT(session->phase == HF_SESSION_WAITING);
    session->phase = HF_SESSION_CONNECTING;
    session->ops->connect(session, now);
    hf_session_arm(session); /* at once, if it broke already */
}

void hf_session_begin(struct hf_session *session, struct hf_sql_link *link,
                      const char *address, struct hf_instant now)
{
    session->link = link;
    session->address = address;
    session->phase = HF_SESSION_WAITING;
    hf_standing_init(&session->standing);
    link->reconnect.retry_at = now;
    hf_session_arm(session);
}

void hf_session_greet(struct hf_session *session, struct hf_instant now)
{
    session->phase = HF_SESSION_GREETING;
    session->link->deadline = hf_instant_add(now, session->connect_timeout);
}

void hf_session_set(struct hf_session *session)
{
    HF_ASSERT(session->phase == HF_SESSION_GREETING);
    session->phase = HF_SESSION_SETTING;
}

void hf_session_refuse(struct hf_session *session, enum hf_status fault,
                       const char *why)
{
    HF_ASSERT(hf_session_is_opening(session) && fault != HF_OK);
    session->refusal = fault;
    snprintf(session->why, sizeof(session->why), "%s", why);
    hf_sql_link_break(session->link, fault, why);
}

void hf_session_ready(struct hf_session *session, struct hf_instant now)
{
    HF_ASSERT(session->phase == HF_SESSION_SETTING);
    session->phase = HF_SESSION_READY;
    hf_reconnect_served(&session->link->reconnect, now);
    report(session, HF_NODE_STATUS_VOTING, HF_OK, "");
    hf_session_jobs(session);
}

/* ---- The end ------------------------------------------------------------- */

/* At once, or after a back-off. */
static void reconnect(struct hf_session *session, struct hf_instant now)
{
    session->phase = HF_SESSION_WAITING;
    if (session->is_quick) {
        report(session, HF_NODE_STATUS_CONNECTING, HF_UNAVAILABLE,
               session->why);
        connect_now(session, now);
    } else {
        report(session, HF_NODE_STATUS_DOWN, session->fault, session->why);
        hf_jobs_finish(&session->jobs, session->fault, session->why);
    }
}

/* The cause of the end: a server that was refused goes before the link. */
static void note_cause(struct hf_session *session)
{
    if (session->refusal != HF_OK) {
        session->fault = session->refusal;
        session->refusal = HF_OK;
    } else {
        session->fault = session->link->fault;
        snprintf(session->why, sizeof(session->why), "%s",
                 session->link->reason);
    }
}

/* The session has ended, and with it all that it held. */
static void lose(struct hf_session *session, struct hf_instant now)
{
    bool holds = session->phase == HF_SESSION_READY && session->n_seats > 0;
    note_cause(session);
    session->is_quick =
        hf_reconnect_plan(&session->link->reconnect, &session->link->seed, now);
    session->phase = HF_SESSION_WAITING;
    if (holds) {
        session->phase = HF_SESSION_ENDING;
        session->turn_at = hf_instant_add(now, (struct hf_span){TURN_NS});
        hf_standing_set(&session->standing, &session->env, 0,
                        HF_NODE_STATUS_CONNECTING, true, session->fault,
                        session->why);
    }
    session->ops->end(
        session, session->fault == HF_NO_MEMORY ? HF_NO_MEMORY : HF_UNAVAILABLE,
        now);
    hf_session_seats_free(session);
    if (session->phase == HF_SESSION_WAITING) {
        reconnect(session, now);
    }
}

static void turn(struct hf_session *session, struct hf_instant now)
{
    if (!is_past(session->turn_at, now)) {
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

/* ---- Events -------------------------------------------------------------- */

static void check_late(struct hf_session *session, struct hf_instant now)
{
    char why[HF_TEXT_CLAUSE];
    bool is_ready = session->phase == HF_SESSION_READY;
    if (!is_past(is_ready ? hangs_at(session) : session->link->deadline, now)) {
        return;
    }
    if (is_ready) {
        snprintf(why, sizeof(why), "does not answer (waited %lld ms)",
                 (long long)hf_span_ms_floor(patience(session)));
    } else {
        session->ops->late_text(session, now, why, sizeof(why));
    }
    hf_sql_link_break(session->link, HF_UNAVAILABLE, why);
}

void hf_session_timed(struct hf_session *session, struct hf_instant now)
{
    switch (session->phase) {
    case HF_SESSION_WAITING:
        if (is_past(session->link->reconnect.retry_at, now)) {
            connect_now(session, now);
        }
        break;
    case HF_SESSION_CONNECTING: /* the connection checks this deadline */
        break;
    case HF_SESSION_GREETING:
    case HF_SESSION_SETTING:
        check_late(session, now);
        break;
    case HF_SESSION_READY:
        hf_session_jobs(session);
        check_late(session, now);
        break;
    case HF_SESSION_ENDING:
    case HF_SESSION_ENDED:
        turn(session, now);
        break;
    }
}

void hf_session_settled(struct hf_session *session, struct hf_instant now)
{
    if (session->link->is_broken) {
        lose(session, now);
    }
    hf_session_arm(session);
}

void hf_session_resume(struct hf_store *base, struct hf_instant now)
{
    struct hf_session *session = (struct hf_session *)(void *)base;
    bool is_late = is_past(session->link->timer.at, now);
    if (is_late && hf_session_is_opening(session)) {
        hf_sql_link_break(session->link, HF_UNAVAILABLE, "connecting");
        lose(session, now);
    }
    if (is_late && session->phase == HF_SESSION_WAITING) {
        report(session, HF_NODE_STATUS_CONNECTING, session->standing.fault,
               session->standing.reason);
        connect_now(session, now);
    }
    hf_session_arm(session);
}
