/* SPDX-License-Identifier: Apache-2.0 */
/* PATHS AND BODIES
 *
 *   leader   GET status/leader            open     PUT session/create
 *   info     GET session/info/ID          renew    PUT session/renew/ID
 *   close    PUT session/destroy/ID       list     GET kv/FOLDER?recurse
 *   owned    GET kv/PREFIX?recurse
 *   scan     GET kv/PREFIX?keys&separator=/
 *   create   PUT txn: check-not-exists, lock, get-tree of the folder
 *   undo     PUT txn: delete-cas
 *   read     PUT txn of get-trees
 *   replace  PUT txn: check-index, [unlock, lock | lock | delete]
 *   remove   PUT txn: get | check-session, delete
 *
 * Reads are consistent: the leader asks a majority whether it is one. A
 * transaction that writes is in the log, and sees its own writes. All of its
 * operations are done, or none: 409 tells which was not.
 *
 * A get-tree of a whole key, unlike a get, may find nothing.
 *
 * Cost: one round trip each. A consistent read costs the leader one round to a
 * majority; a transaction that writes is one entry of the log. */
#include "store/consul/consul.h"
#include "store/ordered/wire_key.h"

#include "base/assert.h"
#include "base/text_size.h"

#include <stdio.h>
#include <string.h>

/* As long as a server with a leader needs at most, in milliseconds. */
#define SILENCE_MS_MIN 1000
#define SILENCE_TIMEOUTS 2

/* ---- Parts --------------------------------------------------------------- */

/* Requests of the node itself. All others are of a job. */
static bool is_without_job(enum hf_consul_step step)
{
    return step == HF_CONSUL_ASK_LEADER || step == HF_CONSUL_ASK_SELF ||
           step == HF_CONSUL_ASK_PROBE || step == HF_CONSUL_ASK_PROBE_SESSION ||
           step == HF_CONSUL_ASK_PROBE_VALUES;
}

/* Is the last byte of the body `end`? Without memory that is not known. */
static bool ends_in(const struct hf_wire_text *body, char end)
{
    return body->has_failed ||
           (body->len > 0 && body->bytes[body->len - 1] == end);
}

struct hf_wire_text *hf_consul_path(struct hf_consul *consul, const char *path)
{
    consul->path.len = 0;
    consul->path.has_failed = false;
    consul->body.len = 0;
    consul->body.has_failed = false;
    hf_wire_text_say(&consul->path, "/v1/");
    hf_wire_text_say(&consul->path, path);
    return &consul->path;
}

void hf_consul_path_query(const struct hf_consul *consul,
                          struct hf_wire_text *path, const char *query)
{
    HF_ASSERT(query[0] == '\0' || query[0] == '?');
    hf_wire_text_say(path, query);
    if (consul->datacenter != NULL) {
        hf_wire_text_say(path, strchr(query, '?') != NULL ? "&dc=" : "?dc=");
        hf_wire_text_say(path, consul->datacenter);
    }
}

bool hf_consul_ask(struct hf_consul *consul, enum hf_consul_step step,
                   const char *method, struct hf_consul_job *job,
                   struct hf_instant now)
{
    bool is_handshake = step == HF_CONSUL_ASK_LEADER;
    HF_ASSERT((job == NULL) == is_without_job(step));
    struct hf_span timeout =
        hf_span_max(hf_span_ms(SILENCE_MS_MIN),
                    hf_span_scale(consul->node.node_timeout, SILENCE_TIMEOUTS));
    hf_wire_text_add(&consul->path, "", 1);
    struct hf_http_request request = {
        .method = method,
        .path = consul->path.bytes,
        .headers = consul->headers,
        .body = consul->body.bytes,
        .body_len = consul->body.len,
        .timeout = is_handshake ? consul->node.connect_timeout : timeout,
        .cookie = step,
        .user = job,
    };
    if (consul->path.has_failed || consul->body.has_failed ||
        consul->node.phase !=
            (is_handshake ? HF_ENDPOINTS_GREETING : HF_ENDPOINTS_READY) ||
        !hf_http_ask(&consul->node.http, &request, now)) {
        return false;
    }
    if (job != NULL) {
        job->pending++;
    }
    return true;
}

