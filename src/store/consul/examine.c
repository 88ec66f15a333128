/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `holdfast doctor`: the agent, and whether its keys and its
 * sessions may be used.
 *
 *   GET agent/self ──▶ who it is; 403: not for this token, which needs no more
 *   PUT txn: check-index that no key has, delete ──▶ 409: it might
 *   PUT session/create, for longer than any session may last ──▶ 500: it might,
 *       and how long they may last
 *   the first PUT below the root of values: a right that a token of locks may
 *       lack
 *
 * Consul checks the rights of all operations of a transaction before it does
 * any. So one whose condition is never true tells of the right to write, and
 * writes nothing. It checks the right to a session before its ttl.
 *
 * Then each endpoint names its leader.
 *
 * Cost: up to four round trips, one after the other, and the tour of the
 * endpoints (endpoints/tour.c). */
#include "base/duration.h"
#include "base/fail.h"
#include "store/consul/consul.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Seconds, eleven years: Consul's limit is a day, and no setting changes it. */
#define PROBE_TTL_S INT64_C(360000000)

/* Of the leader, which is not as the URL has it. */
static void describe_sessions(struct hf_consul *consul)
{
    char least[HF_DURATION_TEXT_MAX];
    int64_t ms = consul->shown_min_ms;
    hf_duration_emit(least, ms);
    if (ms > consul->ttl_min_s * 1000) {
        hf_jobs_report(
            &consul->node.ordered.jobs, HF_FINDING_WARNING,
            "no session may be shorter than %s here: a lock with a shorter "
            "--ttl is refused, exit 78; use a longer one, or lower Consul's "
            "setting session_ttl_min",
            least);
    } else if (ms > 0 && ms < consul->ttl_min_s * 1000) {
        hf_jobs_report(
            &consul->node.ordered.jobs, HF_FINDING_OK,
            "sessions may be as short as %s here: with session_ttl_min=%llds "
            "in the URL the lock of a client that died is free sooner",
            least, (long long)(ms + 999) / 1000);
    }
}

static void describe(struct hf_consul *consul)
{
    char text[HF_TEXT_LIST];
    snprintf(text, sizeof(text),
             "Consul %s, by %s of %u endpoint%s, %s TLS, %s", consul->shown,
             hf_endpoints_shown(&consul->node), consul->node.n,
             consul->node.n == 1 ? "" : "s",
             consul->node.tls == NULL ? "without" : "over",
             consul->headers == NULL ? "without a token" : "with a token");
    hf_jobs_report(&consul->node.ordered.jobs, HF_FINDING_OK, "%s", text);
    hf_jobs_report(
        &consul->node.ordered.jobs, HF_FINDING_OK,
        "an entry lives as long as its session: the ttl, %lld s at least; the "
        "leader ends it up to twice that after its client's death",
        (long long)consul->ttl_min_s);
    describe_sessions(consul);
    if (consul->is_client) {
        hf_jobs_report(
            &consul->node.ordered.jobs, HF_FINDING_OK,
            "this agent is a client: when it leaves the cluster, as it does "
            "on SIGTERM by default, Consul ends its sessions at once, before "
            "their holders know; name servers, or set leave_on_terminate to "
            "false");
    }
    if (consul->node.n == 1) {
        hf_jobs_report(
            &consul->node.ordered.jobs, HF_FINDING_OK,
            "one endpoint is named: of a cluster, name several, so that the "
            "next one is used when it fails");
    }
}

