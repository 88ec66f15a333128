/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of `holdfast doctor`. LOOK, COUNT and LOWER are one call of a function
 * each, after the handshake and before the marker changes. admission.c does
 * INIT and QUARANTINE at the end of a handshake. EXAMINE reports the results of
 * the handshake, and acquires and releases a lock of its own. */
#include "base/fail.h"
#include "io/clock.h"
#include "store/mysql/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Names in the finding of LOOK, and the bytes that are shown of each. */
#define NAMED_MAX 5
#define NAME_SHOWN_MAX 40

/* Limit of a survey in milliseconds. */
#define SURVEY_MS_MAX 60000

/* The lease of the lock that EXAMINE acquires. */
#define PROBE_MS 1000

/* ---- Surveys ------------------------------------------------------------ */

void hf_my_survey(struct hf_my_node *node, struct hf_instant now)
{
    enum hf_job job = node->admission.surveying;
    struct hf_my_text *call = &node->call;
    hf_my_text_clear(call);
    hf_my_call(call, job == HF_JOB_LOOK ? "look" : "ahead");
    if (job == HF_JOB_LOOK) {
        hf_my_number(call, NAMED_MAX);
    } else {
        hf_my_bytes_of(call,
                       job == HF_JOB_LOWER ? node->admission.marker.value : "");
        hf_my_number(call, node->store->fence_keep_ms);
        hf_my_number(call, node->store->shape.max_ttl_ms);
    }
    hf_my_end(call);
    node->connection.deadline = hf_instant_add(now, hf_span_ms(SURVEY_MS_MAX));
    hf_my_push_call(node, HF_MY_SURVEY);
    hf_my_node_arm(node);
}

static void end_survey(struct hf_my_node *node, enum hf_status status,
                       const char *why, struct hf_instant now)
{
    hf_jobs_end(&node->jobs, status, why);
    hf_my_handshake(node, now);
}

/* "2 locks are held: a, b" */
static void write_held(const struct hf_my_node *node, int64_t n,
                       const struct hf_mysql_reply *reply, char *out,
                       size_t size)
{
    struct hf_my_row row;
    size_t skip = node->store->prefix_len;
    int named = 0;
    int used = snprintf(out, size, "%" PRId64 " %s", n,
                        n == 1 ? "lock is held" : "locks are held");
    for (bool is_there = hf_my_first(reply, &row);
         is_there && named < NAMED_MAX; is_there = hf_my_next(reply, &row)) {
        struct hf_bytes name = hf_my_bytes_at(&row, 2);
        bool is_ours = name.len > skip &&
                       memcmp(name.data, node->store->prefix, skip) == 0;
        size_t at = is_ours ? skip : 0;
        size_t len = name.len - at;
        used += snprintf(out + used, size - (size_t)used, "%s%.*s",
                         named++ == 0 ? ": " : ", ",
                         (int)(len > NAME_SHOWN_MAX ? NAME_SHOWN_MAX : len),
                         (const char *)name.data + at);
    }
    if (n > named) {
        snprintf(out + used, size - (size_t)used, ", ...");
    }
    hf_make_plain(out);
}

/* INIT at a server with held locks could grant them twice. Report every reason
 * at once. */
static void take_look(struct hf_my_node *node,
                      const struct hf_mysql_reply *reply,
                      const struct hf_my_row *row, struct hf_instant now)
{
    enum hf_status status = HF_OK;
    char text[480] = "";
    int64_t held = hf_my_integer(row, 0);
    int64_t waited = hf_my_integer(row, 1);
    if (node->admission.verdict.trust == HF_TRUST_MISMATCH) {
        hf_admission_mismatch_text(&node->admission, text, sizeof(text));
        hf_jobs_find(&node->jobs, HF_FINDING_ERROR, "%s", text);
        status = HF_CONFIG;
    }
    if (waited > 0) {
        snprintf(text, sizeof(text), "%" PRId64 " %s", waited,
                 waited == 1 ? "name has waiters" : "names have waiters");
        hf_jobs_find(&node->jobs, HF_FINDING_ERROR, "%s", text);
        status = HF_BUSY;
    }
    if (held > 0) {
        write_held(node, held, reply, text, sizeof(text));
        hf_jobs_find(&node->jobs, HF_FINDING_ERROR, "%s", text);
        status = HF_BUSY;
    }
    end_survey(node, status, text, now);
}

