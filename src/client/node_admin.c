/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up jobs: the store runs the job on each node, and reports its end. A node
 * has one job at a time, so those of other threads, and of a callback, wait in
 * client->ops until it has ended.
 *
 * Cost: a job runs at all its nodes at once; what it sends is up to the store
 * (the jobs of each: redis/examine.c, survey.c, admission.c; sql/jobs.c). A
 * diagnosis is one job. A declaration is two, one after the other: a survey of
 * all nodes, then the marker. A quarantine is up to three: a count at the other
 * nodes, the marker, then the counters of this one. */
#include "client/callback.h"
#include "client/enter.h"
#include "client/wait.h"

#include "base/assert.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Timeouts of a whole job on one node in milliseconds, connecting included. For
 * a node that does not reply the job ends earlier, since the store limits each
 * step. A short job fails within 5 s, error included. A survey of Redis has
 * the store's own limit (redis/survey.c) and 5 s to connect, so that the store
 * reports why it ended; one of a database may last longer there, and is ended
 * here. */
#define JOB_MS_MAX 4500
#define SURVEY_MS_MAX 20000
#define LOWER_MS_MAX 65000

/* Kept until hf_client_leave(): the callback may call the client. */
struct job_finding {
    struct job_finding *next;
    struct hf_finding reported;
    bool is_away; /* the node was not reachable */
    char text[];
};

struct job {
    struct hf_op op;
    enum hf_job kind;
    uint16_t nodes; /* on which it runs */
    uint16_t clean; /* where it succeeded */
    bool is_forced; /* LOOK: its errors are only warnings */
    bool has_begun;
    uint16_t done;
    struct job_finding *first;
    enum hf_status worst;
};

/* ---- Results ----------------------------------------------------------- */

static void on_finding(void *user, enum hf_severity severity, int node,
                       const char *text)
{
    struct job *job = user;
    size_t size = strlen(text) + 1;
    struct job_finding *finding = malloc(sizeof(*finding) + size);
    if (finding == NULL) {
        job->worst = HF_NO_MEMORY;
        return;
    }
    bool is_tolerated = job->is_forced && severity == HF_FINDING_ERROR;
    finding->reported = (struct hf_finding){
        .severity = is_tolerated ? HF_FINDING_WARNING : severity,
        .node = node,
        .text = memcpy(finding->text, text, size),
    };
    finding->is_away = false;
    struct job_finding **at = &job->first;
    while (*at != NULL && (*at)->reported.node <= node) {
        at = &(*at)->next; /* a reader compares reports, not arrivals */
    }
    finding->next = *at;
    *at = finding;
}

/** Call the user's function, without the mutex. @return HF_OK, or HF_CANCELLED:
 * it has closed the client. */
static enum hf_status tell(struct hf_client *client, hf_finding_fn *each,
                           void *user, const struct hf_finding *finding)
{
    struct hf_caller self;
    hf_client_let_out(client, &self);
    each(user, finding);
    hf_client_take_in(client, &self);
    return client->is_closing ? HF_CANCELLED : HF_OK;
}

static void tell_findings(struct job *job, hf_finding_fn *each, void *user,
                          enum hf_status *status, struct hf_error *error)
{
    struct hf_client *client = job->op.client;
    while (job->first != NULL) {
        struct job_finding *finding = job->first;
        job->first = finding->next;
        if (each != NULL && !client->is_closing &&
            tell(client, each, user, &finding->reported) != HF_OK) {
            *status = hf_fail(error, HF_CANCELLED, "the client was closed");
        }
        free(finding);
    }
}

/* The status of several nodes. HF_BUSY, a lock is or may be held, goes before
 * all others except HF_NO_MEMORY. */
static enum hf_status worse(enum hf_status one, enum hf_status other)
{
    static const enum hf_status order[] = {HF_NO_MEMORY, HF_BUSY, HF_CONFIG,
                                           HF_DENIED};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (one == order[i] || other == order[i]) {
            return order[i];
        }
    }
    return one != HF_OK ? one : other;
}

static void append(struct job *job, unsigned node, const char *reason)
{
    struct hf_client *client = job->op.client;
    struct hf_node info = {0};
    size_t used = strlen(job->op.error.text);
    client->store->ops->describe(client->store, node, client->now, &info);
    snprintf(job->op.error.text + used, sizeof(job->op.error.text) - used,
             "%s%s %s",
             used == 0                ? ""
             : job->op.error.node < 0 ? ": "
                                      : "; ",
             info.address, reason);
    job->op.error.node =
        job->op.error.node < 0 ? (int)node : job->op.error.node;
}

