/* SPDX-License-Identifier: Apache-2.0 */
/* THE LOG: ONE LINE FOR EACH EVENT
 *
 * Each step of a lock, change of a node, request and reply calls a function
 * here. It formats one line on the stack and passes it to the callback of the
 * program.
 *
 * A lock that is at risk, or was not renewed in time, names the nodes to blame:
 * those without a vote, slow ones, and those whose last reply was an error. If
 * there is none, this process did not run. This is read from the nodes as they
 * are now, and not from the requests that failed. One that is late names the
 * nodes that did not answer.
 *
 * Why it is safe: no decision depends on it, and it cannot fail, since it
 * allocates nothing and cuts a long line. The callback runs with the client's
 * mutex, so it must not call the library.
 *
 * Cost: without a log one comparison for each event. With one the text is made
 * while other threads wait for the mutex. Retries of an outage are milliseconds
 * apart, so the same reason is INFO once in ten seconds, and DEBUG in between.
 */
#include "client/log.h"

#include "client/fence.h"
#include "client/holder_hint.h"
#include "client/name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An error's text (1,000 bytes), with the name and the node before it. */
#define LINE_MAX_BYTES 1200

/* The reason in such a line, in bytes: of some nodes, or of a rival. */
#define WHY_MAX 800

void hf_client_log(struct hf_client *client, enum hf_log_level level,
                   const char *format, ...)
{
    if (!hf_log_is_on(client)) {
        return;
    }
    char text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    client->options.log(client->options.log_user, level, text);
}

/* ---- Names ------------------------------------------------------------- */

static const char *verb_of(enum hf_verb verb)
{
    switch (verb) {
    case HF_VERB_ACQUIRE:
        return "acquire";
    case HF_VERB_CONFIRM:
        return "renew";
    case HF_VERB_RELEASE:
        return "release";
    case HF_VERB_YIELD:
        return "yield";
    case HF_VERB_BREAK:
        return "break";
    case HF_VERB_INSPECT:
        return "inspect";
    case HF_VERB_QUEUE:
        return "queue";
    case HF_VERB_MARK:
        return "mark";
    case HF_VERB_GET:
        return "get";
    case HF_VERB_PUT:
        return "put";
    case HF_VERB_SCAN:
        return "list";
    }
    return "?";
}

static const char *verdict_of(enum hf_verdict verdict)
{
    switch (verdict) {
    case HF_VERDICT_OK:
        return "ok";
    case HF_VERDICT_REFUSED:
        return "refused";
    case HF_VERDICT_QUEUED:
        return "queued";
    case HF_VERDICT_UNSENT:
        return "not sent";
    case HF_VERDICT_UNKNOWN:
        return "no answer";
    case HF_VERDICT_ERROR:
        return "error";
    }
    return "?";
}

static void address_of(const struct hf_client *client, unsigned node,
                       struct hf_node *out)
{
    memset(out, 0, sizeof(*out));
    client->store->ops->describe(client->store, node, client->now, out);
}

static const char *show(const struct hf_lock *lock, char out[HF_NAME_SHOWN_MAX])
{
    return hf_name_show(hf_lock_name_bytes(lock), lock->name_len, out);
}

static const char *reason_of(const struct hf_client *client, unsigned node,
                             const struct hf_node *info)
{
    const char *reason = client->peers[node].reason;
    if (reason[0] != '\0') {
        return reason;
    }
    return info->health == HF_NODE_CONNECTING ? "connecting"
           : client->nodes.misses[node] > 0   ? "no answer"
                                              : "";
}

/* The nodes of `mask`, each with its last error: "a: timed out; b", or only
 * their addresses. */
static const char *list(const struct hf_client *client, uint16_t mask,
                        bool has_reasons, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < client->nodes.count && used < size; i++) {
        struct hf_node info;
        if ((mask & (1U << i)) == 0) {
            continue;
        }
        address_of(client, i, &info);
        const char *reason = has_reasons ? reason_of(client, i, &info) : "";
        int len =
            snprintf(out + used, size - used, "%s%s%s%s", used > 0 ? "; " : "",
                     info.address, reason[0] != '\0' ? ": " : "", reason);
        used += len > 0 ? (size_t)len : 0;
    }
    return out;
}