/* A key of another program may have any byte, also a quote, after which it
 * would be read as members of the operation. */
static void say_key(struct hf_wire_text *body, struct hf_bytes key)
{
    const unsigned char *bytes = key.data;
    for (size_t i = 0; i < key.len; i++) {
        char escaped[HF_TEXT_SHORT];
        if (bytes[i] < ' ' || bytes[i] == '"' || bytes[i] == '\\') {
            snprintf(escaped, sizeof(escaped), "\\u%04x", (unsigned)bytes[i]);
            hf_wire_text_say(body, escaped);
        } else {
            hf_wire_text_add(body, &bytes[i], 1);
        }
    }
}

void hf_consul_txn_add(struct hf_consul *consul, const char *verb,
                       struct hf_bytes key)
{
    struct hf_wire_text *body = &consul->body;
    HF_ASSERT(body->len == 0 || ends_in(body, '}'));
    hf_wire_text_say(body, body->len == 0 ? "[" : ",");
    hf_wire_text_say(body, "{\"KV\":{\"Verb\":\"");
    hf_wire_text_say(body, verb);
    hf_wire_text_say(body, "\",\"Key\":\"");
    say_key(body, key);
    hf_wire_text_say(body, "\"");
}

static void say_session(struct hf_consul *consul, const char *session)
{
    HF_ASSERT(ends_in(&consul->body, '"')); /* of an operation */
    hf_wire_text_say(&consul->body, ",\"Session\":\"");
    hf_wire_text_add(&consul->body, session, HF_CONSUL_SESSION_LEN);
    hf_wire_text_say(&consul->body, "\"");
}

void hf_consul_txn_index(struct hf_consul *consul, uint64_t index)
{
    HF_ASSERT(ends_in(&consul->body, '"'));
    hf_wire_text_say(&consul->body, ",\"Index\":");
    hf_wire_text_number(&consul->body, index);
}

void hf_consul_txn_value(struct hf_consul *consul, struct hf_bytes value)
{
    HF_ASSERT(!ends_in(&consul->body, '}') || consul->body.has_failed);
    hf_wire_text_say(&consul->body, ",\"Value\":\"");
    hf_wire_text_base64(&consul->body, value.data, value.len);
    hf_wire_text_say(&consul->body, "\"");
}

void hf_consul_txn_end(struct hf_consul *consul)
{
    HF_ASSERT(!ends_in(&consul->body, '}') || consul->body.has_failed);
    hf_wire_text_say(&consul->body, "}}");
}

static void say_plain(struct hf_consul *consul, const char *verb,
                      struct hf_bytes key)
{
    hf_consul_txn_add(consul, verb, key);
    hf_consul_txn_end(consul);
}

void hf_consul_txn_begin(struct hf_consul *consul, const char *query)
{
    struct hf_wire_text *path = hf_consul_path(consul, "txn");
    hf_consul_path_query(consul, path, query);
}

bool hf_consul_txn_ask(struct hf_consul *consul, enum hf_consul_step step,
                       struct hf_consul_job *job, struct hf_instant now)
{
    HF_ASSERT(ends_in(&consul->body, '}')); /* one operation at least */
    hf_wire_text_say(&consul->body, "]");
    return hf_consul_ask(consul, step, "PUT", job, now);
}

static struct hf_bytes bytes_of(const struct hf_wire_text *text)
{
    return (struct hf_bytes){text->bytes, text->len};
}

/* ---- Sessions ------------------------------------------------------------ */

bool hf_consul_ask_leader(struct hf_consul *consul, struct hf_instant now)
{
    struct hf_wire_text *path = hf_consul_path(consul, "status/leader");
    hf_consul_path_query(consul, path, "");
    return hf_consul_ask(consul, HF_CONSUL_ASK_LEADER, "GET", NULL, now);
}