static void note_away(struct job *job, int node, enum hf_status status)
{
    struct job_finding *at = job->first;
    for (; at != NULL; at = at->next) {
        at->is_away |= at->reported.node == node && status == HF_UNAVAILABLE;
    }
}

static void note_failure(struct job *job, unsigned node, enum hf_status status,
                         const char *reason)
{
    if (reason == NULL || reason[0] == '\0') {
        reason = hf_status_text(status);
    }
    if (job->kind == HF_JOB_EXAMINE) {
        char text[HF_TEXT_ADVICE];
        snprintf(text, sizeof(text), "cannot be examined: %s", reason);
        on_finding(job, HF_FINDING_ERROR, (int)node, text);
        note_away(job, (int)node, status);
        return;
    }
    if (job->kind == HF_JOB_LOOK && status != HF_BUSY && status != HF_CONFIG) {
        char text[HF_TEXT_ADVICE];
        snprintf(text, sizeof(text), "cannot be looked at: %s", reason);
        on_finding(job, HF_FINDING_ERROR, (int)node, text);
    }
    append(job, node, reason);
    job->worst = worse(job->worst, status);
}

/* The first job that has not begun, in a timer of its own: this may be a call
 * of the store. */
static void call_next(struct hf_client *client)
{
    for (struct hf_op *op = client->ops.first; op != NULL; op = op->next) {
        if (op->kind == HF_OP_JOB && !((struct job *)op)->has_begun) {
            hf_timer_heap_set(&client->heap, &op->item, client->now);
            break;
        }
    }
}

static bool is_one_running(const struct hf_client *client)
{
    const struct hf_op *op = client->ops.first;
    while (op != NULL &&
           (op->kind != HF_OP_JOB || !((const struct job *)op)->has_begun)) {
        op = op->next;
    }
    return op != NULL;
}

static void on_done(void *user, unsigned node, enum hf_status status,
                    const char *reason)
{
    struct job *job = user;
    uint16_t bit = (uint16_t)(1U << node);
    HF_ASSERT((job->done & bit) == 0);
    job->done |= bit;
    if (status == HF_OK) {
        job->clean |= bit;
    } else {
        note_failure(job, node, status, reason);
    }
    if (job->done == hf_nodes_all(&job->op.client->nodes)) {
        hf_op_finish(&job->op, job->worst);
        call_next(job->op.client);
    }
}

static void begin(struct job *job)
{
    struct hf_client *client = job->op.client;
    struct hf_job_sink sink = {
        .user = job, .finding = on_finding, .done = on_done};
    bool is_survey = job->kind == HF_JOB_LOOK || job->kind == HF_JOB_COUNT;
    int64_t most_ms = is_survey                   ? SURVEY_MS_MAX
                      : job->kind == HF_JOB_LOWER ? LOWER_MS_MAX
                                                  : JOB_MS_MAX;
    job->has_begun = true;
    job->done = (uint16_t)(hf_nodes_all(&client->nodes) & ~job->nodes);
    hf_timer_heap_set(&client->heap, &job->op.item,
                      hf_instant_add(client->now, hf_span_ms(most_ms)));
    for (unsigned i = 0; i < client->nodes.count; i++) {
        if ((job->nodes & (1U << i)) == 0) {
            continue;
        }
        client->in_store++;
        client->store->ops->job(client->store, i, job->kind, &sink);
        client->in_store--;
    }
    client->is_dirty = true;
}

/* It may begin, or its time is over: nodes that have not replied count as
 * HF_UNAVAILABLE. */
static void on_due(struct hf_op *op)
{
    struct job *job = (struct job *)op;
    struct hf_client *client = op->client;
    if (!job->has_begun && is_one_running(client)) {
        hf_timer_heap_set(&client->heap, &op->item, HF_NEVER);
        return;
    }
    if (!job->has_begun) {
        begin(job);
        return;
    }
    client->store->ops->job_cancel(client->store);
    for (unsigned i = 0; i < client->nodes.count; i++) {
        if ((job->done & (1U << i)) == 0) {
            on_done(job, i, HF_UNAVAILABLE, "no answer");
        }
    }
}