static const char *reasons(const struct hf_client *client, uint16_t mask,
                           char *out, size_t size)
{
    return list(client, mask, true, out, size);
}

/* The nodes that have no vote, have not answered in time, or last replied with
 * an error. */
static uint16_t missing(const struct hf_client *client)
{
    uint16_t mask = 0;
    for (unsigned i = 0; i < client->nodes.count; i++) {
        bool is_there = (client->nodes.voting & (1U << i)) != 0 &&
                        client->nodes.misses[i] == 0 &&
                        client->peers[i].reason[0] == '\0';
        mask |= (uint16_t)(is_there ? 0 : 1U << i);
    }
    return mask;
}

/* Why a renewal is late. If no node is to blame, the process did not send it or
 * read the reply: a SIGSTOP, a suspended machine, or a program without the
 * library's thread that did not call. */
static const char *lateness(const struct hf_client *client, char *out,
                            size_t size)
{
    reasons(client, missing(client), out, size);
    if (out[0] == '\0') {
        snprintf(out, size, "this process was stopped, or did not renew it");
    }
    return out;
}

/* ---- Nodes ------------------------------------------------------------- */

void hf_log_node_status(struct hf_client *client, unsigned node,
                        enum hf_node_status was, bool is_reset)
{
    enum hf_node_status is = hf_nodes_status(&client->nodes, node);
    uint16_t bit = (uint16_t)(1U << node);
    const char *reason = client->peers[node].reason;
    struct hf_node info;
    if (!hf_log_is_on(client) || (is == was && !is_reset)) {
        return;
    }
    address_of(client, node, &info);
    if (is_reset) {
        hf_client_log(client, HF_LOG_WARN,
                      "%s: may have lost locks since it was seen last",
                      info.address);
    }
    switch (is) {
    case HF_NODE_STATUS_CONNECTING:
        hf_client_log(client, HF_LOG_INFO, "%s: connecting", info.address);
        break;
    case HF_NODE_STATUS_VOTING:
        hf_client_log(client, HF_LOG_INFO,
                      (client->quarantined & bit) != 0
                          ? "%s: quarantine is over, it counts"
                          : "%s: connected",
                      info.address);
        client->quarantined &= (uint16_t)~bit;
        break;
    case HF_NODE_STATUS_REPAIRING:
        client->quarantined |= bit;
        hf_client_log(client, HF_LOG_WARN, "%s: in quarantine: %s",
                      info.address, reason[0] != '\0' ? reason : info.reason);
        break;
    case HF_NODE_STATUS_DOWN:
        hf_client_log(client, HF_LOG_WARN, "%s: lost: %s", info.address,
                      reason[0] != '\0' ? reason : "no connection");
        break;
    }
}

/* ---- Requests ---------------------------------------------------------- */

void hf_log_ask(struct hf_client *client, const struct hf_ask *ask)
{
    char name[HF_NAME_SHOWN_MAX];
    struct hf_node info;
    if (!hf_log_is_on(client)) {
        return;
    }
    address_of(client, ask->node, &info);
    hf_client_log(client, HF_LOG_DEBUG, "%s: %s to %s",
                  hf_name_show(ask->name == NULL ? "" : ask->name,
                               ask->name == NULL ? 0 : ask->name_len, name),
                  verb_of(ask->verb), info.address);
}

void hf_log_answer(struct hf_client *client, const struct hf_answer *answer)
{
    char name[HF_NAME_SHOWN_MAX] = "";
    struct hf_node info;
    if (!hf_log_is_on(client)) {
        return;
    }
    struct hf_item *item = hf_item_table_find(&client->items, answer->cookie);
    if (item != NULL && item->kind == HF_ITEM_LOCK) {
        show(hf_lock_of(item), name);
    }
    address_of(client, answer->node, &info);
    hf_client_log(
        client, HF_LOG_DEBUG, "%s: %s at %s: %s, counter %" PRIu64 "%s%s", name,
        verb_of(answer->verb), info.address, verdict_of(answer->verdict),
        answer->counter, answer->reason != NULL ? ": " : "",
        answer->reason != NULL ? answer->reason : "");
}

