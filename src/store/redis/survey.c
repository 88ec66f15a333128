/* SPDX-License-Identifier: Apache-2.0 */
/* SURVEYS: jobs that read a node's keys page by page
 *
 *     ──▶ SCAN cursor MATCH <prefix>* COUNT 1000
 *     ◀── a page of keys
 *     ──▶ EVAL look.lua, with the locks of this page
 *     ◀── how many are held, and the first of them      ... next page
 *
 * A survey runs after the handshake and before admission.c changes the marker,
 * so the node has no vote until then. Another handshake follows it.
 *
 * LOOK reports whether locks of the node are held or have waiters. It reads the
 * lock keys of this client's prefix, and all side keys: these lead to the locks
 * of other prefixes, which share the marker, and a queue exists until the place
 * of its last waiter expires. A lock that cannot be read counts as held. A page
 * takes about a millisecond. The survey ends after 1,000 held locks or 1,000
 * queues, and gives up after 15 seconds.
 *
 * COUNT and LOWER look for counters that are further ahead than any node
 * accepts, because this node's clock was ahead (ahead.lua). LOWER sets them
 * back, and deletes queues and leases that were written by the same clock. Its
 * script compares the marker at each page, and writes nothing on a node that
 * votes.
 *
 * Cost: two round trips for each page of 1,000 keys. The node has no vote for
 * as long. */
#include "base/assert.h"
#include "base/fail.h"
#include "store/findings.h"
#include "store/redis/fault.h"
#include "store/redis/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "1000"

/* LOOK ends after this many locks or queues, and reports this many names. */
#define FOUND_MAX 1000
#define NAMED_MAX 5
#define NAMED_TEXT "5"

/* A longer name is cut in a finding. */
#define NAME_SHOWN_MAX 40

/* Limits of a whole survey in milliseconds. A page takes about one, so 15 s are
 * enough for millions of keys; a server with more is reported as not read to
 * its end. LOWER writes, and is run once: it may take a minute. */
#define SURVEY_MS_MAX 15000
#define LOWER_MS_MAX 60000

/* Stages: lock keys (only LOOK), then side keys. */
enum { LOCKS, SIDES, STAGES };

/* Arguments of an EVAL: the script, the number of keys, the keys, and the
 * script's arguments. Keys of COUNT and LOWER: the marker, pairs of a counter
 * and a lock, queues to delete. */
struct page {
    int argc;
    size_t room; /* for arguments */
    const char **argv;
    size_t *lens;
    char count[HF_TEXT_SHORT];
    char n_pairs[HF_TEXT_SHORT];
    char max_ttl[HF_TEXT_NUMBER];
};

static bool page_init(struct page *page, size_t n_keys)
{
    page->argc = 3;
    page->room = 2 * n_keys + 8;
    page->argv = calloc(page->room, sizeof(*page->argv));
    page->lens = calloc(page->room, sizeof(*page->lens));
    return page->argv != NULL && page->lens != NULL;
}

static void page_fini(struct page *page)
{
    free(page->argv);
    free(page->lens);
}

static void page_add(struct page *page, const char *data, size_t len)
{
    HF_ASSERT((size_t)page->argc < page->room);
    page->argv[page->argc] = data;
    page->lens[page->argc++] = len;
}

static bool has_prefix(const struct hf_redis *store, const char *key,
                       size_t len)
{
    return len > store->prefix_len &&
           memcmp(key, store->prefix, store->prefix_len) == 0;
}

static void end(struct hf_redis_node *node, enum hf_status status,
                const char *reason, struct hf_instant now)
{
    node->survey.is_under_way = false;
    hf_jobs_finish(&node->jobs, status, reason);
    hf_redis_handshake(node, false, now);
}

/* ---- Asking ------------------------------------------------------------ */

static void push(struct hf_redis_node *node, uint8_t verb,
                 const struct hf_resp_request *request, struct hf_instant now)
{
    node->connection.deadline =
        hf_instant_add(now, node->store->connect_timeout);
    hf_redis_connection_ask(&node->connection, verb, request, now);
    hf_redis_connection_flush(&node->connection);
    hf_redis_node_arm(node);
}

