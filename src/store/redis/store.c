/* SPDX-License-Identifier: Apache-2.0 */
/* The store for Redis and Valkey: one or more independent nodes. The .lua files
 * define each verb at a node, node.h the states of a connection. */
#include "store/redis/node.h"

#include "base/assert.h"
#include "base/fail.h"
#include "base/secret.h"
#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A poll costs the server one script execution, and the waiter a round trip. */
#define RETRY_BASE_MS 10
#define RETRY_CAP_MS 500

static const char *const schemes[] = {
    "redis", "rediss", "redis+unix", "valkey", "valkeys", "valkey+unix", NULL};

static struct hf_redis *redis_of(struct hf_store *store)
{
    return (struct hf_redis *)(void *)store;
}

/* ---- Opening ----------------------------------------------------------- */

static enum hf_status check(const struct hf_url *url, struct hf_error *error)
{
    if (url->n_endpoints < 1 || url->n_endpoints > HF_NODES_MAX ||
        url->n_endpoints % 2 == 0) {
        return hf_fail(error, HF_CONFIG,
                       "the number of nodes must be odd, 1 to 9");
    }
    HF_ASSERT(strlen(url->prefix) <= HF_URL_PREFIX_MAX);
    return HF_OK;
}

static void name_node(struct hf_redis_node *node)
{
    const struct hf_endpoint *to = node->endpoint;
    if (to->is_unix) {
        snprintf(node->address, sizeof(node->address), "%s", to->host);
    } else if (strchr(to->host, ':') != NULL) {
        snprintf(node->address, sizeof(node->address), "[%s]:%u", to->host,
                 (unsigned)to->port);
    } else {
        snprintf(node->address, sizeof(node->address), "%s:%u", to->host,
                 (unsigned)to->port);
    }
}

static void set_up(struct hf_redis *store, const struct hf_url *url)
{
    char clock[HF_CLOCK_NAME_MAX];
    if (hf_clock_name(clock)) {
        snprintf(store->host, sizeof(store->host), "at:%s", clock);
    }
    snprintf(store->fence_keep, sizeof(store->fence_keep), "%lld",
             (long long)url->fence_keep_ms);
    store->shape =
        (struct hf_shape){url->max_ttl_ms, url->n_endpoints, url->fence_keep_ms,
                          (int64_t)url->fence_base};
    store->node_timeout = hf_span_ms(url->node_timeout_ms);
    store->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    store->strict = url->quarantine;
    hf_entropy(&store->seed, sizeof(store->seed));
    uint64_t channel;
    hf_entropy(&channel, sizeof(channel));
    snprintf(store->channel, sizeof(store->channel), "hf:push:%016llx",
             (unsigned long long)channel);
    store->listen_pace = hf_redis_listen_pace_default;
}

static bool has_tls(const struct hf_url *url)
{
    for (unsigned i = 0; i < url->n_endpoints; i++) {
        if (url->endpoints[i].is_tls) {
            return true;
        }
    }
    return false;
}