/* ---- A lock ------------------------------------------------------------ */

static void log_held(struct hf_client *client, const struct hf_lock *lock,
                     enum hf_phase was)
{
    char name[HF_NAME_SHOWN_MAX];
    uint64_t counter = hf_lease_fence(hf_lock_lease_const(lock));
    hf_client_log(client, HF_LOG_INFO, "%s: held%s, fence %" PRIu64,
                  show(lock, name),
                  was == HF_PHASE_WAITING ? ", handed over" : "",
                  hf_fence_of(client, counter));
}

static void log_queued(struct hf_client *client, const struct hf_lock *lock)
{
    char name[HF_NAME_SHOWN_MAX];
    char rival[HF_HOLDER_HINT_TEXT_MAX] = "";
    const struct hf_op *op = lock->op;
    uint32_t ahead = op != NULL ? op->ahead : 0;
    if (op != NULL && op->rival.is_known) {
        hf_holder_hint_write(&op->rival, client->now, rival, sizeof(rival));
    }
    hf_client_log(client, HF_LOG_INFO, "%s: waiting, %u ahead%s%s",
                  show(lock, name), (unsigned)ahead, rival[0] ? ": " : "",
                  rival);
}

static void log_outcome(struct hf_client *client, const struct hf_lock *lock,
                        enum hf_phase was, enum hf_outcome outcome)
{
    char name[HF_NAME_SHOWN_MAX];
    char why[WHY_MAX];
    switch (outcome) {
    case HF_OUT_HELD:
        log_held(client, lock, was);
        break;
    case HF_OUT_QUEUED:
        log_queued(client, lock);
        break;
    case HF_OUT_UNREACHED:
        if (lock->op == NULL || lock->op->kind != HF_OP_ACQUIRE) {
            hf_client_log(client, HF_LOG_INFO, "%s: no majority: %s",
                          show(lock, name),
                          reasons(client, missing(client), why, sizeof(why)));
        }
        break; /* an acquisition logs it with the retry or the failure */
    case HF_OUT_UNEXTENDED:
    case HF_OUT_UNKNOWN:
        hf_client_log(client, HF_LOG_WARN, "%s: %s not confirmed: %s",
                      show(lock, name),
                      outcome == HF_OUT_UNKNOWN ? "release" : "extension",
                      reasons(client, missing(client), why, sizeof(why)));
        break;
    case HF_OUT_RELEASED:
        hf_client_log(client, HF_LOG_INFO, "%s: released", show(lock, name));
        break;
    case HF_OUT_NONE:
    case HF_OUT_TAKEN:
    case HF_OUT_SPLIT:
    case HF_OUT_TOO_SLOW:
    case HF_OUT_EXTENDED:
    case HF_OUT_LOST:
        break; /* logged with the retry, the failure or the state */
    }
}

static void log_state(struct hf_client *client, const struct hf_lock *lock)
{
    char name[HF_NAME_SHOWN_MAX];
    char why[WHY_MAX];
    const struct hf_lease *lease = hf_lock_lease_const(lock);
    switch (hf_lease_state(lease)) {
    case HF_STATE_HELD:
        hf_client_log(client, HF_LOG_INFO, "%s: held again", show(lock, name));
        break;
    case HF_STATE_AT_RISK:
        hf_client_log(client, HF_LOG_WARN,
                      "%s: at risk: renewal not confirmed, %" PRId64
                      " ms left: %s",
                      show(lock, name),
                      hf_span_ms_floor(hf_instant_until(
                          client->now, hf_lease_deadline(lease))),
                      lateness(client, why, sizeof(why)));
        break;
    case HF_STATE_LOST:
        hf_client_log(client, HF_LOG_ERROR, "%s: lost: %s%s", show(lock, name),
                      hf_instant_before(client->now, hf_lease_deadline(lease))
                          ? "a majority no longer has it as ours"
                          : "not renewed in time: ",
                      hf_instant_before(client->now, hf_lease_deadline(lease))
                          ? ""
                          : lateness(client, why, sizeof(why)));
        break;
    case HF_STATE_RELEASED:
        break;
    }
}