static void take_counters(struct hf_my_node *node, const struct hf_my_row *row,
                          struct hf_instant now)
{
    int64_t n = hf_my_integer(row, 0);
    if (n < 0) {
        end_survey(node, HF_BUSY, "was declared anew meanwhile", now);
        return;
    }
    if (node->admission.surveying == HF_JOB_LOWER) {
        hf_jobs_find(&node->jobs, HF_FINDING_OK,
                     "%" PRId64
                     " counters were beyond its clock and are set back to "
                     "a value that a node accepts",
                     n);
        n = 0;
    }
    end_survey(node, n > 0 ? HF_BUSY : HF_OK, "", now);
}

static void take_survey(struct hf_my_node *node,
                        const struct hf_mysql_reply *reply,
                        struct hf_instant now)
{
    struct hf_my_row row;
    if (!hf_my_first(reply, &row)) {
        char words[160];
        char why[sizeof(node->reason)];
        enum hf_status fault = hf_my_fault(reply, words, sizeof(words));
        snprintf(why, sizeof(why), "its locks cannot be looked at: %s", words);
        end_survey(node, fault, why, now);
    } else if (node->admission.surveying == HF_JOB_LOOK) {
        take_look(node, reply, &row, now);
    } else {
        take_counters(node, &row, now);
    }
}

/* ---- The examination ---------------------------------------------------- */

static void find_server(struct hf_my_node *node)
{
    hf_jobs_find(&node->jobs, HF_FINDING_OK,
                 "%s %s, account %s, schema version %" PRId64
                 ", round trip %" PRId64 " us",
                 node->is_mariadb ? "MariaDB" : "MySQL", node->version,
                 node->role, node->schema, hf_span_us_floor(node->rtt));
    if (!node->is_mariadb) {
        hf_jobs_find(
            &node->jobs, HF_FINDING_WARNING,
            "MySQL: the procedures are written for it, too, and tested on "
            "MariaDB 10.11 alone");
    }
}

static void find_durability(struct hf_my_node *node)
{
    int64_t wait_s =
        hf_span_ms_ceil(hf_quarantine_span(node->store->shape.max_ttl_ms)) /
        1000;
    if (!node->store->strict) {
        hf_jobs_find(
            &node->jobs, HF_FINDING_WARNING,
            "quarantine=off: after a restart that loses data it grants locks "
            "that are still held; remove it from the URL");
    } else if (node->admission.identity.is_durable) {
        hf_jobs_find(
            &node->jobs, HF_FINDING_OK,
            "commits are on disk before their replies: a restart loses "
            "nothing");
    } else {
        hf_jobs_find(
            &node->jobs, HF_FINDING_WARNING,
            "commits may be lost in a crash (innodb_flush_log_at_trx_commit "
            "or sync_binlog is not 1, or no doublewrite): after each restart "
            "it does not count for %" PRId64 " s",
            wait_s);
    }
    hf_jobs_find(
        &node->jobs, HF_FINDING_OK,
        "a failover to a replica can lose locks, so a promoted one does not "
        "count for %" PRId64 " s",
        wait_s);
}

static void find_quarantine(struct hf_my_node *node, struct hf_instant now)
{
    char text[200];
    if (node->status != HF_NODE_STATUS_REPAIRING) {
        return;
    }
    hf_my_quarantine_text(node, text, sizeof(text));
    int64_t left_ms = hf_span_ms_ceil(
        hf_instant_until(now, node->admission.quarantined_until));
    hf_jobs_find(
        &node->jobs, HF_FINDING_WARNING,
        "%s, so it counts in %" PRId64
        " s (a new server, or no client is running: holdfast doctor --init)",
        text, (left_ms + 999) / 1000);
}

static void find_all(struct hf_my_node *node, struct hf_instant now)
{
    find_server(node);
    find_durability(node);
    int64_t off_s = node->time_ms / 1000 - hf_clock_wall_s();
    if (off_s > 2 || off_s < -2) {
        hf_jobs_find(&node->jobs, HF_FINDING_WARNING,
                     "its clock is %" PRId64 " s %s ours: run NTP on both",
                     off_s < 0 ? -off_s : off_s,
                     off_s < 0 ? "behind" : "ahead of");
    }
    if (node->probe_fault[0] != '\0') {
        hf_jobs_find(&node->jobs, HF_FINDING_ERROR,
                     "a lock could not be taken and given back: %s",
                     node->probe_fault);
    }
    find_quarantine(node, now);
}

