/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points for the client. */
#include "base/fail.h"
#include "io/clock.h"
#include "store/zookeeper/calls.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/watch.h"
#include "store/zookeeper/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Milliseconds. A try that is repeated costs a sync with the leader, and a
 * list: the first pause is about that round trip. At the cap a client that
 * keeps losing repeats it some four times a second. */
#define RETRY_BASE_MS 1
#define RETRY_CAP_MS 250

/* Milliseconds: a proposal waits for the disks of a majority. */
#define NODE_TIMEOUT_MS_DEFAULT 500

static const char *const schemes[] = {"zookeeper", NULL};

static struct hf_zk *zk_of(struct hf_store *store)
{
    return (struct hf_zk *)(void *)store;
}

/* ---- Opening ------------------------------------------------------------- */

static void free_store(struct hf_zk *zk)
{
    hf_ordered_fini(&zk->ordered);
    hf_zk_target_fini(zk);
    free(zk->position);
    free(zk);
}

static enum hf_status set_up(struct hf_zk *zk, const struct hf_url *url,
                             struct hf_error *error)
{
    enum hf_status status = hf_zk_target_read(zk, url, error);
    if (status != HF_OK) {
        return status;
    }
    zk->node_timeout = hf_span_ms(
        url->has_node_timeout ? url->node_timeout_ms : NODE_TIMEOUT_MS_DEFAULT);
    zk->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    return HF_OK;
}

static enum hf_status
zookeeper_open(const struct hf_url *url, const struct hf_store_env *env,
               struct hf_store **out, struct hf_error *error)
{
    *out = NULL;
    struct hf_zk *zk = calloc(1, sizeof(*zk));
    if (zk == NULL) {
        return hf_fail_memory(error);
    }
    hf_ordered_init(&zk->ordered, &hf_store_zookeeper,
                    (struct hf_wire *)(void *)zk, &hf_zk_wire, env);
    enum hf_status status = set_up(zk, url, error);
    if (status != HF_OK) {
        free_store(zk);
        return status;
    }
    hf_zk_node_open(zk, hf_clock_now());
    *out = &zk->ordered.base;
    return HF_OK;
}

static void zookeeper_shut(struct hf_store *store, bool is_forked)
{
    struct hf_zk *zk = zk_of(store);
    if (!is_forked) {
        hf_ordered_close(&zk->ordered, hf_clock_now());
    }
    hf_zk_node_close(zk, is_forked);
    free_store(zk);
}

/* ---- The node ------------------------------------------------------------ */

static void zookeeper_resume(struct hf_store *store, struct hf_instant now)
{
    hf_zk_node_resume(zk_of(store), now);
}

static const char *shown_server(const struct hf_zk *zk)
{
    const char *server = zk->main == NULL || zk->n_servers == 1
                             ? NULL
                             : zoo_get_current_server(zk->main->library);
    return server == NULL || server[0] == '\0' ? zk->servers[0].shown : server;
}

static void zookeeper_describe(const struct hf_store *store, unsigned index,
                               struct hf_instant now, struct hf_node *out)
{
    const struct hf_zk *zk = (const struct hf_zk *)(const void *)store;
    (void)index;
    (void)now;
    hf_ordered_describe(&zk->ordered, shown_server(zk), out);
}

/* ---- Jobs ---------------------------------------------------------------- */

static void zookeeper_job(struct hf_store *store, unsigned index,
                          enum hf_job job, const struct hf_job_sink *sink)
{
    struct hf_zk *zk = zk_of(store);
    hf_jobs_add(&zk->ordered.jobs, index, job, sink);
    hf_timer_set(&zk->timer, HF_LONG_AGO);
}

/* ---- The table ----------------------------------------------------------- */

const struct hf_wire_ops hf_zk_wire = {
    .open = hf_zk_call_open,
    .renew = hf_zk_call_renew,
    .close = hf_zk_call_close,
    .owned = hf_zk_call_owned,
    .create = hf_zk_call_create,
    .list = hf_zk_call_list,
    .read = hf_zk_call_read,
    .replace = hf_zk_call_replace,
    .scan = hf_zk_call_scan,
    .remove = hf_zk_call_remove,
    .watch = hf_zk_watch,
    .unwatch = hf_zk_unwatch,
    .mark_read = hf_zk_call_mark_read,
    .mark_write = hf_zk_call_mark_write,
    .marks = hf_zk_call_marks,
    .value_read = hf_zk_call_value_read,
    .value_write = hf_zk_call_value_write,
    .keeps_tombstones = true,
};

const struct hf_store_ops hf_store_zookeeper = {
    .name = "zookeeper",
    .schemes = schemes,
    .capabilities = HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_VALUES |
                    HF_CAP_RECORDS | HF_CAP_FENCES,
    .is_serial = true,
    .ends_with_session =
        "a lock in ZooKeeper ends with the session of the client that "
        "acquired it: it cannot be kept without its process, handed on, "
        "reserved, or extended beyond its ttl",
    .retry_base = {RETRY_BASE_MS * INT64_C(1000000)},
    .retry_cap = {RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {NODE_TIMEOUT_MS_DEFAULT * INT64_C(1000000)},
    .failover = {HF_ORDERED_FAILOVER_MS * INT64_C(1000000)},
    .joins = {HF_STORE_JOINS_MS * INT64_C(1000000)},
    .place_stays = true,
    .open = zookeeper_open,
    .close = zookeeper_shut,
    .ask = hf_ordered_store_ask,
    .flush = hf_ordered_store_flush,
    .resume = zookeeper_resume,
    .describe = zookeeper_describe,
    .job = zookeeper_job,
    .job_cancel = hf_ordered_store_job_cancel,
};

HF_STORE_MODULE(hf_store_zookeeper);