static char *copy_text(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

/* The client frees its URL; the store needs the endpoints until it is closed.
 */
static struct hf_endpoint *copy_endpoints(const struct hf_url *url, bool *ok)
{
    struct hf_endpoint *list = calloc(url->n_endpoints, sizeof(*list));
    *ok = list != NULL;
    for (unsigned i = 0; *ok && i < url->n_endpoints; i++) {
        const struct hf_endpoint *from = &url->endpoints[i];
        list[i] = *from;
        list[i].host = copy_text(from->host);
        list[i].user = copy_text(from->user);
        list[i].password = copy_text(from->password);
    }
    for (unsigned i = 0; *ok && i < url->n_endpoints; i++) {
        const struct hf_endpoint *from = &url->endpoints[i];
        *ok = list[i].host != NULL &&
              (list[i].user != NULL) == (from->user != NULL) &&
              (list[i].password != NULL) == (from->password != NULL);
    }
    return list;
}

static void free_endpoints(struct hf_endpoint *list, unsigned n)
{
    for (unsigned i = 0; list != NULL && i < n; i++) {
        free(list[i].host);
        free(list[i].user);
        hf_secret_free(list[i].password);
    }
    free(list);
}

static void free_store(struct hf_redis *store)
{
    free_endpoints(store->endpoints, store->base.n_nodes);
    hf_tls_free(store->tls);
    free(store->prefix);
    free(store->names.items);
    free(store->seats.items);
    free(store);
}

static bool open_nodes(struct hf_redis *store)
{
    struct hf_instant now = hf_clock_now();
    for (unsigned i = 0; i < store->base.n_nodes; i++) {
        struct hf_redis_node *node = &store->nodes[i];
        node->store = store;
        node->index = i;
        node->endpoint = &store->endpoints[i];
        name_node(node);
        hf_redis_node_open(node, now);
        if (!hf_reply_init(&node->connection.reply)) {
            return false;
        }
    }
    return true;
}

static void close_nodes(struct hf_redis *store, bool is_forked)
{
    for (unsigned i = 0; i < store->base.n_nodes; i++) {
        hf_redis_node_close(&store->nodes[i], is_forked);
    }
}

static enum hf_status redis_open(const struct hf_url *url,
                                 const struct hf_store_env *env,
                                 struct hf_store **out, struct hf_error *error)
{
    *out = NULL;
    enum hf_status status = check(url, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_redis *store =
        calloc(1, sizeof(*store) + url->n_endpoints * sizeof(store->nodes[0]));
    if (store == NULL) {
        return hf_fail_memory(error);
    }
    bool ok;
    store->base = (struct hf_store){&hf_store_redis, url->n_endpoints};
    store->env = *env;
    store->may_write = !env->announces_writes;
    store->endpoints = copy_endpoints(url, &ok);
    store->prefix = strdup(url->prefix);
    store->prefix_len = strlen(url->prefix);
    set_up(store, url);
    if (has_tls(url)) {
        status = hf_url_load_tls(url, "redis", &store->tls, error);
    }
    if (status == HF_OK &&
        (!ok || store->prefix == NULL || !open_nodes(store))) {
        close_nodes(store, false);
        status = hf_fail_memory(error);
    }
    if (status != HF_OK) {
        free_store(store);
        return status;
    }
    *out = &store->base;
    return HF_OK;
}

static void redis_close(struct hf_store *base, bool is_forked)
{
    struct hf_redis *store = redis_of(base);
    close_nodes(store, is_forked);
    free_store(store);
}

/* ---- Asking ------------------------------------------------------------ */

static void redis_ask(struct hf_store *base, const struct hf_ask *ask,
                      struct hf_instant now)
{
    HF_ASSERT(ask->node < base->n_nodes);
    hf_redis_ask(&redis_of(base)->nodes[ask->node], ask, now);
}

static void redis_flush(struct hf_store *base, struct hf_instant now)
{
    struct hf_redis *store = redis_of(base);
    (void)now;
    for (unsigned i = 0; i < base->n_nodes; i++) {
        hf_redis_connection_flush(&store->nodes[i].connection);
    }
}

static void redis_resume(struct hf_store *base, struct hf_instant now)
{
    struct hf_redis *store = redis_of(base);
    for (unsigned i = 0; i < base->n_nodes; i++) {
        hf_redis_node_resume(&store->nodes[i], now);
    }
}

static void redis_begin_write(struct hf_store *base, struct hf_instant now)
{
    struct hf_redis *store = redis_of(base);
    if (store->may_write) {
        return;
    }
    store->may_write = true;
    for (unsigned i = 0; i < base->n_nodes; i++) {
        hf_redis_begin_write(&store->nodes[i], now);
    }
}

static const char *redis_refuse(const struct hf_store *base, const void *name,
                                size_t name_len)
{
    const struct hf_redis *store = (const struct hf_redis *)(const void *)base;
    return hf_redis_is_own_key(store->prefix, store->prefix_len, name, name_len)
               ? HF_REDIS_OWN_KEYS ": choose another name or another prefix"
               : NULL;
}

static void redis_describe(const struct hf_store *base, unsigned index,
                           struct hf_instant now, struct hf_node *out)
{
    const struct hf_redis *store = (const struct hf_redis *)(const void *)base;
    const struct hf_redis_node *node = &store->nodes[index];
    hf_store_describe(out, node->address, node->standing.status, node->rtt,
                      node->standing.reason);
    if (node->standing.status == HF_NODE_STATUS_REPAIRING) {
        struct hf_span left =
            hf_instant_until(now, node->admission.quarantined_until);
        out->quarantine_left_ms =
            hf_redis_is_unmarked(node)
                ? 1000 * hf_admission_quarantine_s(&node->admission)
                : hf_span_ms_ceil(left);
        hf_redis_quarantine_text(node, out->reason, sizeof(out->reason));
    } else if (node->standing.status == HF_NODE_STATUS_CONNECTING &&
               (node->phase == HF_REDIS_CONNECTING ||
                node->phase == HF_REDIS_GREETING)) {
        hf_redis_connection_late_text(&node->connection, now, out->reason,
                                      sizeof(out->reason));
    }
}

/* ---- Jobs -------------------------------------------------------------- */

/* Each job begins with a new handshake, or a new attempt to connect. */
static void redis_job(struct hf_store *base, unsigned index, enum hf_job job,
                      const struct hf_job_sink *sink)
{
    struct hf_redis *store = redis_of(base);
    struct hf_redis_node *node = &store->nodes[index];
    HF_ASSERT(index < base->n_nodes && sink->done != NULL);
    hf_jobs_add(&node->jobs, index, job, sink);
    if (hf_redis_is_ready(node)) {
        hf_redis_reidentify(node, "being set up or examined", hf_clock_now());
    } else if (node->phase == HF_REDIS_WAITING) {
        node->connection.reconnect.retry_at = HF_LONG_AGO;
        hf_redis_node_arm(node);
    }
}

static void redis_job_cancel(struct hf_store *base)
{
    struct hf_redis *store = redis_of(base);
    for (unsigned i = 0; i < base->n_nodes; i++) {
        hf_jobs_cancel(&store->nodes[i].jobs);
    }
}

const struct hf_store_ops hf_store_redis = {
    .name = "redis",
    .schemes = schemes,
    .capabilities = HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_VALUES |
                    HF_CAP_RECORDS | HF_CAP_FENCES,
    .retry_base = {RETRY_BASE_MS * INT64_C(1000000)},
    .retry_cap = {RETRY_CAP_MS * INT64_C(1000000)},
    .open = redis_open,
    .close = redis_close,
    .ask = redis_ask,
    .flush = redis_flush,
    .resume = redis_resume,
    .begin_write = redis_begin_write,
    .refuse = redis_refuse,
    .describe = redis_describe,
    .job = redis_job,
    .job_cancel = redis_job_cancel,
};
