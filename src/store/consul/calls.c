/* SPDX-License-Identifier: Apache-2.0 */
/* CALLS AS JOBS
 *
 *   RENEW              info, renew           both sent at once
 *   CREATE unless own  create ──▶ [there is one: list]
 *   CREATE if free     list ──▶ [nothing there] create ──▶ [it does not hold:
 *                      undo, list]
 *   CREATE if since    create ──▶ [it does not hold: undo, list]
 *   READ               a transaction for each 64 keys
 *   others             one request
 *
 * Consul compares no ranges. So a try that does not hold at once is undone: its
 * entry is there for a moment, and if the client dies in that, until its
 * session ends. Newer entries do no harm to one that holds.
 *
 * A REMOVE may overtake the create of a CREATE that lists first. It withdraws
 * that, and the key is never made.
 *
 * Cost: one round trip for each arrow, and one before the first. So a lock that
 * is free costs two to try and one to wait for; a try that is refused, one. An
 * undo and the request after it are sent together. A READ of 128 keys takes
 * two, one after the other. OWNED reads all keys below the prefix, of whatever
 * name. Transactions that write, open and close are entries of Consul's log. */
#include "store/consul/consul.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* ---- Jobs ---------------------------------------------------------------- */

void hf_consul_job_free(struct hf_consul *consul, struct hf_consul_job *job)
{
    if (job->before != NULL) {
        job->before->next = job->next;
    } else {
        consul->list_of_jobs = job->next;
    }
    if (job->next != NULL) {
        job->next->before = job->before;
    }
    hf_wire_text_fini(&job->folder);
    hf_wire_text_fini(&job->keys);
    hf_wire_text_fini(&job->notes);
    free(job->entries);
    free(job);
}

struct hf_consul_job *hf_consul_job_new(struct hf_consul *consul,
                                        enum hf_consul_job_kind kind,
                                        struct hf_wire_call *call)
{
    struct hf_consul_job *job = calloc(1, sizeof(*job));
    if (job != NULL) {
        job->kind = kind;
        job->call = call;
        job->reply.outcome = HF_WIRE_DONE;
        job->next = consul->list_of_jobs;
        if (job->next != NULL) {
            job->next->before = job;
        }
        consul->list_of_jobs = job;
    }
    return job;
}

bool hf_consul_job_start(struct hf_consul *consul, struct hf_consul_job *job,
                         bool is_asked)
{
    if (!is_asked && job->pending == 0) {
        hf_consul_job_free(consul, job);
        return false;
    }
    return true;
}

/* ---- Sessions ------------------------------------------------------------ */

static bool call_open(struct hf_wire *wire, int64_t ttl_s,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    hf_endpoints_look(&consul->node, now);
    struct hf_consul_job *job = hf_consul_job_new(consul, HF_CONSUL_OPEN, call);
    int64_t server_s = ttl_s < consul->ttl_min_s ? consul->ttl_min_s : ttl_s;
    if (job == NULL) {
        return false;
    }
    job->reply.term = HF_WIRE_TERM_ANY;
    job->reply.ttl_ms = server_s * 1000;
    return hf_consul_job_start(
        consul, job,
        hf_consul_ask_open(consul, HF_CONSUL_ASK_OPEN, job, server_s, now));
}

/* Why a renewal counts: replies.c. */
static bool call_renew(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    hf_endpoints_look(&consul->node, now);
    struct hf_consul_job *job =
        hf_consul_job_new(consul, HF_CONSUL_RENEW, call);
    if (job == NULL) {
        return false;
    }
    job->reply.term = HF_WIRE_TERM_ANY;
    bool is_asked =
        hf_consul_ask_session(consul, HF_CONSUL_ASK_INFO, session, job, now) &&
        hf_consul_ask_session(consul, HF_CONSUL_ASK_RENEW, session, job, now);
    if (!is_asked) {
        job->is_refused = true; /* the first half proves nothing */
    }
    return hf_consul_job_start(consul, job, is_asked);
}

static bool call_close(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    struct hf_consul_job *job =
        hf_consul_job_new(consul, HF_CONSUL_CLOSE, call);
    return job != NULL && hf_consul_job_start(
                              consul, job,
                              hf_consul_ask_session(consul, HF_CONSUL_ASK_CLOSE,
                                                    session, job, now));
}

/* Consul does not list the keys that a session has locked: all are read. */
static bool call_owned(struct hf_wire *wire, const uint8_t *session,
                       struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    struct hf_consul_job *job =
        hf_consul_job_new(consul, HF_CONSUL_OWNED, call);
    if (job == NULL) {
        return false;
    }
    memcpy(job->session, session, sizeof(job->session));
    return hf_consul_job_start(
        consul, job, hf_consul_ask_all(consul, HF_CONSUL_ASK_OWNED, job, now));
}

/* ---- Entries ------------------------------------------------------------- */

static bool has_text(const struct hf_consul_job *job)
{
    return !job->folder.has_failed && !job->keys.has_failed;
}

