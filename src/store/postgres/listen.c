/* SPDX-License-Identifier: Apache-2.0 */
/* LISTENING FOR GRANTS
 *
 *     ──▶ holdfast.listen(hf:push:<random>), after the first reply "queued"
 *     ◀── committed: grants are pushed from now on
 *     ◀── NOTIFY "<cookie> <counter>", once for each grant
 *     ──▶ UNLISTEN, after IDLE_MS without a waiter
 *
 * Requests and notifications share one connection. The server sends a
 * notification between two transactions. listen() also takes an advisory lock
 * for the session: a session that grants a name tests it, to see whether the
 * waiter's session is alive. Each NOTIFY of the database wakes every session
 * that listens, so a client without waiters stops listening.
 *
 * Until LISTEN is committed, requests name no channel. Their waiters poll, and
 * their next heartbeat names the channel. A lost notification does no harm,
 * since the heartbeat finds the grant. Through a pooler waiters poll, because
 * the session that would listen belongs to other clients too.
 *
 * Each LISTEN has a channel of its own. After a broken connection the server
 * may keep the old session, with the lock of its channel, until TCP gives up.
 * The place of a waiter has the old channel until the waiter asks on the new
 * connection, which it does at once. If the lock is taken all the same,
 * listen() fails at once: a request that waits blocks all those behind it.
 *
 * LISTEN takes one request, and UNLISTEN two. */
#include "io/clock.h"
#include "store/postgres/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Milliseconds without a waiter until UNLISTEN. Longer than the interval of a
 * waiter's heartbeats, which is 2 s at most. */
#define IDLE_MS 10000

/* Milliseconds from a failure of LISTEN to the next attempt. A refusal, as that
 * of a missing right, mostly lasts: waiters poll meanwhile, and each attempt is
 * a request more on the connection that they share. */
#define REFUSED_MS 30000

static const char listen_sql[] = "SELECT holdfast.listen($1)";
static const char unlock_sql[] = "SELECT pg_advisory_unlock_all()";
static const char unlisten_sql[] = "UNLISTEN *";

static void report_state(struct hf_pg_node *node, bool is_listening)
{
    node->store->base.env.listen(node->store->base.env.client, 0, is_listening);
}

static void report(struct hf_pg_node *node, enum hf_log_level level,
                   const char *event, const char *detail)
{
    char text[HF_TEXT_LIST];
    snprintf(text, sizeof(text), "%s: %s: %s", node->store->target.shown, event,
             detail);
    node->store->base.env.log(node->store->base.env.client, level, text);
}

static bool is_refused(const struct hf_pg_node *node, struct hf_instant now)
{
    return hf_instant_before(
        now, hf_instant_add(node->refused_at, hf_span_ms(REFUSED_MS)));
}

static void draw_channel(struct hf_pg_node *node)
{
    uint64_t drawn;
    hf_entropy(&drawn, sizeof(drawn));
    snprintf(node->channel, sizeof(node->channel), "hf:push:%016" PRIx64,
             drawn);
}

void hf_pg_listen_want(struct hf_pg_node *node, struct hf_instant now)
{
    node->wanted_at = now;
    if (node->listening != HF_PG_LISTEN_OFF ||
        !hf_sql_node_is_ready(&node->base) || node->is_pooled ||
        is_refused(node, now)) {
        return;
    }
    struct hf_pg_params params;
    draw_channel(node);
    hf_pg_params_init(&params);
    hf_pg_params_text(&params, node->channel);
    node->listening = HF_PG_LISTEN_ASKED;
    hf_pg_node_ask(node, HF_PG_LISTEN, listen_sql, &params, now);
}

void hf_pg_listen_reply(struct hf_pg_node *node,
                        const struct hf_pg_pending *pending,
                        const struct hf_pg_reply *reply, struct hf_instant now)
{
    char words[HF_TEXT_SENTENCE];
    if (pending->kind != HF_PG_LISTEN) {
        return;
    }
    if (reply->error == NULL) {
        node->listening = HF_PG_LISTEN_ON;
        node->has_warned = false;
        report_state(node, true);
        return;
    }
    node->listening = HF_PG_LISTEN_OFF;
    node->refused_at = now;
    hf_pg_fault(reply->error, words, sizeof(words));
    if (!node->has_warned) {
        node->has_warned = true;
        report(node, HF_LOG_WARN,
               "waiters must poll, since grants cannot be pushed", words);
    }
}

void hf_pg_listen_lost(struct hf_pg_node *node)
{
    bool was_on = node->listening == HF_PG_LISTEN_ON;
    node->listening = HF_PG_LISTEN_OFF;
    node->refused_at = HF_LONG_AGO;
    if (was_on) {
        report_state(node, false);
    }
}

struct hf_instant hf_pg_listen_due(const struct hf_pg_node *node)
{
    return node->listening == HF_PG_LISTEN_ON
               ? hf_instant_add(node->wanted_at, hf_span_ms(IDLE_MS))
               : HF_NEVER;
}

/* Release the advisory lock first. While it is held, other sessions grant to
 * this one by NOTIFY. */
void hf_pg_listen_timed(struct hf_pg_node *node, struct hf_instant now)
{
    if (hf_instant_before(now, hf_pg_listen_due(node))) {
        return;
    }
    hf_pg_listen_lost(node);
    hf_pg_node_ask(node, HF_PG_UNLISTEN, unlock_sql, NULL, now);
    hf_pg_node_ask(node, HF_PG_UNLISTEN, unlisten_sql, NULL, now);
}

/* ---- Pushes ------------------------------------------------------------- */

/** Digits up to the end or a blank. @return the rest after them; NULL: there
 * are none, or too many. */
static const char *parse_number(const char *at, uint64_t *out)
{
    const char *start = at;
    uint64_t number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number)) {
            return NULL;
        }
    }
    *out = number;
    return at == start ? NULL : at;
}

void hf_pg_listen_notified(struct hf_pg_node *node, const char *payload)
{
    uint64_t cookie = 0, counter = 0;
    const char *at = parse_number(payload, &cookie);
    if (at != NULL && *at == ' ') {
        at = parse_number(at + 1, &counter);
    } else {
        at = NULL;
    }
    if (at == NULL || *at != '\0' || counter == 0 || counter > HF_FENCE_MAX ||
        node->listening != HF_PG_LISTEN_ON) {
        report(node, HF_LOG_DEBUG, "ignored", "a push that is no grant");
        return;
    }
    node->store->base.env.push(node->store->base.env.client, 0, cookie,
                               counter);
}