/* Acquire and release a lock of a random name. In quarantine the server would
 * refuse the one and ignore the other. */
static void probe(struct hf_my_node *node)
{
    uint64_t random[2];
    char owner[40];
    char name[32];
    hf_entropy(random, sizeof(random));
    snprintf(owner, sizeof(owner), "%016" PRIx64 "%016" PRIx64, random[0],
             random[1]);
    snprintf(name, sizeof(name), "holdfast-doctor-%.8s", owner);
    struct hf_ask ask = {.verb = HF_VERB_ACQUIRE,
                         .name = name,
                         .name_len = strlen(name),
                         .owner = owner,
                         .owner_len = strlen(owner),
                         .ttl_ms = PROBE_MS};
    bool ok = hf_my_ask_verb(node, &ask, HF_MY_PROBE_ACQUIRE) == NULL;
    ask.verb = HF_VERB_RELEASE;
    ask.ttl_ms = 0;
    if (!ok || hf_my_ask_verb(node, &ask, HF_MY_PROBE_RELEASE) != NULL) {
        hf_mysql_connection_break(&node->connection, HF_NO_MEMORY,
                                  "out of memory");
    }
}

/* The first of them measures the round trip, if no verb has. */
static void
take_probe(struct hf_my_node *node, const struct hf_my_request *request,
           const struct hf_mysql_reply *reply, struct hf_instant now)
{
    struct hf_my_row row;
    bool is_first = request->kind == HF_MY_PROBE_ACQUIRE;
    if (!node->is_examined) {
        return;
    }
    if (node->probe_fault[0] != '\0') {
        /* the first fault is reported */
    } else if (reply->error != 0) {
        hf_my_fault(reply, node->probe_fault, sizeof(node->probe_fault));
    } else if (!hf_my_first(reply, &row) || hf_my_integer(&row, 0) != 1) {
        snprintf(node->probe_fault, sizeof(node->probe_fault), "%s",
                 is_first ? "it was not granted" : "it was not released");
    }
    if (!is_first) {
        node->is_examined = false;
        find_all(node, now);
        hf_jobs_end(&node->jobs, HF_OK, "");
    } else if (node->rtt.ns == 0) {
        node->rtt = hf_instant_until(request->sent, now);
    }
}

void hf_my_job_reply(struct hf_my_node *node,
                     const struct hf_my_request *request,
                     const struct hf_mysql_reply *reply, struct hf_instant now)
{
    if (request->kind == HF_MY_SURVEY) {
        take_survey(node, reply, now);
    } else {
        take_probe(node, request, reply, now);
    }
}

/* ---- All ---------------------------------------------------------------- */

static void find_declared(struct hf_my_node *node)
{
    if (hf_jobs_has(&node->jobs, HF_JOB_INIT)) {
        hf_jobs_find(&node->jobs, HF_FINDING_OK, "%s",
                     node->admission.has_declared
                         ? "declared: it has no locks from before, and counts"
                         : "counts already: nothing to declare");
    }
    if (hf_jobs_has(&node->jobs, HF_JOB_QUARANTINE)) {
        hf_jobs_find(
            &node->jobs, HF_FINDING_OK,
            "declared to have lost data: it has no vote until a host has "
            "watched it for %" PRId64 " s",
            hf_span_ms_ceil(hf_quarantine_span(node->store->shape.max_ttl_ms)) /
                1000);
    }
    node->admission.is_declared = false;
}

void hf_my_jobs(struct hf_my_node *node, struct hf_instant now)
{
    bool declares = hf_jobs_declare(&node->jobs);
    if (declares && !node->admission.is_declared) {
        /* Asked for since: do it now. */
        hf_my_handshake(node, now);
        return;
    }
    if (declares) {
        find_declared(node);
    }
    if (!hf_jobs_has(&node->jobs, HF_JOB_EXAMINE)) {
        hf_jobs_end(&node->jobs, HF_OK, "");
    } else if (!node->is_examined) {
        node->is_examined = true;
        node->probe_fault[0] = '\0';
        probe(node);
    }
}
