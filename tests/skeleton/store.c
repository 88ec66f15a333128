/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that the client calls; store/store.h describes them. */
#include "skeleton.h"

#include "base/assert.h"
#include "base/fail.h"
#include "base/glob.h"
#include "io/clock.h"
#include "io/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct hf_store_ops skeleton_ops;

/* A job that was asked for: it ends from the loop, not inside job(). */
struct job {
    bool is_due;
    enum hf_job job;
    struct hf_job_sink sink;
};

struct skeleton {
    struct hf_store store; /* must come first */
    struct hf_store_env env;
    struct hf_timer turn;
    struct job job;
    struct names *names;
    struct hf_span fence_keep;
    char *prefix;
    char *address;
};

/* ---- Requests ------------------------------------------------------------ */

static void answer_fault(struct skeleton *skeleton, struct hf_answer *answer,
                         enum hf_status fault, const char *reason)
{
    answer->verdict = HF_VERDICT_ERROR;
    answer->fault = fault;
    answer->reason = reason;
    skeleton->env.answer(skeleton->env.client, answer);
}

static bool is_listed(const struct skeleton *skeleton, const struct name *name,
                      const struct hf_ask *ask, const struct moment *now)
{
    size_t len = strlen(skeleton->prefix);
    return (skeleton_is_taken(name, now) || skeleton_is_marked(name, now)) &&
           name->key_len >= len &&
           memcmp(name->key, skeleton->prefix, len) == 0 &&
           (ask->name_len == 0 ||
            hf_glob_match(ask->name, ask->name_len, name->key + len,
                          name->key_len - len));
}

/* Which names are taken? All at once, so the next cursor is 0. Names stay in
 * memory while they are taken, but they may be freed once that is over: copy.
 */
static void scan(struct skeleton *skeleton, const struct hf_ask *ask,
                 struct hf_answer *answer)
{
    struct moment now;
    size_t prefix_len = strlen(skeleton->prefix);
    size_t n = 0, room = 0;
    skeleton_names_lock(skeleton->names, &now);
    struct name *first = skeleton_names_first(skeleton->names);
    for (const struct name *name = first; name != NULL; name = name->next) {
        room += name->key_len;
        n++;
    }
    struct hf_bytes *found = malloc((n + 1) * sizeof(*found) + room);
    char *bytes = (char *)(found + n + 1);
    for (const struct name *name = first; found != NULL && name != NULL;
         name = name->next) {
        if (is_listed(skeleton, name, ask, &now)) {
            size_t len = name->key_len - prefix_len;
            memcpy(bytes, name->key + prefix_len, len);
            found[answer->n_names++] = (struct hf_bytes){bytes, len};
            bytes += len;
        }
    }
    skeleton_names_unlock(skeleton->names);
    if (found == NULL) {
        answer_fault(skeleton, answer, HF_NO_MEMORY, "out of memory");
        return;
    }
    answer->verdict = HF_VERDICT_OK;
    answer->names = found;
    skeleton->env.answer(skeleton->env.client, answer);
    free(found);
}

/* All holders and waiters: here at most the one holder. */
static void list_holder(struct hf_answer *answer, struct hf_seat *seat)
{
    *seat = (struct hf_seat){.owner = answer->owner,
                             .owner_len = answer->owner_len,
                             .left_ms = answer->left_ms};
    answer->seats = seat;
    answer->n_seats = answer->owner_len > 0 ? 1 : 0;
}

/* Executes at once, and answers before it returns. */
static void ask_store(struct hf_store *store, const struct hf_ask *ask,
                      struct hf_instant now)
{
    struct skeleton *skeleton = (struct skeleton *)store;
    struct moment moment;
    struct text text;
    struct hf_seat seat;
    struct hf_answer answer = {.cookie = ask->cookie,
                               .verb = ask->verb,
                               .node = ask->node,
                               .sent = now};
    HF_ASSERT(ask->node == 0);
    if (ask->verb == HF_VERB_SCAN) {
        scan(skeleton, ask, &answer);
        return;
    }
    skeleton_names_lock(skeleton->names, &moment);
    struct name *name = skeleton_name_get(
        skeleton->names, &moment, skeleton->prefix, ask, skeleton->fence_keep);
    if (name != NULL) {
        skeleton_execute(name, &moment, ask, &answer, &text);
    }
    skeleton_names_unlock(skeleton->names);
    if (name == NULL) {
        answer_fault(skeleton, &answer, HF_NO_MEMORY, "out of memory");
        return;
    }
    if (ask->verb == HF_VERB_QUEUE) {
        list_holder(&answer, &seat);
    }
    skeleton->env.answer(skeleton->env.client, &answer);
}

/* ---- Jobs ---------------------------------------------------------------- */