static void scan(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_redis *store = node->store;
    char cursor[HF_TEXT_NUMBER];
    char pattern[2 * HF_URL_PREFIX_MAX + 2];
    bool is_sides = node->survey.stage == SIDES;
    size_t len = hf_redis_pattern_make(
        pattern, sizeof(pattern), is_sides ? "hf:" : store->prefix,
        is_sides ? 3 : store->prefix_len, NULL, 0);
    snprintf(cursor, sizeof(cursor), "%" PRIu64, node->survey.cursor);
    const char *argv[] = {"SCAN", cursor, "MATCH", pattern, "COUNT", PAGE};
    size_t lens[] = {4, strlen(cursor), 5, len, 5, strlen(PAGE)};
    struct hf_resp_request request = {.argc = 6, .argv = argv, .lens = lens};
    push(node, HF_REDIS_SURVEY_SCAN, &request, now);
}

static void add_terms(const struct hf_redis_node *node, struct page *page)
{
    const char *marker =
        node->survey.job == HF_JOB_LOWER ? node->admission.marker.value : "";
    snprintf(page->max_ttl, sizeof(page->max_ttl), "%" PRId64,
             node->store->shape.max_ttl_ms);
    page_add(page, marker, strlen(marker));
    page_add(page, page->n_pairs, strlen(page->n_pairs));
    page_add(page, node->store->fence_keep, strlen(node->store->fence_keep));
    page_add(page, page->max_ttl, strlen(page->max_ttl));
}

static void send_page(struct hf_redis_node *node, struct page *page,
                      struct hf_instant now)
{
    bool is_look = node->survey.job == HF_JOB_LOOK;
    const struct hf_script *script =
        is_look ? &hf_script_look : &hf_script_ahead;
    snprintf(page->count, sizeof(page->count), "%d", page->argc - 3);
    page->argv[0] = "EVAL";
    page->lens[0] = 4;
    page->argv[1] = script->text;
    page->lens[1] = script->len;
    page->argv[2] = page->count;
    page->lens[2] = strlen(page->count);
    if (is_look) {
        page_add(page, NAMED_TEXT, strlen(NAMED_TEXT));
    } else {
        add_terms(node, page);
    }
    struct hf_resp_request request = {
        .argc = page->argc, .argv = page->argv, .lens = page->lens};
    push(node, HF_REDIS_SURVEY_PAGE, &request, now);
}

void hf_redis_survey(struct hf_redis_node *node, enum hf_job job,
                     struct hf_instant now)
{
    int64_t most_ms = job == HF_JOB_LOWER ? LOWER_MS_MAX : SURVEY_MS_MAX;
    memset(&node->survey, 0, sizeof(node->survey));
    node->survey.is_under_way = true;
    node->survey.job = job;
    node->survey.stage = job == HF_JOB_LOOK ? LOCKS : SIDES;
    node->survey.until = hf_instant_add(now, hf_span_ms(most_ms));
    node->phase = HF_REDIS_SURVEYING;
    scan(node, now);
}

/* ---- Finding ----------------------------------------------------------- */

/* Without the prefix, as `holdfast ls` shows it. A key of another prefix has to
 * be shown whole: this client has no name for it. */
static void name_key(struct hf_redis_node *node, struct hf_redis_found *found,
                     const char *key, size_t len)
{
    const struct hf_redis *store = node->store;
    if (found->named == NAMED_MAX) {
        return;
    }
    if (has_prefix(store, key, len)) {
        key += store->prefix_len;
        len -= store->prefix_len;
    }
    size_t used = strlen(found->names);
    bool is_cut = len > NAME_SHOWN_MAX;
    snprintf(found->names + used, sizeof(found->names) - used, "%s\"%.*s%s\"",
             found->named > 0 ? ", " : "", is_cut ? NAME_SHOWN_MAX : (int)len,
             key, is_cut ? "..." : "");
    hf_error_make_plain(found->names);
    found->named++;
}

/* "3 locks are held ("a", "b", "c")" */
static void write_found(const struct hf_redis_found *found, const char *one,
                        const char *many, char *out, size_t size)
{
    snprintf(out, size, "%" PRIu64 "%s %s (%s%s)", found->n,
             found->n >= FOUND_MAX ? " or more" : "",
             found->n == 1 ? one : many, found->names,
             found->n > found->named ? ", ..." : "");
}

