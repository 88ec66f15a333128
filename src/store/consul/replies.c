/* SPDX-License-Identifier: Apache-2.0 */
/* REPLIES TO JOBS
 *
 *   GONE      the leader knows no such session, or a transaction found none
 *   ERROR     the request was refused, and nothing done
 *   LOST      all others: a server without a leader, an entry of the log that
 *             was not confirmed. It may be executed yet. The endpoint is left
 *             for the next one
 *
 * WHEN A RENEWAL COUNTS
 *
 *   read the session, consistent ──▶ renew it      sent together, in order
 *        S                                          alive until S + ttl
 *
 * Only the leader's clock ends a session, and a renewal is not in the log: a
 * leader that was replaced may answer it. But the read before it was answered
 * by a leader that a majority had confirmed after S, and the server never goes
 * back to an earlier leader. So when the renewal is answered, either that same
 * leader has executed it after S, or a later leader was elected after S; and
 * that one gives each session its whole ttl anew. In both cases no leader ends
 * it before S + ttl. (Consul 1.8.7: Session.Renew, initializeSessionTimers.) It
 * is 2 ttl in fact, which covers requests through a client agent: see the
 * README. */
#include "store/consul/consul.h"

#include "base/assert.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_OK = 200, STATUS_NONE = 404, STATUS_CONFLICT = 409 };

uint64_t hf_consul_index(const struct hf_http_reply *http)
{
    char *end;
    errno = 0;
    unsigned long long index = strtoull(http->kept[0], &end, 10);
    return errno != 0 || *end != '\0' ? 0 : index;
}

static void saw(struct hf_consul *consul, uint64_t index)
{
    consul->newest = consul->newest < index ? index : consul->newest;
}

/* ---- Parts --------------------------------------------------------------- */

static void fail_reading(struct hf_consul *consul, struct hf_wire_reply *reply)
{
    reply->outcome = HF_WIRE_LOST;
    reply->fault = HF_UNAVAILABLE;
    snprintf(consul->node.why, sizeof(consul->node.why),
             "its answer cannot be read, or memory is exhausted");
    reply->reason = consul->node.why;
}

/** The first error of a transaction. */
static const char *error_of(const json_t *body)
{
    const json_t *error = json_array_get(json_object_get(body, "Errors"), 0);
    const char *what = json_string_value(json_object_get(error, "What"));
    return what == NULL ? "" : what;
}

/* The condition of a transaction does not hold. */
static bool is_conflict(const struct hf_http_reply *http)
{
    return http->status == STATUS_CONFLICT;
}

static bool is_without_session(const json_t *body)
{
    return strstr(error_of(body), "invalid session") != NULL;
}

/* Rights are checked before, and reported like a condition. */
static bool is_denied(const json_t *body)
{
    return strstr(error_of(body), "ermission denied") != NULL;
}

static const json_t *result_of(const json_t *body, size_t at)
{
    const json_t *results = json_object_get(body, "Results");
    return json_object_get(json_array_get(results, at), "KV");
}

/* ---- Sessions ------------------------------------------------------------ */

static bool take_opened(struct hf_consul_job *job, const json_t *body)
{
    const json_t *id = json_object_get(body, "ID");
    HF_ASSERT(job->kind == HF_CONSUL_OPEN);
    return json_string_length(id) == HF_CONSUL_SESSION_LEN &&
           hf_consul_session_read(json_string_value(id), job->reply.session);
}

static void end_renewal(struct hf_consul *consul, struct hf_consul_job *job)
{
    HF_ASSERT(job->kind == HF_CONSUL_RENEW);
    if (job->reply.outcome != HF_WIRE_DONE) {
        return;
    }
    if (!job->has_session) {
        job->reply.outcome = HF_WIRE_GONE;
    } else if (job->is_refused) {
        job->reply.outcome = HF_WIRE_LOST;
        job->reply.fault = HF_UNAVAILABLE;
        snprintf(consul->node.why, sizeof(consul->node.why),
                 "its leader did not renew the session");
        job->reply.reason = consul->node.why;
    }
}

/* ---- Lists --------------------------------------------------------------- */

static void reply_with_list(struct hf_consul *consul, struct hf_consul_job *job,
                            uint64_t revision)
{
    job->reply.entries = consul->list.entries;
    job->reply.n_entries = consul->list.n;
    job->reply.revision = revision;
}