/* If it waits, it may be the one that was called. */
static void on_abandon(struct hf_op *op)
{
    struct job *job = (struct job *)op;
    if (job->has_begun) {
        op->client->store->ops->job_cancel(op->client->store);
    }
    job->has_begun = true;
    call_next(op->client);
}

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_JOB,
    .due = on_due,
    .abandon = on_abandon,
};

/* ---- Running ----------------------------------------------------------- */

static void job_init(struct job *job, struct hf_client *client,
                     enum hf_job kind)
{
    hf_op_init(&job->op, client, &handlers);
    job->kind = kind;
    job->is_forced = false;
    job->has_begun = false;
    job->nodes = hf_nodes_all(&client->nodes);
    job->clean = 0;
    job->done = 0;
    job->first = NULL;
    job->worst = HF_OK;
}

static enum hf_status run(struct job *job, struct hf_error *error)
{
    struct hf_client *client = job->op.client;
    bool must_wait = is_one_running(client);
    if (!hf_op_list(&job->op)) {
        return hf_fail_memory(error);
    }
    if (!must_wait) {
        begin(job);
    }
    return hf_op_await(&job->op, error);
}

/* ---- The summary ------------------------------------------------------- */

static bool has_error(const struct job *job, int node)
{
    const struct job_finding *at = job->first;
    while (at != NULL && (at->reported.node != node ||
                          at->reported.severity != HF_FINDING_ERROR)) {
        at = at->next;
    }
    return at != NULL;
}

/* A node with an error may vote, but the job has shown that it cannot be relied
 * on. */
static int count_nodes(const struct job *job)
{
    struct hf_client *client = job->op.client;
    int count = 0;
    for (unsigned i = 0; i < client->nodes.count; i++) {
        struct hf_node node = {.health = HF_NODE_DOWN};
        client->store->ops->describe(client->store, i, client->now, &node);
        count += node.health == HF_NODE_UP && !has_error(job, (int)i) ? 1 : 0;
    }
    return count;
}

/* With a quorum, an unreachable minority is only a warning. */
static void tolerate_away(struct job *job)
{
    for (struct job_finding *at = job->first; at != NULL; at = at->next) {
        if (at->is_away) {
            at->reported.severity = HF_FINDING_WARNING;
        }
    }
}

static enum hf_severity judge(struct job *job, char *text, size_t size)
{
    const struct hf_nodes *nodes = &job->op.client->nodes;
    int count = count_nodes(job);
    bool is_enough = count >= nodes->quorum;
    if (is_enough) {
        tolerate_away(job);
    }
    snprintf(text, size, "%d of %d server%s count%s, %d %s needed", count,
             nodes->count, nodes->count == 1 ? "" : "s",
             nodes->count == 1 ? "s" : "", nodes->quorum,
             nodes->quorum == 1 ? "is" : "are");
    return !is_enough             ? HF_FINDING_ERROR
           : count < nodes->count ? HF_FINDING_WARNING
                                  : HF_FINDING_OK;
}

enum hf_status hf_client_diagnose(struct hf_client *client, hf_finding_fn *each,
                                  void *user, struct hf_error *error)
{
    struct job job;
    if (each == NULL) {
        return hf_fail(error, HF_INVALID, "no callback");
    }
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    job_init(&job, client, HF_JOB_EXAMINE);
    status = run(&job, error);
    char text[HF_TEXT_CLAUSE];
    enum hf_severity severity = judge(&job, text, sizeof(text));
    tell_findings(&job, each, user, &status, error);
    struct hf_finding summary = {
        .severity = severity, .node = -1, .text = text};
    if (status == HF_OK && tell(client, each, user, &summary) != HF_OK) {
        status = hf_fail(error, HF_CANCELLED, "the client was closed");
    }
    hf_client_leave(client);
    return status;
}

/* Survey all nodes before anything is declared. Unless forced, it fails
 * while any node has, or cannot rule out, locks that are held. */
static enum hf_status look(struct hf_client *client, bool is_forced,
                           struct job *job, struct hf_error *error)
{
    job_init(job, client, HF_JOB_LOOK);
    job->is_forced = is_forced;
    snprintf(job->op.error.text, sizeof(job->op.error.text), "%s",
             "nothing was declared");
    enum hf_status status = run(job, error);
    bool is_answered = status != HF_NO_MEMORY && status != HF_CANCELLED;
    return is_forced && is_answered ? HF_OK : status;
}