static void take_turn(struct hf_timer *timer, struct hf_instant now)
{
    struct skeleton *skeleton =
        (struct skeleton *)((char *)timer - offsetof(struct skeleton, turn));
    struct hf_job_sink sink = skeleton->job.sink;
    (void)now;
    if (!skeleton->job.is_due) {
        return;
    }
    skeleton->job.is_due = false;
    if (skeleton->job.job == HF_JOB_EXAMINE) {
        sink.finding(sink.user, HF_FINDING_WARNING, 0,
                     "a store for tests: other processes are not excluded");
    }
    if (skeleton->job.job == HF_JOB_QUARANTINE) {
        sink.done(
            sink.user, 0, HF_UNSUPPORTED,
            "skeleton: has no quarantine: its locks end with the process");
        return;
    }
    sink.done(sink.user, 0, HF_OK, NULL);
}

static void start_job(struct hf_store *store, unsigned node, enum hf_job job,
                      const struct hf_job_sink *sink)
{
    struct skeleton *skeleton = (struct skeleton *)store;
    HF_ASSERT(node == 0 && !skeleton->job.is_due);
    skeleton->job = (struct job){true, job, *sink};
    hf_timer_set(&skeleton->turn, hf_clock_now());
}

static void cancel_job(struct hf_store *store)
{
    ((struct skeleton *)store)->job.is_due = false;
}

/* ---- Opening and closing ------------------------------------------------- */

static void free_store(struct skeleton *skeleton)
{
    free(skeleton->prefix);
    free(skeleton->address);
    free(skeleton);
}

static enum hf_status
set_up(struct skeleton *skeleton, const struct hf_url *url,
       const struct hf_store_env *env, struct hf_error *error)
{
    skeleton->store = (struct hf_store){&skeleton_ops, 1};
    skeleton->env = *env;
    skeleton->fence_keep = hf_span_ms(url->fence_keep_ms);
    skeleton->prefix = strdup(url->prefix);
    skeleton->address = strdup(url->display);
    if (skeleton->prefix == NULL || skeleton->address == NULL) {
        return hf_fail_memory(error);
    }
    return skeleton_names_open(url->address, &skeleton->names, error);
}

/* A server would be CONNECTING now, and VOTING once it is known to be the one
 * that it was; one that can lose its data needs core/quarantine.h. */
static enum hf_status open_store(const struct hf_url *url,
                                 const struct hf_store_env *env,
                                 struct hf_store **out, struct hf_error *error)
{
    *out = NULL;
    enum hf_status status = hf_url_refuse_options(url, error);
    if (status == HF_OK) {
        status = hf_url_refuse_tls(url, NULL, error);
    }
    if (status != HF_OK) {
        return status;
    }
    struct skeleton *skeleton = calloc(1, sizeof(*skeleton));
    if (skeleton == NULL) {
        return hf_fail_memory(error);
    }
    status = set_up(skeleton, url, env, error);
    if (status != HF_OK) {
        free_store(skeleton);
        return status;
    }
    skeleton->turn = (struct hf_timer){.at = HF_NEVER, .fire = take_turn};
    hf_loop_add_timer(env->loop, &skeleton->turn);
    *out = &skeleton->store;
    env->status(env->client, 0, HF_NODE_STATUS_VOTING, false, HF_OK, NULL);
    return HF_OK;
}

/* The names stay: other clients, and later ones, have them too. */
static void close_store(struct hf_store *store, bool is_forked)
{
    struct skeleton *skeleton = (struct skeleton *)store;
    (void)is_forked; /* nothing is sent anyway */
    if (skeleton != NULL) {
        hf_loop_drop_timer(skeleton->env.loop, &skeleton->turn);
        free_store(skeleton);
    }
}

static void describe(const struct hf_store *store, unsigned node,
                     struct hf_instant now, struct hf_node *out)
{
    const struct skeleton *skeleton = (const struct skeleton *)store;
    (void)node;
    (void)now;
    memset(out, 0, sizeof(*out));
    snprintf(out->address, sizeof(out->address), "%.110s", skeleton->address);
    out->health = HF_NODE_UP;
}

/* ---- The table ----------------------------------------------------------- */

static const char *const schemes[] = {"skeleton", "skel", NULL};

const struct hf_store_ops skeleton_ops = {
    .name = "skeleton",
    .schemes = schemes,
    .capabilities = HF_CAP_RECORDS | HF_CAP_FENCES,
    /* A poll costs a microsecond. A wait ends one base before its time. */
    .retry_base = {1000},
    .retry_cap = {50000000},
    .open = open_store,
    .close = close_store,
    .ask = ask_store,
    .describe = describe,
    .job = start_job,
    .job_cancel = cancel_job,
};

HF_STORE_MODULE(skeleton_ops);
