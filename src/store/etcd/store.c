/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points for the client, and the jobs of `holdfast doctor`. */
#include "base/fail.h"
#include "io/clock.h"
#include "store/etcd/etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A try that is repeated costs the cluster one read at its leader. */
#define RETRY_BASE_MS 1
#define RETRY_CAP_MS 250

/* Milliseconds: a proposal waits for the disks of a majority. */
#define NODE_TIMEOUT_MS_DEFAULT 500

static const char *const schemes[] = {"etcd", "etcds", NULL};

static struct hf_etcd *etcd_of(struct hf_store *store)
{
    return (struct hf_etcd *)(void *)store;
}

/* ---- Opening ------------------------------------------------------------- */

static void free_store(struct hf_etcd *etcd)
{
    hf_ordered_free(&etcd->ordered);
    hf_etcd_target_free(etcd);
    hf_wire_text_free(&etcd->body);
    hf_wire_text_free(&etcd->position);
    free(etcd->prefix);
    free(etcd->arena);
    free(etcd->entries);
    free(etcd);
}

static enum hf_status set_up(struct hf_etcd *etcd, const struct hf_url *url,
                             struct hf_error *error)
{
    enum hf_status status = hf_etcd_target_read(etcd, url, error);
    if (status != HF_OK) {
        return status;
    }
    etcd->prefix = strdup(url->prefix);
    etcd->node_timeout = hf_span_ms(
        url->has_node_timeout ? url->node_timeout_ms : NODE_TIMEOUT_MS_DEFAULT);
    etcd->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    return etcd->prefix == NULL ? hf_fail_memory(error) : HF_OK;
}

static enum hf_status etcd_open(const struct hf_url *url,
                                const struct hf_store_env *env,
                                struct hf_store **out, struct hf_error *error)
{
    *out = NULL;
    struct hf_etcd *etcd = calloc(1, sizeof(*etcd));
    if (etcd == NULL) {
        return hf_fail_memory(error);
    }
    hf_ordered_open(&etcd->ordered, &hf_store_etcd,
                    (struct hf_wire *)(void *)etcd, &hf_etcd_wire, env);
    enum hf_status status = set_up(etcd, url, error);
    if (status != HF_OK) {
        free_store(etcd);
        return status;
    }
    hf_etcd_node_open(etcd, hf_clock_now());
    *out = &etcd->ordered.base;
    return HF_OK;
}

static void etcd_close(struct hf_store *store, bool forked)
{
    struct hf_etcd *etcd = etcd_of(store);
    if (!forked) {
        hf_ordered_close(&etcd->ordered, hf_clock_now());
    }
    hf_etcd_node_close(etcd, forked);
    free_store(etcd);
}

/* ---- Asking -------------------------------------------------------------- */

static void etcd_ask(struct hf_store *store, const struct hf_ask *ask,
                     struct hf_instant now)
{
    hf_ordered_ask(&etcd_of(store)->ordered, ask, now);
}

static void etcd_flush(struct hf_store *store, struct hf_instant now)
{
    hf_ordered_flush(&etcd_of(store)->ordered, now);
    hf_ordered_check(&etcd_of(store)->ordered);
}

static void etcd_resume(struct hf_store *store, struct hf_instant now)
{
    hf_etcd_node_resume(etcd_of(store), now);
}

static void etcd_describe(const struct hf_store *store, unsigned index,
                          struct hf_instant now, struct hf_node *out)
{
    static const enum hf_health states[] = {
        [HF_NODE_STATUS_CONNECTING] = HF_NODE_CONNECTING,
        [HF_NODE_STATUS_VOTING] = HF_NODE_UP,
        [HF_NODE_STATUS_DOWN] = HF_NODE_DOWN,
    };
    const struct hf_etcd *etcd = (const struct hf_etcd *)(const void *)store;
    (void)index;
    (void)now;
    memset(out, 0, sizeof(*out));
    snprintf(out->address, sizeof(out->address), "%s",
             etcd->endpoints[etcd->at].shown);
    out->health = states[etcd->ordered.status];
    out->rtt_us = hf_span_us_floor(etcd->rtt);
    snprintf(out->reason, sizeof(out->reason), "%s", etcd->ordered.reason);
}

/* ---- Jobs ---------------------------------------------------------------- */

void hf_etcd_jobs_end(struct hf_etcd *etcd, enum hf_status status,
                      const char *reason)
{
    if (etcd->jobs == 0) {
        return;
    }
    etcd->jobs = 0;
    if (etcd->has_sink) {
        etcd->sink.done(etcd->sink.user, 0, status, reason);
    }
}

void hf_etcd_jobs(struct hf_etcd *etcd, struct hf_instant now)
{
    unsigned declares = 1U << HF_JOB_INIT | 1U << HF_JOB_QUARANTINE;
    if ((etcd->jobs & declares) != 0) {
        hf_etcd_jobs_end(etcd, HF_UNSUPPORTED,
                         "agrees by consensus and keeps its data on the disks "
                         "of a majority: there is nothing to declare");
        return;
    }
    if ((etcd->jobs & 1U << HF_JOB_EXAMINE) != 0) {
        hf_etcd_examine(etcd, now); /* ends them with its reply */
    } else {
        hf_etcd_jobs_end(etcd, HF_OK, NULL);
    }
}

/* They end from the loop, not inside job(). */
static void etcd_job(struct hf_store *store, unsigned index, enum hf_job job,
                     const struct hf_job_sink *sink)
{
    struct hf_etcd *etcd = etcd_of(store);
    (void)index;
    etcd->sink = *sink;
    etcd->has_sink = true;
    etcd->jobs |= 1U << job;
    if (etcd->phase == HF_ETCD_WAITING) {
        etcd->reconnect.retry_at = HF_LONG_AGO;
    }
    if (etcd->phase == HF_ETCD_WAITING || etcd->phase == HF_ETCD_READY ||
        etcd->phase == HF_ETCD_FOREIGN) {
        hf_timer_set(&etcd->timer, HF_LONG_AGO);
    }
}

static void etcd_job_cancel(struct hf_store *store)
{
    struct hf_etcd *etcd = etcd_of(store);
    etcd->has_sink = false;
    etcd->jobs = 0;
}

/* ---- The table ----------------------------------------------------------- */

const struct hf_store_ops hf_store_etcd = {
    .name = "etcd",
    .schemes = schemes,
    .capabilities =
        HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_RECORDS | HF_CAP_FENCES,
    .is_told = true,
    .retry_base = {RETRY_BASE_MS * INT64_C(1000000)},
    .retry_cap = {RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {NODE_TIMEOUT_MS_DEFAULT * INT64_C(1000000)},
    .open = etcd_open,
    .close = etcd_close,
    .ask = etcd_ask,
    .flush = etcd_flush,
    .resume = etcd_resume,
    .describe = etcd_describe,
    .job = etcd_job,
    .job_cancel = etcd_job_cancel,
};

HF_STORE_MODULE(hf_store_etcd);