/* INIT on a node with held locks could grant them twice. Report every reason at
 * once, so that the operator need not run the job once for each. */
static void find_all(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_redis_survey *seen = &node->survey;
    enum hf_status status = HF_OK;
    char why[sizeof(node->standing.reason)] = "";
    char text[HF_TEXT_LIST];
    if (node->admission.ruling.trust == HF_TRUST_MISMATCH) {
        hf_admission_mismatch_text(&node->admission, text, sizeof(text));
        hf_jobs_report(&node->jobs, HF_FINDING_ERROR, "%s", text);
        status = HF_CONFIG;
        snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, text);
    }
    if (seen->is_cut || seen->is_hidden) {
        snprintf(text, sizeof(text), "not all its locks can be looked at%s",
                 seen->is_hidden ? ": this user has no right to read some"
                                 : " within 15 s");
        hf_jobs_report(&node->jobs, HF_FINDING_ERROR, "%s", text);
        status = HF_BUSY;
        snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, text);
    }
    if (seen->waited.n > 0) {
        write_found(&seen->waited, "name has waiters", "names have waiters",
                    text, sizeof(text));
        hf_jobs_report(&node->jobs, HF_FINDING_ERROR, "%s", text);
        status = HF_BUSY;
        snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, text);
    }
    if (seen->held.n > 0) {
        write_found(&seen->held, "lock is held", "locks are held", text,
                    sizeof(text));
        hf_jobs_report(&node->jobs, HF_FINDING_ERROR, "%s", text);
        status = HF_BUSY;
        snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, text);
    }
    end(node, status, why, now);
}

static void count_all(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_redis_survey *seen = &node->survey;
    enum hf_status status = HF_OK;
    const char *why = "";
    if (seen->is_cut) {
        status = HF_UNAVAILABLE;
        why = "has more keys than can be read in time: run it again";
    } else {
        status = hf_findings_counters(&node->jobs, seen->job,
                                      (int64_t)seen->ahead, &why);
    }
    end(node, status, why, now);
}

/* ---- Replies ----------------------------------------------------------- */

static void go_on(struct hf_redis_node *node, struct hf_instant now)
{
    struct hf_redis_survey *survey = &node->survey;
    bool is_enough = survey->held.n >= FOUND_MAX ||
                     survey->waited.n >= FOUND_MAX ||
                     (survey->job == HF_JOB_COUNT && survey->ahead > 0);
    survey->is_cut = !is_enough && !hf_instant_before(now, survey->until);
    if (survey->cursor == 0) {
        survey->stage++;
    }
    bool is_over = survey->stage == STAGES || is_enough || survey->is_cut;
    if (is_over && survey->job != HF_JOB_LOOK) {
        count_all(node, now);
    } else if (is_over) {
        find_all(node, now);
    } else {
        scan(node, now);
    }
}

/* A queue has waiters. A counter of another prefix leads to its lock key. */
static void take_side(struct hf_redis_node *node, struct page *page,
                      const char *key, size_t len)
{
    const char *lock = NULL;
    size_t lock_len = 0;
    enum hf_redis_side side = hf_redis_side_read(key, len, &lock, &lock_len);
    if (side == HF_REDIS_QUEUE) {
        node->survey.waited.n++;
        name_key(node, &node->survey.waited, lock, lock_len);
    } else if (side == HF_REDIS_FENCE &&
               !has_prefix(node->store, lock, lock_len)) {
        page_add(page, lock, lock_len);
    }
}

/* Of another prefix only the counter is lowered: it stands for its lock, too
 * (ahead.lua). */