enum hf_status hf_client_init_nodes(struct hf_client *client, uint32_t flags,
                                    hf_finding_fn *each, void *user,
                                    struct hf_error *error)
{
    struct job looking;
    struct job job;
    if ((flags & ~(uint32_t)HF_INIT_FORCE) != 0) {
        return hf_fail(error, HF_INVALID, "unknown flags: %#x", flags);
    }
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    job_init(&job, client, HF_JOB_INIT);
    status = look(client, (flags & HF_INIT_FORCE) != 0, &looking, error);
    if (status == HF_OK) {
        status = run(&job, error);
    }
    tell_findings(&looking, each, user, &status, error);
    tell_findings(&job, each, user, &status, error);
    hf_client_leave(client);
    return status;
}

/* Counters beyond the bound may be lowered only if no lock can have been held
 * with a fence beyond it: a majority of the nodes has no such counter. With one
 * node, each counter may be a fence, so none is lowered. */
static void lower(struct hf_client *client, unsigned node, uint16_t clean,
                  struct job *job, enum hf_status *status,
                  struct hf_error *error)
{
    job_init(job, client, HF_JOB_LOWER);
    job->nodes = (uint16_t)(1U << node);
    if (client->nodes.count == 1) {
        return;
    }
    if (__builtin_popcount(clean) >= client->nodes.quorum) {
        *status = run(job, error);
    } else {
        on_finding(job, HF_FINDING_WARNING, (int)node,
                   "its counters are kept: no majority of the other nodes can "
                   "show that no fence is beyond their clocks; names that were "
                   "used while a clock ran ahead stay one vote short");
    }
}

enum hf_status hf_client_quarantine_node(struct hf_client *client, int idx,
                                         hf_finding_fn *each, void *user,
                                         struct hf_error *error)
{
    struct job counting;
    struct job declaring;
    struct job lowering;
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    if (idx < 0 || idx >= client->nodes.count) {
        hf_client_leave(client);
        return hf_fail(error, HF_INVALID, "no such node: %d", idx);
    }
    if (!client->url->quarantine) {
        hf_client_leave(client);
        return hf_fail(error, HF_CONFIG,
                       "quarantine=off in the URL: the node would count");
    }
    uint16_t bit = (uint16_t)(1U << (unsigned)idx);
    job_init(&counting, client, HF_JOB_COUNT);
    job_init(&declaring, client, HF_JOB_QUARANTINE);
    job_init(&lowering, client, HF_JOB_LOWER);
    counting.nodes &= (uint16_t)~bit;
    declaring.nodes = bit;
    if (counting.nodes != 0) {
        status = run(&counting, NULL);
    }
    if (status != HF_CANCELLED) {
        status = run(&declaring, error);
    }
    if (status == HF_OK) {
        lower(client, (unsigned)idx, counting.clean, &lowering, &status, error);
    }
    tell_findings(&counting, NULL, NULL, &status, error);
    tell_findings(&declaring, each, user, &status, error);
    tell_findings(&lowering, each, user, &status, error);
    hf_client_leave(client);
    return status;
}

/* Of a node that is up, but refuses or misses requests: the reason for which a
 * lock could not be kept. */
static void add_failure(const struct hf_client *client, int idx,
                        struct hf_node *node)
{
    if (node->health != HF_NODE_UP || node->reason[0] != '\0') {
        return;
    }
    bool is_silent = client->nodes.misses[idx] > 0;
    snprintf(node->reason, sizeof(node->reason), "%.190s",
             client->peers[idx].reason[0] == '\0' && is_silent
                 ? "no answer in time"
                 : client->peers[idx].reason);
}

enum hf_status hf_client_node(struct hf_client *client, int idx,
                              struct hf_node **out)
{
    if (out == NULL) {
        return HF_INVALID;
    }
    *out = NULL;
    enum hf_status status = hf_client_enter(client, NULL);
    if (status != HF_OK) {
        return status;
    }
    bool has_node = idx >= 0 && idx < client->nodes.count;
    struct hf_node *node = has_node ? calloc(1, sizeof(*node)) : NULL;
    if (node != NULL) {
        client->store->ops->describe(client->store, (unsigned)idx, client->now,
                                     node);
        add_failure(client, idx, node);
        node->rtt_us = hf_span_us_floor(client->nodes.rtt[idx]);
    }
    hf_client_leave(client);
    *out = node;
    return node != NULL ? HF_OK : has_node ? HF_NO_MEMORY : HF_INVALID;
}
