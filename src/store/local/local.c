/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store: locks for all processes of one machine, without a server.
 * One folder has two files: the gate (gate.c), a mutex that each transaction
 * takes, and the records (table.c), which the verbs of verbs.c, release.c and
 * break.c change. Values have a third file (values.c), which is written to
 * disk. A waiter is notified of its grant on a unix socket (wake.c). */
#include "store/local/local.h"

#include "base/assert.h"
#include "base/fail.h"
#include "io/clock.h"
#include "io/standard_fds.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Called from the loop ---------------------------------------------- */

static void run_job(struct hf_local *local)
{
    struct hf_job_sink sink = local->job.copy;
    struct hf_error error = {.text = ""};
    const char *reason = error.text;
    enum hf_status status = HF_OK;
    if (local->job.sink == NULL) {
        return;
    }
    local->job.sink = NULL;
    switch (local->job.job) {
    case HF_JOB_EXAMINE:
        hf_local_examine(local, &sink);
        break;
    case HF_JOB_INIT:
        status = hf_local_set_up(local, &error);
        break;
    case HF_JOB_QUARANTINE:
        status = HF_UNSUPPORTED;
        reason = "the embedded store has no quarantine: its locks end with "
                 "the machine's boot";
        break;
    case HF_JOB_COUNT:
    case HF_JOB_LOWER:
    case HF_JOB_LOOK:
        break; /* no finding that speaks against INIT */
    }
    sink.done(sink.user, 0, status, status == HF_OK ? NULL : reason);
}

static void take_turn(struct hf_timer *timer, struct hf_instant now)
{
    struct hf_local *local =
        (struct hf_local *)((char *)timer - offsetof(struct hf_local, turn));
    (void)now;
    if (local->has_news) {
        local->has_news = false;
        local->env.listen(local->env.client, 0, true);
    }
    run_job(local);
}

/* ---- Opening and closing ----------------------------------------------- */

/* Inside the gate, so that no process grows the file between fstat() and
 * mmap(). */
static enum hf_status open_table(struct hf_local *local, struct hf_error *error)
{
    char reason[HF_REASON_MAX];
    enum hf_status status = hf_gate_enter(&local->gate, reason, sizeof(reason));
    if (status != HF_OK) {
        return hf_fail(error, status, "%s: %s", local->folder.path, reason);
    }
    status = hf_table_open(&local->table, &local->gate, error);
    hf_gate_leave(&local->gate);
    return status;
}

static enum hf_status open_files(struct hf_local *local, const char *wanted,
                                 struct hf_error *error)
{
    enum hf_status status = hf_folder_open(wanted, &local->folder, error);
    if (status != HF_OK) {
        return status;
    }
    local->gate.env = &local->env;
    local->gate.pid_space = hf_pid_space(&local->view);
    status = hf_gate_open(&local->gate, &local->folder, local->patience,
                          local->fence_base, hf_table_renew, error);
    if (status != HF_OK) {
        return status;
    }
    status = open_table(local, error);
    if (status != HF_OK) {
        hf_gate_close(&local->gate);
    }
    local->is_open = status == HF_OK;
    return status;
}

enum hf_status hf_local_open(struct hf_local *local, const char *wanted,
                             struct hf_error *error)
{
    struct hf_standard_fds standard;
    hf_standard_fds_cover(&standard); /* set-up opens them anew */
    enum hf_status status = open_files(local, wanted, error);
    hf_standard_fds_uncover(&standard);
    return status;
}

void hf_local_close(struct hf_local *local)
{
    hf_values_close(&local->values);
    if (local->is_open) {
        hf_table_close(&local->table);
        hf_gate_close(&local->gate);
    }
    local->is_open = false;
}

/* A client for set-up gets a store even if its files cannot be opened: then
 * jobs report the reason, or repair it, and requests fail with it. */
static enum hf_status open_or_note(struct hf_local *local,
                                   const struct hf_url *url,
                                   struct hf_error *error)
{
    struct hf_error found = {.text = ""};
    enum hf_status status = hf_local_open(local, url->path, &found);
    if (status == HF_OK || status == HF_CANCELLED || !local->env.is_for_setup) {
        return status == HF_OK ? HF_OK
                               : hf_fail(error, status, "%s", found.text);
    }
    local->fault = status;
    snprintf(local->reason, sizeof(local->reason), "%.500s", found.text);
    return HF_OK;
}