/* A key of no name, below the root of values or of locks. */
static bool ask_probe(struct hf_consul *consul, enum hf_consul_step step,
                      struct hf_instant now)
{
    struct hf_wire_text key = {0};
    hf_wire_text_say(
        &key, step == HF_CONSUL_ASK_PROBE_VALUES ? HF_CONSUL_VALUE_ROOT : "");
    hf_consul_key_folder(&key, consul->prefix, (struct hf_bytes){"", 0});
    struct hf_bytes bytes = {key.bytes, key.len};
    hf_consul_txn_begin(consul, "");
    hf_consul_txn_add(consul, "check-index", bytes);
    hf_consul_txn_index(consul, 1);
    hf_consul_txn_end(consul);
    hf_consul_txn_add(consul, "delete", bytes);
    hf_consul_txn_end(consul);
    consul->body.has_failed |= key.has_failed;
    hf_wire_text_fini(&key);
    return hf_consul_txn_ask(consul, step, NULL, now);
}

static void end(struct hf_consul *consul, enum hf_status status)
{
    consul->node.ordered.is_probing = false;
    hf_jobs_finish(&consul->node.ordered.jobs, status,
                   status == HF_OK ? NULL : "out of memory");
}

static void ask_next(struct hf_consul *consul, enum hf_consul_step step,
                     struct hf_instant now)
{
    bool is_asked =
        step == HF_CONSUL_ASK_PROBE_SESSION
            ? hf_consul_ask_open(consul, step, NULL, PROBE_TTL_S, now)
            : ask_probe(consul, step, now);
    if (!is_asked) {
        end(consul, HF_NO_MEMORY);
    }
}

void hf_consul_examine(struct hf_consul *consul, struct hf_instant now)
{
    hf_consul_path(consul, "agent/self");
    consul->node.ordered.is_probing =
        hf_consul_ask(consul, HF_CONSUL_ASK_SELF, "GET", NULL, now);
    if (!consul->node.ordered.is_probing) {
        end(consul, HF_NO_MEMORY);
    }
}

static void take_self(struct hf_consul *consul, const json_t *body)
{
    const json_t *config = json_object_get(body, "Config");
    const char *version = json_string_value(json_object_get(config, "Version"));
    const char *dc = json_string_value(json_object_get(config, "Datacenter"));
    const char *node = json_string_value(json_object_get(config, "NodeName"));
    consul->is_client = json_is_false(json_object_get(config, "Server"));
    consul->shown_min_ms = 0;
    if (version == NULL) {
        snprintf(consul->shown, sizeof(consul->shown),
                 "of a version that this token may not read");
    } else {
        snprintf(consul->shown, sizeof(consul->shown),
                 "%.30s, datacenter %.60s, node %.60s", version,
                 dc == NULL ? "?" : dc, node == NULL ? "?" : node);
    }
    hf_error_make_plain(consul->shown);
}

/** "Invalid Session TTL '…', must be between [10s=24h0m0s]".
 * @return false: it is refused for another reason. */
static bool take_limit(struct hf_consul *consul,
                       const struct hf_wire_reply *reply)
{
    char least[HF_DURATION_TEXT_MAX];
    const char *limits = strstr(consul->node.why, "between [");
    if (reply->fault != HF_CONFIG || limits == NULL) {
        return false;
    }
    limits += strlen("between [");
    snprintf(least, sizeof(least), "%.*s", (int)strcspn(limits, "="), limits);
    if (!hf_duration_parse(least, &consul->shown_min_ms)) {
        consul->shown_min_ms = 0;
    }
    return true;
}

/* Locks do without the right to values, so its lack is no fault. */
static void find_fault(struct hf_consul *consul, enum hf_consul_step step,
                       const struct hf_wire_reply *reply)
{
    struct hf_jobs *jobs = &consul->node.ordered.jobs;
    const char *by =
        consul->headers == NULL ? "without a token" : "with this token";
    bool is_denied = reply->fault == HF_DENIED;
    if (reply->outcome == HF_WIRE_DONE) {
        return;
    }
    if (is_denied && step == HF_CONSUL_ASK_PROBE_VALUES) {
        hf_jobs_report(
            jobs, HF_FINDING_OK,
            "no value can be read or written, %s: get, put and update "
            "need one rule more, key_prefix \"" HF_CONSUL_VALUE_ROOT
            "%.40s\" { policy = \"write\" }",
            by, consul->prefix);
    } else if (is_denied && step == HF_CONSUL_ASK_PROBE_SESSION) {
        hf_jobs_report(
            jobs, HF_FINDING_ERROR,
            "no session can be created, %s: locks need one rule more, "
            "session_prefix \"\" { policy = \"write\" }",
            by);
    } else {
        hf_jobs_report(jobs, HF_FINDING_ERROR, "%s", consul->node.why);
    }
}

