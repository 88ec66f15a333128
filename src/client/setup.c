/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up jobs: each node works on its own, and says when it is done. */
#include "client/op.h"

#include "base/assert.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For all that a job does on one node, connecting included. */
#define JOB_MS_MAX 4500

/* Kept until the client is left: whoever is told may call it again. */
struct finding {
    struct finding *next;
    enum hf_severity severity;
    int node;
    char text[];
};

struct job {
    struct hf_op op;
    enum hf_job what;
    uint16_t done;
    struct finding *first;
    enum hf_status worst;
};

/* ---- What came of it --------------------------------------------------- */

static void on_finding(void *user, enum hf_severity severity, int node,
                       const char *text)
{
    struct job *job = user;
    size_t size = strlen(text) + 1;
    struct finding *finding = malloc(sizeof(*finding) + size);
    if (finding == NULL) {
        job->worst = HF_NO_MEMORY;
        return;
    }
    finding->severity = severity;
    finding->node = node;
    memcpy(finding->text, text, size);
    struct finding **at = &job->first;
    while (*at != NULL && (*at)->node <= node) {
        at = &(*at)->next; /* by node, whichever answered first */
    }
    finding->next = *at;
    *at = finding;
}

static void tell_findings(struct job *job, hf_finding_fn *each, void *user)
{
    while (job->first != NULL) {
        struct finding *finding = job->first;
        job->first = finding->next;
        each(user, finding->severity, finding->node, finding->text);
        free(finding);
    }
}

static void append(struct job *job, unsigned node, const char *reason)
{
    struct hf_client *client = job->op.client;
    struct hf_node info = {0};
    size_t used = strlen(job->op.error.text);
    client->store->ops->describe(client->store, node, client->now, &info);
    snprintf(job->op.error.text + used, sizeof(job->op.error.text) - used,
             "%s%s %s", used > 0 ? "; " : "", info.address, reason);
    job->op.error.node =
        job->op.error.node < 0 ? (int)node : job->op.error.node;
}

static void note_failure(struct job *job, unsigned node, enum hf_status status,
                         const char *reason)
{
    if (reason == NULL || reason[0] == '\0') {
        reason = hf_status_text(status);
    }
    if (job->what == HF_JOB_EXAMINE) {
        char text[300];
        snprintf(text, sizeof(text), "cannot be examined: %s", reason);
        on_finding(job, HF_FINDING_UNFIT, (int)node, text);
        return;
    }
    append(job, node, reason);
    job->worst = job->worst == HF_OK ? status : job->worst;
}

static void on_done(void *user, unsigned node, enum hf_status status,
                    const char *reason)
{
    struct job *job = user;
    uint16_t bit = (uint16_t)(1U << node);
    HF_ASSERT((job->done & bit) == 0);
    job->done |= bit;
    if (status != HF_OK) {
        note_failure(job, node, status, reason);
    }
    if (job->done == hf_nodes_all(&job->op.client->nodes)) {
        hf_op_finish(&job->op, job->worst);
    }
}

void hf_job_due(struct hf_op *op)
{
    struct job *job = (struct job *)op;
    struct hf_client *client = op->client;
    client->store->ops->job_cancel(client->store);
    for (unsigned i = 0; i < client->nodes.count; i++) {
        if ((job->done & (1U << i)) == 0) {
            on_done(job, i, HF_UNAVAILABLE, "no answer");
        }
    }
}

/* ---- Running ----------------------------------------------------------- */

static void job_init(struct job *job, struct hf_client *client,
                     enum hf_job what)
{
    hf_op_init(&job->op, client, HF_OP_JOB);
    job->what = what;
    job->done = 0;
    job->first = NULL;
    job->worst = HF_OK;
}

static enum hf_status run(struct job *job, struct hf_error *error)
{
    struct hf_client *client = job->op.client;
    struct hf_job_sink sink = {job, on_finding, on_done};
    if (!hf_op_list(&job->op)) {
        return hf_fail_memory(error);
    }
    hf_heap_set(&client->heap, &job->op.item,
                hf_instant_add(client->now, hf_span_ms(JOB_MS_MAX)));
    for (unsigned i = 0; i < client->nodes.count; i++) {
        client->in_store++;
        client->store->ops->job(client->store, i, job->what, &sink);
        client->in_store--;
    }
    client->is_dirty = true;
    enum hf_status status = hf_op_await(&job->op, error);
    client->store->ops->job_cancel(client->store);
    return status;
}

enum hf_status hf_client_examine(struct hf_client *client, hf_finding_fn *each,
                                 void *user, struct hf_error *error)
{
    struct job job;
    if (each == NULL) {
        return hf_fail(error, HF_INVALID, "no callback");
    }
    enum hf_status status = hf_client_enter(client, error);
    if (status != HF_OK) {
        return status;
    }
    job_init(&job, client, HF_JOB_EXAMINE);
    status = run(&job, error);
    hf_client_leave(client);
    tell_findings(&job, each, user);
    return status;
}

enum hf_status hf_client_init_nodes(struct hf_client *client,
                                    struct hf_error *error)
{
    struct job job;
    enum hf_status status = hf_client_enter(client, error);
    if (status != HF_OK) {
        return status;
    }
    job_init(&job, client, HF_JOB_INIT);
    status = run(&job, error);
    hf_client_leave(client);
    return status;
}

void hf_client_node(struct hf_client *client, int idx, struct hf_node *out)
{
    if (out == NULL) {
        return;
    }
    memset(out, 0, sizeof(*out));
    out->state = HF_NODE_DOWN;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return;
    }
    if (idx >= 0 && idx < client->nodes.count) {
        client->store->ops->describe(client->store, (unsigned)idx, client->now,
                                     out);
        out->rtt_us = client->nodes.rtt[idx].ns / 1000;
    }
    hf_client_leave(client);
}