static enum hf_status open_local(const struct hf_url *url,
                                 const struct hf_store_env *env,
                                 struct hf_store **out, struct hf_error *error)
{
    *out = NULL;
    struct hf_local *local = calloc(1, sizeof(*local));
    if (local == NULL) {
        return hf_fail_memory(error);
    }
    local->store = (struct hf_store){&hf_store_local, 1};
    local->env = *env;
    local->fence_keep = hf_span_ms(url->fence_keep_ms);
    local->fence_base = url->fence_base;
    local->is_named = url->path != NULL;
    local->patience = hf_span_ms(url->node_timeout_ms);
    local->prefix = strdup(url->prefix);
    enum hf_status status = local->prefix == NULL
                                ? hf_fail_memory(error)
                                : open_or_note(local, url, error);
    if (status != HF_OK) {
        free(local->prefix);
        free(local);
        return status;
    }
    hf_wake_init(&local->wake, hf_local_hear);
    local->turn = (struct hf_timer){.at = HF_NEVER, .fire = take_turn};
    hf_loop_add_timer(env->loop, &local->turn);
    *out = &local->store;
    env->status(env->client, 0,
                local->is_open ? HF_NODE_STATUS_VOTING : HF_NODE_STATUS_DOWN,
                false, local->fault, local->is_open ? NULL : local->reason);
    return HF_OK;
}

static void close_local(struct hf_store *store, bool is_forked)
{
    struct hf_local *local = (struct hf_local *)store;
    if (local == NULL) {
        return;
    }
    hf_loop_drop_timer(local->env.loop, &local->turn);
    hf_wake_close(&local->wake, is_forked ? NULL : local->env.loop);
    hf_local_close(local);
    free(local->grants.of);
    free(local->refused.of);
    free(local->suspects.sharers);
    free(local->prefix);
    free(local);
}

/* ---- Diagnosis --------------------------------------------------------- */

static void describe(const struct hf_store *store, unsigned node,
                     struct hf_instant now, struct hf_node *out)
{
    const struct hf_local *local = (const struct hf_local *)store;
    HF_ASSERT(node == 0);
    (void)now;
    memset(out, 0, sizeof(*out));
    snprintf(out->address, sizeof(out->address), "local://%.110s",
             local->folder.path);
    bool is_up = local->is_open && !local->is_cut_off;
    out->health = is_up ? HF_NODE_UP : HF_NODE_DOWN;
    if (!is_up) {
        snprintf(out->reason, sizeof(out->reason), "%.190s",
                 local->is_open ? HF_LOCAL_CUT_OFF : local->reason);
    }
}

static void start_job(struct hf_store *store, unsigned node, enum hf_job job,
                      const struct hf_job_sink *sink)
{
    struct hf_local *local = (struct hf_local *)store;
    HF_ASSERT(node == 0);
    HF_ASSERT(local->job.sink == NULL);
    local->job.job = job;
    local->job.copy = *sink;
    local->job.sink = &local->job.copy;
    hf_timer_set(&local->turn, hf_clock_now());
}

static void cancel_job(struct hf_store *store)
{
    struct hf_local *local = (struct hf_local *)store;
    local->job.sink = NULL;
}

/* A poll costs a microsecond or two, and a read of /proc: after 100 us a short
 * hold is over. At most 50 ms, which a person does not notice. */
#define RETRY_BASE_US 100
#define RETRY_CAP_US 50000

static const char *const schemes[] = {"local", NULL};

const struct hf_store_ops hf_store_local = {
    .name = "local",
    .schemes = schemes,
    .capabilities = HF_CAP_LIVENESS | HF_CAP_QUEUE | HF_CAP_SHARED |
                    HF_CAP_VALUES | HF_CAP_RECORDS | HF_CAP_FENCES,
    .retry_base = {RETRY_BASE_US * INT64_C(1000)},
    .retry_cap = {RETRY_CAP_US * INT64_C(1000)},
    .open = open_local,
    .close = close_local,
    .ask = hf_local_ask,
    .flush = NULL,
    .describe = describe,
    .job = start_job,
    .job_cancel = cancel_job,
};