static bool call_create(struct hf_wire *wire, const struct hf_wire_key *key,
                        enum hf_wire_when when, uint64_t revision,
                        struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    struct hf_consul_job *job =
        hf_consul_job_new(consul, HF_CONSUL_CREATE, call);
    if (job == NULL) {
        return false;
    }
    HF_ASSERT(when == HF_WIRE_IF_SINCE || revision == 0);
    job->when = when;
    job->is_before = when == HF_WIRE_IF_FREE;
    job->reply.term = HF_WIRE_TERM_ANY;
    memcpy(job->session, key->session, sizeof(job->session));
    hf_consul_key_folder(&job->folder, consul->prefix, key->name);
    hf_consul_key_entry(&job->keys, consul->prefix, key);
    return hf_consul_job_start(
        consul, job,
        has_text(job) &&
            (job->is_before ? hf_consul_ask_list(consul, job, now)
                            : hf_consul_ask_create(consul, job, now)));
}

static bool call_list(struct hf_wire *wire, struct hf_bytes name,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    hf_endpoints_look(&consul->node, now);
    struct hf_consul_job *job = hf_consul_job_new(consul, HF_CONSUL_LIST, call);
    if (job == NULL) {
        return false;
    }
    job->reply.term = HF_WIRE_TERM_ANY;
    hf_consul_key_folder(&job->folder, consul->prefix, name);
    return hf_consul_job_start(
        consul, job, has_text(job) && hf_consul_ask_list(consul, job, now));
}

/* An id is the session that it was under, and the key after its folder. */
static void add_id(const struct hf_consul *consul, struct hf_bytes name,
                   struct hf_bytes id, struct hf_wire_text *out)
{
    HF_ASSERT(id.len >= HF_CONSUL_SESSION_LEN);
    hf_consul_key_folder(out, consul->prefix, name);
    hf_wire_text_add(out, (const char *)id.data + HF_CONSUL_SESSION_LEN,
                     id.len - HF_CONSUL_SESSION_LEN);
}

static void add_key(const struct hf_consul *consul,
                    const struct hf_wire_key *key, struct hf_wire_text *out)
{
    if (key->id.len > 0) {
        add_id(consul, key->name, key->id, out);
    } else {
        hf_consul_key_entry(out, consul->prefix, key);
    }
}

/* Its parts are read one after the other: each after the call was made. */
static bool call_read(struct hf_wire *wire, const struct hf_wire_key *keys,
                      size_t n, struct hf_wire_call *call,
                      struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    HF_ASSERT(n >= 1 && n <= HF_WIRE_READ_MAX);
    struct hf_consul_job *job = hf_consul_job_new(consul, HF_CONSUL_READ, call);
    if (job == NULL) {
        return false;
    }
    job->reply.term = HF_WIRE_TERM_ANY;
    job->n = n;
    job->entries = calloc(n, sizeof(*job->entries));
    for (size_t i = 0; i < n; i++) {
        add_key(consul, &keys[i], &job->keys);
        hf_wire_text_add(&job->keys, "", 1);
    }
    return hf_consul_job_start(consul, job,
                               job->entries != NULL && has_text(job) &&
                                   hf_consul_ask_read(consul, job, 0, now));
}

static bool call_replace(struct hf_wire *wire,
                         const struct hf_wire_change *change,
                         struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    struct hf_consul_job *job =
        hf_consul_job_new(consul, HF_CONSUL_REPLACE, call);
    if (job == NULL) {
        return false;
    }
    job->reply.term = HF_WIRE_TERM_ANY;
    add_id(consul, change->name, change->id, &job->keys);
    return hf_consul_job_start(
        consul, job,
        has_text(job) && hf_consul_ask_replace(consul, job, change, now));
}

/* Consul lists all names in one page. */
static bool call_scan(struct hf_wire *wire, struct hf_bytes from,
                      struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    hf_endpoints_look(&consul->node, now);
    struct hf_consul_job *job = hf_consul_job_new(consul, HF_CONSUL_SCAN, call);
    HF_ASSERT(from.len == 0);
    return job != NULL &&
           hf_consul_job_start(
               consul, job,
               hf_consul_ask_all(consul, HF_CONSUL_ASK_SCAN, job, now));
}

/* Creates of this key that are not asked for yet. */
static void withdraw(struct hf_consul *consul, const struct hf_wire_text *key)
{
    for (struct hf_consul_job *job = consul->list_of_jobs; job != NULL;
         job = job->next) {
        if (job->kind == HF_CONSUL_CREATE && job->is_before &&
            job->keys.len == key->len &&
            memcmp(job->keys.bytes, key->bytes, key->len) == 0) {
            job->is_withdrawn = true;
        }
    }
}

static bool call_remove(struct hf_wire *wire, const struct hf_wire_key *key,
                        struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    struct hf_consul_job *job =
        hf_consul_job_new(consul, HF_CONSUL_REMOVE, call);
    if (job == NULL) {
        return false;
    }
    hf_consul_key_entry(&job->keys, consul->prefix, key);
    if (has_text(job)) {
        withdraw(consul, &job->keys);
    }
    return hf_consul_job_start(
        consul, job,
        has_text(job) && hf_consul_ask_remove(consul, key->under, job, now));
}

const struct hf_wire_ops hf_consul_wire = {
    .open = call_open,
    .renew = call_renew,
    .close = call_close,
    .owned = call_owned,
    .create = call_create,
    .list = call_list,
    .read = call_read,
    .replace = call_replace,
    .scan = call_scan,
    .remove = call_remove,
    .watch = hf_consul_watch,
    .unwatch = hf_endpoints_unwatch,
    .mark_read = hf_consul_call_mark_read,
    .mark_write = hf_consul_call_mark_write,
    .marks = hf_consul_call_marks,
    .value_read = hf_consul_call_value_read,
    .value_write = hf_consul_call_value_write,
    .reads_by_id = true,
};