/* The user has it, or its callback, which gets it, is queued. */
static bool is_users(const struct hf_lock *lock)
{
    return (lock->flags & HF_LOCK_OURS) != 0 ||
           (lock->op == NULL &&
            hf_lease_phase(hf_lock_lease_const(lock)) == HF_PHASE_HOLDING);
}

void hf_log_step(struct hf_client *client, const struct hf_lock *lock,
                 enum hf_phase was, const struct hf_effects *effects)
{
    char name[HF_NAME_SHOWN_MAX];
    char why[WHY_MAX];
    if (!hf_log_is_on(client)) {
        return;
    }
    if (effects->missed != 0) {
        hf_client_log(client, HF_LOG_INFO, "%s: %s late: no answer from %s",
                      show(lock, name),
                      was == HF_PHASE_HOLDING ? "renewal" : "request",
                      list(client, effects->missed, false, why, sizeof(why)));
    }
    if (effects->state_changed && is_users(lock)) {
        log_state(client, lock);
    }
    log_outcome(client, lock, was, effects->outcome);
}

/* ---- An acquisition ---------------------------------------------------- */

static const char *wanted(const struct hf_op *op, char out[HF_NAME_SHOWN_MAX])
{
    return hf_name_show(op->order.name, op->order.name_len, out);
}

void hf_log_begin(const struct hf_op *op)
{
    char name[HF_NAME_SHOWN_MAX];
    if (!hf_log_is_on(op->client)) {
        return;
    }
    hf_client_log(op->client, HF_LOG_INFO, "%s: asking for a lease of %lld ms",
                  wanted(op, name), (long long)op->order.ttl_ms);
}

/* The back-off begins at milliseconds, so an outage would fill the log: the
 * same reason is logged again only after this time. */
#define RETRY_TOLD_MS 10000

static enum hf_log_level retry_level(struct hf_op *op, uint32_t why)
{
    struct hf_instant now = op->client->now;
    if (why == op->log_why && hf_instant_before(now, op->log_at)) {
        return HF_LOG_DEBUG;
    }
    op->log_why = why;
    op->log_at = hf_instant_add(now, hf_span_ms(RETRY_TOLD_MS));
    return HF_LOG_INFO;
}

static const char *failure_of(enum hf_outcome outcome)
{
    return outcome == HF_OUT_TAKEN      ? "taken"
           : outcome == HF_OUT_SPLIT    ? "split vote"
           : outcome == HF_OUT_TOO_SLOW ? "answered too late"
                                        : "no majority: ";
}

void hf_log_retry(struct hf_op *op, enum hf_outcome outcome,
                  struct hf_instant at)
{
    struct hf_client *client = op->client;
    char name[HF_NAME_SHOWN_MAX];
    char why[WHY_MAX] = "";
    if (!hf_log_is_on(client)) {
        return;
    }
    uint16_t mask = outcome == HF_OUT_UNREACHED ? missing(client) : 0;
    uint32_t reason = (uint32_t)mask << 16 | (uint32_t)outcome;
    hf_client_log(client, retry_level(op, reason),
                  "%s: %s%s; try %u in %" PRId64 " ms", wanted(op, name),
                  failure_of(outcome), reasons(client, mask, why, sizeof(why)),
                  (unsigned)op->retry.attempts + 1,
                  hf_span_ms_ceil(hf_instant_until(client->now, at)));
}

void hf_log_failed(const struct hf_op *op)
{
    char name[HF_NAME_SHOWN_MAX];
    if (!hf_log_is_on(op->client)) {
        return;
    }
    hf_client_log(op->client, HF_LOG_INFO, "%s: not acquired: %s",
                  wanted(op, name), op->error.text);
}