static bool is_over(const struct hf_wire_reply *reply)
{
    return reply->outcome == HF_WIRE_DONE || reply->outcome == HF_WIRE_ERROR;
}

void hf_consul_examined(struct hf_consul *consul, enum hf_consul_step step,
                        const struct json_t *body,
                        const struct hf_wire_reply *reply,
                        struct hf_instant now)
{
    if (!is_over(reply)) {
        hf_endpoints_fail(&consul->node, reply->fault, consul->node.why);
        /* Another connection asks again. */
        consul->node.ordered.is_probing = false;
        return;
    }
    if (step == HF_CONSUL_ASK_SELF) {
        take_self(consul, reply->outcome == HF_WIRE_DONE ? body : NULL);
        ask_next(consul, HF_CONSUL_ASK_PROBE, now);
    } else if (step == HF_CONSUL_ASK_PROBE && reply->outcome == HF_WIRE_DONE) {
        ask_next(consul, HF_CONSUL_ASK_PROBE_SESSION, now);
    } else if (step == HF_CONSUL_ASK_PROBE_SESSION &&
               take_limit(consul, reply)) {
        ask_next(consul, HF_CONSUL_ASK_PROBE_VALUES, now);
    } else {
        describe(consul);
        find_fault(consul, step, reply);
        hf_endpoints_tour_begin(&consul->node, now);
    }
}

/* ---- The other endpoints ------------------------------------------------- */

/* Consul does not name its cluster, but its leader, to all who ask. */
bool hf_consul_visit(struct hf_endpoints *node, struct hf_http_request *out)
{
    struct hf_consul *consul = hf_consul_of(node);
    struct hf_wire_text *path = hf_consul_path(consul, "status/leader");
    hf_consul_path_query(consul, path, "");
    hf_wire_text_add(path, "", 1);
    if (node->tour.at == node->tour.first) {
        consul->leader[0] = '\0';
    }
    *out = (struct hf_http_request){.method = "GET", .path = path->bytes};
    return !path->has_failed;
}

static enum hf_severity judge(struct hf_consul *consul, const char *leader,
                              unsigned status, char *out, size_t size)
{
    if (leader == NULL) {
        snprintf(out, size, "answers with HTTP status %u: is it Consul?",
                 status);
        return HF_FINDING_WARNING;
    }
    if (*leader == '\0') {
        snprintf(out, size, "has no leader");
        return HF_FINDING_WARNING;
    }
    if (consul->leader[0] == '\0') {
        snprintf(consul->leader, sizeof(consul->leader), "%s", leader);
        hf_error_make_plain(consul->leader);
    }
    if (strncmp(leader, consul->leader, sizeof(consul->leader) - 1) != 0) {
        snprintf(out, size,
                 "has %.40s for its leader, not %.40s: if there was no "
                 "election just now it is another cluster, whose clients are "
                 "granted locks that are held here",
                 leader, consul->leader);
        hf_error_make_plain(out);
        return HF_FINDING_ERROR;
    }
    return HF_FINDING_OK;
}

enum hf_severity hf_consul_judge(struct hf_endpoints *node,
                                 const struct hf_http_reply *reply, char *out,
                                 size_t size)
{
    json_t *body = hf_consul_json(reply);
    enum hf_severity severity =
        judge(hf_consul_of(node),
              reply->status == 200 ? json_string_value(body) : NULL,
              reply->status, out, size);
    json_decref(body);
    return severity;
}