/* Without checks: the health of the agent's node ends no lock. */
bool hf_consul_ask_open(struct hf_consul *consul, enum hf_consul_step step,
                        struct hf_consul_job *job, int64_t ttl_s,
                        struct hf_instant now)
{
    HF_ASSERT(ttl_s > 0);
    struct hf_wire_text *path = hf_consul_path(consul, "session/create");
    hf_consul_path_query(consul, path, "");
    hf_wire_text_say(&consul->body,
                     "{\"Name\":\"holdfast\",\"Behavior\":\"delete\","
                     "\"LockDelay\":\"0s\",\"Checks\":[],\"NodeChecks\":[],"
                     "\"TTL\":\"");
    hf_wire_text_number(&consul->body, (uint64_t)ttl_s);
    hf_wire_text_say(&consul->body, "s\"}");
    return hf_consul_ask(consul, step, "PUT", job, now);
}

bool hf_consul_ask_session(struct hf_consul *consul, enum hf_consul_step step,
                           const uint8_t *session, struct hf_consul_job *job,
                           struct hf_instant now)
{
    char shown[HF_CONSUL_SESSION_LEN + 1];
    bool is_info = step == HF_CONSUL_ASK_INFO;
    HF_ASSERT(is_info || step == HF_CONSUL_ASK_RENEW ||
              step == HF_CONSUL_ASK_CLOSE);
    struct hf_wire_text *path = hf_consul_path(
        consul, is_info                       ? "session/info/"
                : step == HF_CONSUL_ASK_RENEW ? "session/renew/"
                                              : "session/destroy/");
    hf_consul_session_show(session, shown);
    hf_wire_text_say(path, shown);
    hf_consul_path_query(consul, path, is_info ? "?consistent" : "");
    return hf_consul_ask(consul, step, is_info ? "GET" : "PUT", job, now);
}

/* ---- Entries ------------------------------------------------------------- */

bool hf_consul_ask_list(struct hf_consul *consul, struct hf_consul_job *job,
                        struct hf_instant now)
{
    struct hf_wire_text *path = hf_consul_path(consul, "kv/");
    HF_ASSERT(job->folder.len > 0); /* else all keys of the server */
    hf_wire_text_add(path, job->folder.bytes, job->folder.len);
    hf_consul_path_query(consul, path, "?recurse&consistent");
    return hf_consul_ask(consul, HF_CONSUL_ASK_LIST, "GET", job, now);
}

bool hf_consul_ask_all(struct hf_consul *consul, enum hf_consul_step step,
                       struct hf_consul_job *job, struct hf_instant now)
{
    struct hf_wire_text *path = hf_consul_path(consul, "kv/");
    HF_ASSERT(step == HF_CONSUL_ASK_SCAN || step == HF_CONSUL_ASK_OWNED);
    hf_wire_text_say(path, consul->prefix);
    hf_consul_path_query(consul, path,
                         step == HF_CONSUL_ASK_SCAN
                             ? "?keys&separator=/&consistent"
                             : "?recurse&consistent");
    return hf_consul_ask(consul, step, "GET", job, now);
}

bool hf_consul_ask_create(struct hf_consul *consul, struct hf_consul_job *job,
                          struct hf_instant now)
{
    char session[HF_CONSUL_SESSION_LEN + 1];
    HF_ASSERT(job->keys.len > job->folder.len); /* the key is in the folder */
    hf_consul_session_show(job->session, session);
    hf_consul_txn_begin(consul, "");
    say_plain(consul, "check-not-exists", bytes_of(&job->keys));
    hf_consul_txn_add(consul, "lock", bytes_of(&job->keys));
    say_session(consul, session);
    hf_consul_txn_end(consul);
    say_plain(consul, "get-tree", bytes_of(&job->folder));
    job->newest = consul->newest;
    return hf_consul_txn_ask(consul, HF_CONSUL_ASK_CREATE, job, now);
}