static void take_counters(struct hf_redis_node *node, struct page *page)
{
    const struct hf_reply *reply = &node->connection.reply;
    const char *lock = NULL;
    size_t lock_len = 0;
    page_add(page, HF_REDIS_MARKER_KEY, strlen(HF_REDIS_MARKER_KEY));
    for (size_t i = 3; i < reply->n; i++) {
        const char *key = hf_reply_text(reply, i);
        size_t len = reply->items[i].len;
        if (hf_redis_side_read(key, len, &lock, &lock_len) != HF_REDIS_FENCE) {
            continue;
        }
        bool is_ours = has_prefix(node->store, lock, lock_len);
        page_add(page, key, len);
        page_add(page, is_ours ? lock : key, is_ours ? lock_len : len);
    }
    snprintf(page->n_pairs, sizeof(page->n_pairs), "%d", (page->argc - 4) / 2);
    for (size_t i = 3; i < reply->n && node->survey.job == HF_JOB_LOWER; i++) {
        const char *key = hf_reply_text(reply, i);
        size_t len = reply->items[i].len;
        enum hf_redis_side side =
            hf_redis_side_read(key, len, &lock, &lock_len);
        if (side == HF_REDIS_QUEUE || side == HF_REDIS_WAITERS) {
            page_add(page, key, len);
        }
    }
}

static void take_scan(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    struct page page;
    if (!page_init(&page, reply->n)) {
        page_fini(&page);
        hf_redis_connection_starve(&node->connection);
        return;
    }
    node->survey.cursor = strtoull(hf_reply_text(reply, 1), NULL, 10);
    bool is_look = node->survey.job == HF_JOB_LOOK;
    if (!is_look) {
        take_counters(node, &page);
    }
    for (size_t i = 3; is_look && i < reply->n; i++) {
        const char *key = hf_reply_text(reply, i);
        size_t len = reply->items[i].len;
        if (reply->items[i].type != HF_REPLY_STRING) {
            continue;
        }
        if (node->survey.stage == SIDES) {
            take_side(node, &page, key, len);
        } else if (len < 3 || memcmp(key, "hf:", 3) != 0) {
            page_add(&page, key, len);
        }
    }
    if (page.argc > (is_look ? 3 : 4)) {
        send_page(node, &page, now);
    } else {
        go_on(node, now);
    }
    page_fini(&page);
}

static void take_page(struct hf_redis_node *node, struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    int64_t held = hf_reply_integer(reply, 1);
    if (node->survey.job != HF_JOB_LOOK) {
        node->survey.ahead += held > 0 ? (uint64_t)held : 0;
        go_on(node, now);
        return;
    }
    node->survey.held.n += held > 0 ? (uint64_t)held : 0;
    for (size_t i = 2; i < reply->n; i++) {
        if (reply->items[i].type == HF_REPLY_STRING) {
            name_key(node, &node->survey.held, hf_reply_text(reply, i),
                     reply->items[i].len);
        }
    }
    go_on(node, now);
}

static void take_error(struct hf_redis_node *node, uint8_t request,
                       struct hf_instant now)
{
    char words[HF_TEXT_SENTENCE];
    char why[sizeof(node->standing.reason)];
    enum hf_status fault = hf_redis_fault(
        hf_reply_text(&node->connection.reply, 0), words, sizeof(words));
    if (fault == HF_DENIED && request == HF_REDIS_SURVEY_PAGE &&
        node->survey.stage == SIDES && node->survey.job == HF_JOB_LOOK) {
        node->survey.is_hidden = true;
        go_on(node, now);
        return;
    }
    snprintf(why, sizeof(why), "its keys cannot be looked at: %s", words);
    end(node, fault, why, now);
}

void hf_redis_surveyed(struct hf_redis_node *node,
                       const struct hf_pending *pending, struct hf_instant now)
{
    const struct hf_reply *reply = &node->connection.reply;
    if (!node->survey.is_under_way) {
        return;
    }
    if (reply->items[0].type == HF_REPLY_ERROR) {
        take_error(node, pending->verb, now);
    } else if (reply->items[0].type == HF_REPLY_INTEGER &&
               node->survey.job == HF_JOB_LOWER) {
        end(node, HF_BUSY, "was declared anew meanwhile", now);
    } else if (reply->items[0].type != HF_REPLY_ARRAY ||
               reply->n < (pending->verb == HF_REDIS_SURVEY_SCAN ? 3 : 2)) {
        end(node, HF_UNAVAILABLE, "an answer that makes no sense", now);
    } else if (pending->verb == HF_REDIS_SURVEY_SCAN) {
        take_scan(node, now);
    } else {
        take_page(node, now);
    }
}