/** The job's own entry in the list. @return NULL: it is not there. */
static const struct hf_wire_entry *find_own(const struct hf_consul *consul,
                                            const struct hf_consul_job *job)
{
    HF_ASSERT(job->keys.len > job->folder.len); /* the key is in the folder */
    const char *rest = job->keys.bytes + job->folder.len;
    size_t len = job->keys.len - job->folder.len;
    for (size_t i = 0; i < consul->list.n; i++) {
        const struct hf_wire_entry *entry = &consul->list.entries[i];
        const char *id = entry->id.data;
        if (entry->id.len == HF_CONSUL_SESSION_LEN + len &&
            memcmp(id + HF_CONSUL_SESSION_LEN, rest, len) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* A try that does not hold at once leaves nothing. Without memory to judge it
 * the request fails, and its key stays for the RELEASE. */
static bool judge_try(struct hf_consul *consul, struct hf_consul_job *job,
                      const struct hf_wire_entry *own)
{
    struct hf_entry_rank rank;
    HF_ASSERT(job->kind == HF_CONSUL_CREATE);
    if (job->when == HF_WIRE_UNLESS_OWN || own == NULL || own->note.len > 0) {
        return false;
    }
    if (!hf_ordered_entry_judge(&consul->node.ordered, &job->reply, own,
                                &rank)) {
        job->has_created = true;
        fail_reading(consul, &job->reply);
        return false;
    }
    return rank.turn != HF_ENTRY_HOLDS;
}

/* Its key is there: a failure from now on may have left it. */
static void ask_again(struct hf_consul *consul, struct hf_consul_job *job,
                      struct hf_instant now)
{
    HF_ASSERT(job->kind == HF_CONSUL_CREATE);
    job->has_created = true;
    if (!hf_consul_ask_list(consul, job, now)) {
        fail_reading(consul, &job->reply);
    }
}

/* Then a waiter's key is created anew. In doubt before the request: also if its
 * reply is lost. */
static void undo(struct hf_consul *consul, struct hf_consul_job *job,
                 const struct hf_wire_entry *own, struct hf_instant now)
{
    HF_ASSERT(own->note.len == 0); /* with a note it is not ours to delete */
    job->has_created = true;
    job->version = own->version;
    bool is_asked = hf_consul_doubt_add(consul, job) &&
                    hf_consul_ask_undo(consul, job, now) &&
                    (job->when == HF_WIRE_UNLESS_OWN
                         ? hf_consul_ask_create(consul, job, now)
                         : hf_consul_ask_list(consul, job, now));
    if (!is_asked) {
        fail_reading(consul, &job->reply);
    }
}

static void begin_create(struct hf_consul *consul, struct hf_consul_job *job,
                         struct hf_instant now)
{
    HF_ASSERT(!job->has_created && job->reply.outcome == HF_WIRE_DONE);
    if (!hf_consul_ask_create(consul, job, now)) {
        job->reply.outcome = HF_WIRE_UNSENT;
        job->reply.fault = HF_NO_MEMORY;
        job->reply.reason = "out of memory";
    }
}

/* Of a LIST, or within a CREATE: before it, or after it. */
static bool take_list(struct hf_consul *consul, struct hf_consul_job *job,
                      const json_t *body, const struct hf_http_reply *http,
                      struct hf_instant now)
{
    bool was_before = job->is_before;
    HF_ASSERT(job->kind == HF_CONSUL_LIST || job->kind == HF_CONSUL_CREATE);
    job->is_before = false;
    if (!hf_consul_list_read(&consul->list, consul->prefix, body, 0, false,
                             http->body_len)) {
        return false;
    }
    saw(consul, hf_consul_index(http));
    reply_with_list(consul, job, hf_consul_index(http));
    if (job->kind != HF_CONSUL_CREATE) {
        return true;
    }
    if (was_before && consul->list.n == 0 && !job->is_withdrawn) {
        begin_create(consul, job, now);
        return true;
    }
    const struct hf_wire_entry *own = find_own(consul, job);
    /* A key that an UNDO may still delete holds nothing. */
    bool is_doubtful =
        own != NULL && own->note.len == 0 && hf_consul_doubt_has(consul, job);
    if (is_doubtful || judge_try(consul, job, own)) {
        undo(consul, job, own, now);
    }
    return true;
}

static bool take_created(struct hf_consul *consul, struct hf_consul_job *job,
                         const json_t *body, const struct hf_http_reply *http,
                         struct hf_instant now)
{
    HF_ASSERT(job->kind == HF_CONSUL_CREATE && !job->is_before);
    if (is_conflict(http) && is_without_session(body)) {
        job->reply.outcome = HF_WIRE_GONE;
        return true;
    }
    if (is_conflict(http)) {
        ask_again(consul, job, now);
        return strstr(error_of(body), "exists") != NULL;
    }
    uint64_t number = hf_consul_number(result_of(body, 0), "CreateIndex");
    job->has_created = true;
    if (number == 0 || !hf_consul_list_read(&consul->list, consul->prefix,
                                            json_object_get(body, "Results"), 1,
                                            true, http->body_len)) {
        return false;
    }
    if (number <= job->newest) {
        hf_consul_node_foreign(consul, number, job->newest, now);
        job->reply.outcome = HF_WIRE_LOST;
        job->reply.fault = HF_CONFIG;
        job->reply.reason = consul->node.why;
        return true;
    }
    saw(consul, number);
    reply_with_list(consul, job, number);
    hf_consul_doubt_remove(consul, job); /* no UNDO knows this version */
    const struct hf_wire_entry *own = find_own(consul, job);
    if (judge_try(consul, job, own)) {
        undo(consul, job, own, now);
    } else {
        job->reply.has_changed = true;
    }
    return true;
}

static bool take_owned(struct hf_consul *consul, struct hf_consul_job *job,
                       const json_t *body, const struct hf_http_reply *http)
{
    struct hf_consul_list *list = &consul->list;
    size_t n = 0;
    HF_ASSERT(job->kind == HF_CONSUL_OWNED);
    if (!hf_consul_list_read(list, consul->prefix, body, 0, false,
                             http->body_len)) {
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        const struct hf_wire_entry *entry = &list->entries[i];
        if (entry->born_ttl_s > 0 &&
            memcmp(entry->entry.owner.session, job->session,
                   HF_SESSION_ID_LEN) == 0) {
            list->entries[n++] = *entry;
        }
    }
    list->n = n;
    reply_with_list(consul, job, hf_consul_index(http));
    return true;
}

static bool take_names(struct hf_consul *consul, struct hf_consul_job *job,
                       const json_t *body, const struct hf_http_reply *http)
{
    HF_ASSERT(job->kind == HF_CONSUL_SCAN || job->kind == HF_CONSUL_MARKS);
    bool is_read =
        hf_consul_list_names(&consul->list, consul->prefix, body,
                             job->kind == HF_CONSUL_MARKS, http->body_len);
    reply_with_list(consul, job, hf_consul_index(http));
    return is_read;
}

/* ---- Changes ------------------------------------------------------------- */

static bool take_replaced(struct hf_consul_job *job, const json_t *body,
                          const struct hf_http_reply *http)
{
    HF_ASSERT(job->kind == HF_CONSUL_REPLACE);
    job->reply.has_changed = !is_conflict(http);
    if (is_conflict(http) && is_without_session(body)) {
        job->reply.outcome = HF_WIRE_GONE;
    }
    return true;
}

static bool take_removed(struct hf_consul *consul, struct hf_consul_job *job,
                         const json_t *body, const struct hf_http_reply *http)
{
    struct hf_wire_entry entry = {.born_ttl_s = 1};
    HF_ASSERT(job->kind == HF_CONSUL_REMOVE);
    if (!hf_consul_list_begin(&consul->list, 0, http->body_len)) {
        return false;
    }
    job->reply.has_changed =
        !is_conflict(http) &&
        hf_consul_state_read(result_of(body, 0), consul->list.arena, &entry) &&
        entry.note.len == 0;
    return true;
}

/* A written key has the index of its transaction; a deleted one, none. */
static void take_written(struct hf_consul_job *job, const json_t *body,
                         const struct hf_http_reply *http)
{
    HF_ASSERT(job->kind == HF_CONSUL_MARK_WRITE ||
              job->kind == HF_CONSUL_VALUE_WRITE);
    job->reply.has_changed = !is_conflict(http);
    job->reply.version = hf_consul_number(result_of(body, 0), "ModifyIndex");
    job->reply.revision = job->reply.version;
}

/* ---- All ----------------------------------------------------------------- */

/** Take the reply of a step. @return false: it cannot be read. */
static bool take_body(struct hf_consul *consul,
                      const struct hf_http_pending *request, const json_t *body,
                      const struct hf_http_reply *http, struct hf_instant now)
{
    struct hf_consul_job *job = request->user;
    switch ((enum hf_consul_step)request->cookie) {
    case HF_CONSUL_ASK_OPEN:
        return take_opened(job, body);
    case HF_CONSUL_ASK_INFO:
        job->has_session = json_array_size(body) > 0;
        return json_is_array(body);
    case HF_CONSUL_ASK_RENEW:
        job->is_refused |= http->status == STATUS_NONE;
        return true;
    case HF_CONSUL_ASK_LIST:
        return take_list(consul, job, body, http, now);
    case HF_CONSUL_ASK_OWNED:
        return take_owned(consul, job, body, http);
    case HF_CONSUL_ASK_CREATE:
        return take_created(consul, job, body, http, now);
    case HF_CONSUL_ASK_READ:
        return !is_conflict(http) &&
               hf_consul_read_take(consul, job, body, http->body_len, now);
    case HF_CONSUL_ASK_REPLACE:
        return take_replaced(job, body, http);
    case HF_CONSUL_ASK_SCAN:
        return take_names(consul, job, body, http);
    case HF_CONSUL_ASK_REMOVE:
        return take_removed(consul, job, body, http);
    case HF_CONSUL_ASK_UNDO:
        hf_consul_doubt_remove(consul, job); /* done, or of another version */
        return true;
    case HF_CONSUL_ASK_MARK:
        return hf_consul_mark_take(consul, job, body, http);
    case HF_CONSUL_ASK_MARK_WRITE:
        take_written(job, body, http);
        return true;
    case HF_CONSUL_ASK_LEADER:
    case HF_CONSUL_ASK_SELF:
    case HF_CONSUL_ASK_PROBE:
    case HF_CONSUL_ASK_PROBE_SESSION:
    case HF_CONSUL_ASK_PROBE_VALUES:
    case HF_CONSUL_ASK_CLOSE:
        break;
    }
    return true;
}

/** Is it one that the step reads? Consul names its index also where there is no
 * key; a proxy that has no such page does not. */
static bool is_expected(enum hf_consul_step step,
                        const struct hf_http_reply *http, const json_t *body)
{
    unsigned status = http->status;
    bool is_ok = status == STATUS_OK && body != NULL;
    switch (step) {
    case HF_CONSUL_ASK_LIST:
    case HF_CONSUL_ASK_OWNED:
    case HF_CONSUL_ASK_SCAN:
    case HF_CONSUL_ASK_MARK:
        return is_ok || (status == STATUS_NONE && hf_consul_index(http) != 0);
    case HF_CONSUL_ASK_RENEW:
        return is_ok || status == STATUS_NONE;
    case HF_CONSUL_ASK_CREATE:
    case HF_CONSUL_ASK_REPLACE:
    case HF_CONSUL_ASK_REMOVE:
    case HF_CONSUL_ASK_UNDO:
    case HF_CONSUL_ASK_MARK_WRITE:
    case HF_CONSUL_ASK_PROBE:
    case HF_CONSUL_ASK_PROBE_VALUES:
        return is_ok || status == STATUS_CONFLICT;
    case HF_CONSUL_ASK_LEADER:
    case HF_CONSUL_ASK_SELF:
    case HF_CONSUL_ASK_PROBE_SESSION:
    case HF_CONSUL_ASK_OPEN:
    case HF_CONSUL_ASK_INFO:
    case HF_CONSUL_ASK_CLOSE:
    case HF_CONSUL_ASK_READ:
        break;
    }
    return is_ok;
}

/* The job is over: give its reply to the call, and free it. */
static void finish(struct hf_consul *consul, struct hf_consul_job *job,
                   struct hf_instant now)
{
    struct hf_wire_call *call = job->call;
    struct hf_wire_reply *reply = &job->reply;
    HF_ASSERT(job->pending == 0);
    if (job->kind == HF_CONSUL_RENEW) {
        end_renewal(consul, job);
    } else if (job->kind == HF_CONSUL_READ) {
        hf_consul_read_end(job);
    }
    if (job->has_created && reply->outcome != HF_WIRE_DONE &&
        reply->outcome != HF_WIRE_GONE) {
        reply->outcome = HF_WIRE_LOST;
    }
    hf_wire_reply_settle(reply);
    if (call->done != NULL) {
        consul->delivering = job;
        call->done(call, reply, now);
        consul->delivering = NULL;
    }
    hf_consul_job_free(consul, job);
}

/* The first failure of a job counts. */
static void note_failure(struct hf_consul_job *job,
                         const struct hf_wire_reply *failure)
{
    HF_ASSERT(failure->outcome != HF_WIRE_DONE);
    if (job->reply.outcome == HF_WIRE_DONE) {
        job->reply.outcome = failure->outcome;
        job->reply.fault = failure->fault;
        job->reply.reason = failure->reason;
    }
}

static void
take_for_job(struct hf_consul *consul, const struct hf_http_pending *request,
             const json_t *body, const struct hf_http_reply *http,
             const struct hf_wire_reply *read, struct hf_instant now)
{
    struct hf_consul_job *job = request->user;
    struct hf_wire_reply failure = *read;
    bool is_first = job->reply.sent.ns == 0;
    HF_ASSERT(job->pending > 0);
    job->pending--;
    job->reply.sent = is_first ? request->sent : job->reply.sent;
    if (read->outcome == HF_WIRE_DONE &&
        !take_body(consul, request, body, http, now)) {
        fail_reading(consul, &failure);
    }
    if (failure.outcome != HF_WIRE_DONE) {
        note_failure(job, &failure);
    } else {
        consul->node.ordered.rtt = hf_span_smooth(
            consul->node.ordered.rtt, hf_instant_until(request->sent, now));
    }
    if (failure.outcome == HF_WIRE_LOST) {
        hf_endpoints_fail(&consul->node, failure.fault, consul->node.why);
    }
    if (job->pending == 0) {
        finish(consul, job, now);
    }
}

void hf_consul_take(struct hf_consul *consul,
                    const struct hf_http_pending *request,
                    const struct hf_http_reply *http, struct hf_instant now)
{
    struct hf_wire_reply reply = {.outcome = HF_WIRE_DONE,
                                  .sent = request->sent};
    enum hf_consul_step step = (enum hf_consul_step)request->cookie;
    json_t *body = hf_consul_json(http);
    if (!is_expected(step, http, body)) {
        hf_consul_refused(consul, http, &reply);
    } else if (is_conflict(http) && is_denied(body)) {
        hf_consul_denied(consul, error_of(body), &reply);
    }
    if (step == HF_CONSUL_ASK_LEADER) {
        hf_consul_node_greeted(consul,
                               reply.outcome == HF_WIRE_DONE ? body : NULL,
                               reply.fault, now);
    } else if (step == HF_CONSUL_ASK_SELF || step == HF_CONSUL_ASK_PROBE ||
               step == HF_CONSUL_ASK_PROBE_SESSION ||
               step == HF_CONSUL_ASK_PROBE_VALUES) {
        hf_consul_examined(consul, step, body, &reply, now);
    } else {
        take_for_job(consul, request, body, http, &reply, now);
    }
    json_decref(body);
}

void hf_consul_take_lost(struct hf_consul *consul,
                         const struct hf_http_pending *request, bool is_unsent,
                         struct hf_instant now)
{
    struct hf_consul_job *job = request->user;
    struct hf_wire_reply failure = {
        .outcome = is_unsent ? HF_WIRE_UNSENT : HF_WIRE_LOST,
        .fault = HF_UNAVAILABLE,
        .reason = consul->node.http.reason,
    };
    if (job == NULL) {
        return;
    }
    if (job->is_before) {
        failure.outcome = HF_WIRE_UNSENT; /* it only read */
    }
    bool is_first = job->reply.sent.ns == 0;
    job->reply.sent = is_first ? request->sent : job->reply.sent;
    HF_ASSERT(job->pending > 0);
    job->pending--;
    note_failure(job, &failure);
    if (job->pending == 0) {
        finish(consul, job, now);
    }
}
