/* SPDX-License-Identifier: Apache-2.0 */
/* MARKS, AND VALUES
 *
 *   read    GET kv/PREFIX NAME~once       the clock is the header Date
 *           GET kv/~value/PREFIX NAME     of a value
 *   write   PUT txn: cas, or delete-cas   index 0: there is none
 *   marks   GET kv/PREFIX?keys&separator=/
 *
 * No session has a mark: a session lasts 24 h at most, and ends when its agent
 * leaves the cluster, which would let a job run again.
 *
 * The suffix is no escape, so no name has it (key.c), and a mark is in no
 * folder. The date is of the agent that was asked; its answer is consistent.
 * It is written when the leader has answered.
 *
 * Values are not below the prefix: a search for the entries of a session reads
 * all that is there (OWNED), and values are large. No prefix begins with their
 * root, in which there is a '~' that is no escape.
 *
 * Cost: one round trip each. MARKS lists the names of all folders and marks
 * below the prefix, without their values. */
#include "store/consul/consul.h"

#include <jansson.h>
#include <string.h>

static const char suffix[] = "~once";
static const char value_root[] = HF_CONSUL_VALUE_ROOT;

/* The header Date shows whole seconds. */
#define CLOCK_STEP_MS 1000

static struct hf_bytes key_of(const struct hf_consul_job *job)
{
    return (struct hf_bytes){job->keys.bytes, job->keys.len};
}

/** A job with the key of a mark, or value. @return NULL: no memory. */
static struct hf_consul_job *
begin(struct hf_consul *consul, enum hf_consul_job_kind kind,
      struct hf_bytes name, struct hf_wire_call *call)
{
    bool is_value =
        kind == HF_CONSUL_VALUE_READ || kind == HF_CONSUL_VALUE_WRITE;
    struct hf_consul_job *job = hf_consul_job_new(consul, kind, call);
    if (job == NULL) {
        return NULL;
    }
    hf_wire_text_say(&job->keys, is_value ? value_root : "");
    hf_consul_key_folder(&job->keys, consul->prefix, name);
    if (job->keys.has_failed) {
        hf_consul_job_free(consul, job);
        return NULL;
    }
    job->keys.len--; /* of the folder: its '/' */
    hf_wire_text_say(&job->keys, is_value ? "" : suffix);
    return job;
}

size_t hf_consul_mark_name(const char *key, size_t len)
{
    size_t suffix_len = sizeof(suffix) - 1;
    bool is_mark = len > suffix_len && memchr(key, '/', len) == NULL &&
                   memcmp(key + len - suffix_len, suffix, suffix_len) == 0;
    return is_mark ? len - suffix_len : 0;
}

/* ---- Calls --------------------------------------------------------------- */

static bool call_read(struct hf_wire *wire, enum hf_consul_job_kind kind,
                      struct hf_bytes name, struct hf_wire_call *call,
                      struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    hf_endpoints_look(&consul->node, now);
    struct hf_consul_job *job = begin(consul, kind, name, call);
    if (job == NULL) {
        return false;
    }
    struct hf_wire_text *path = hf_consul_path(consul, "kv/");
    hf_wire_text_add(path, job->keys.bytes, job->keys.len);
    hf_consul_path_query(consul, path, "?consistent");
    path->has_failed |= job->keys.has_failed;
    return hf_consul_job_start(
        consul, job,
        hf_consul_ask(consul, HF_CONSUL_ASK_MARK, "GET", job, now));
}

static bool call_write(struct hf_wire *wire, enum hf_consul_job_kind kind,
                       const struct hf_wire_mark *mark,
                       struct hf_wire_call *call, struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    struct hf_consul_job *job = begin(consul, kind, mark->name, call);
    bool removes = mark->text.len == 0;
    if (job == NULL) {
        return false;
    }
    hf_consul_txn_begin(consul, "");
    hf_consul_txn_add(consul, removes ? "delete-cas" : "cas", key_of(job));
    hf_consul_txn_index(consul, mark->version);
    if (!removes) {
        hf_consul_txn_value(consul, mark->text);
    }
    hf_consul_txn_end(consul);
    consul->body.has_failed |= job->keys.has_failed;
    return hf_consul_job_start(
        consul, job,
        hf_consul_txn_ask(consul, HF_CONSUL_ASK_MARK_WRITE, job, now));
}

bool hf_consul_call_mark_read(struct hf_wire *wire, struct hf_bytes name,
                              struct hf_wire_call *call, struct hf_instant now)
{
    return call_read(wire, HF_CONSUL_MARK_READ, name, call, now);
}

bool hf_consul_call_mark_write(struct hf_wire *wire,
                               const struct hf_wire_mark *mark,
                               struct hf_wire_call *call, struct hf_instant now)
{
    return call_write(wire, HF_CONSUL_MARK_WRITE, mark, call, now);
}

bool hf_consul_call_value_read(struct hf_wire *wire, struct hf_bytes name,
                               struct hf_wire_call *call, struct hf_instant now)
{
    return call_read(wire, HF_CONSUL_VALUE_READ, name, call, now);
}

bool hf_consul_call_value_write(struct hf_wire *wire,
                                const struct hf_wire_mark *value,
                                struct hf_wire_call *call,
                                struct hf_instant now)
{
    return call_write(wire, HF_CONSUL_VALUE_WRITE, value, call, now);
}

bool hf_consul_call_marks(struct hf_wire *wire, struct hf_wire_call *call,
                          struct hf_instant now)
{
    struct hf_consul *consul = hf_consul_of_wire(wire);
    struct hf_consul_job *job =
        hf_consul_job_new(consul, HF_CONSUL_MARKS, call);
    return job != NULL &&
           hf_consul_job_start(
               consul, job,
               hf_consul_ask_all(consul, HF_CONSUL_ASK_SCAN, job, now));
}

/* ---- Replies ------------------------------------------------------------- */

bool hf_consul_mark_take(struct hf_consul *consul, struct hf_consul_job *job,
                         const struct json_t *body,
                         const struct hf_http_reply *http)
{
    struct hf_wire_reply *reply = &job->reply;
    const json_t *kv = json_array_get(body, 0);
    const json_t *value = json_object_get(kv, "Value"); /* null: empty */
    reply->clock_ms = http->date_s > 0 ? http->date_s * 1000 : 0;
    reply->clock_step_ms = CLOCK_STEP_MS;
    if (kv == NULL) { /* of a key that is not there there is no body */
        return http->body_len == 0 && hf_consul_index(http) != 0;
    }
    if (!hf_consul_list_begin(&consul->list, 0, http->body_len)) {
        return false;
    }
    size_t len = 0;
    if (json_is_string(value)) {
        len =
            hf_wire_base64_read(json_string_value(value),
                                json_string_length(value), consul->list.arena);
    }
    reply->mark = (struct hf_bytes){consul->list.arena, len};
    reply->version = hf_consul_number(kv, "ModifyIndex");
    reply->revision = reply->version;
    return len != SIZE_MAX && reply->version != 0;
}