bool hf_consul_ask_undo(struct hf_consul *consul, struct hf_consul_job *job,
                        struct hf_instant now)
{
    HF_ASSERT(job->kind == HF_CONSUL_CREATE && job->has_created);
    hf_consul_txn_begin(consul, "");
    hf_consul_txn_add(consul, "delete-cas", bytes_of(&job->keys));
    hf_consul_txn_index(consul, job->version);
    hf_consul_txn_end(consul);
    return hf_consul_txn_ask(consul, HF_CONSUL_ASK_UNDO, job, now);
}

bool hf_consul_ask_remove(struct hf_consul *consul, const uint8_t *under,
                          struct hf_consul_job *job, struct hf_instant now)
{
    HF_ASSERT(job->keys.len > 0);
    hf_consul_txn_begin(consul, "");
    if (under != NULL) {
        char session[HF_CONSUL_SESSION_LEN + 1];
        hf_consul_session_show(under, session);
        hf_consul_txn_add(consul, "check-session", bytes_of(&job->keys));
        say_session(consul, session);
        hf_consul_txn_end(consul);
    } else {
        say_plain(consul, "get", bytes_of(&job->keys));
    }
    say_plain(consul, "delete", bytes_of(&job->keys));
    return hf_consul_txn_ask(consul, HF_CONSUL_ASK_REMOVE, job, now);
}

/* The keys are texts one after the other, each with its NUL. */
bool hf_consul_ask_read(struct hf_consul *consul, struct hf_consul_job *job,
                        size_t from, struct hf_instant now)
{
    const char *key = job->keys.bytes;
    size_t end = from + HF_CONSUL_OPERATIONS_MAX;
    HF_ASSERT(from < job->n);
    hf_consul_txn_begin(consul, "?consistent");
    for (size_t i = 0; i < job->n && i < end; i++) {
        size_t len = strlen(key);
        if (i >= from) {
            say_plain(consul, "get-tree", (struct hf_bytes){key, len});
        }
        key += len + 1;
    }
    return hf_consul_txn_ask(consul, HF_CONSUL_ASK_READ, job, now);
}

static void say_value(struct hf_consul *consul,
                      const struct hf_wire_change *change)
{
    struct hf_wire_text value = {0};
    hf_wire_value_add(&value, change);
    consul->body.has_failed |= value.has_failed;
    hf_consul_txn_value(consul, bytes_of(&value));
    hf_wire_text_fini(&value);
}

/* Its session at that version is in the id. */
static void say_put(struct hf_consul *consul, struct hf_bytes key,
                    const struct hf_wire_change *change)
{
    char session[HF_CONSUL_SESSION_LEN + 1];
    const char *former = change->id.data;
    HF_ASSERT(change->id.len >= HF_CONSUL_SESSION_LEN);
    hf_consul_session_show(change->session, session);
    if (memcmp(former, session, HF_CONSUL_SESSION_LEN) != 0) {
        hf_consul_txn_add(consul, "unlock", key);
        say_session(consul, former);
        hf_consul_txn_end(consul);
    }
    hf_consul_txn_add(consul, "lock", key);
    say_session(consul, session);
    say_value(consul, change);
    hf_consul_txn_end(consul);
}

bool hf_consul_ask_replace(struct hf_consul *consul, struct hf_consul_job *job,
                           const struct hf_wire_change *change,
                           struct hf_instant now)
{
    struct hf_bytes key = bytes_of(&job->keys);
    HF_ASSERT(job->kind == HF_CONSUL_REPLACE && key.len > 0);
    hf_consul_txn_begin(consul, "");
    hf_consul_txn_add(consul, "check-index", key);
    hf_consul_txn_index(consul, change->version);
    hf_consul_txn_end(consul);
    if (change->session == NULL) {
        say_plain(consul, "delete", key);
    } else {
        say_put(consul, key, change);
    }
    return hf_consul_txn_ask(consul, HF_CONSUL_ASK_REPLACE, job, now);
}
