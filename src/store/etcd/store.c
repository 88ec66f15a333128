/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points for the client. */
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
    hf_ordered_free(&etcd->node.ordered);
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
    hf_ordered_open(&etcd->node.ordered, &hf_store_etcd,
                    (struct hf_wire *)(void *)etcd, &hf_etcd_wire, env);
    enum hf_status status = set_up(etcd, url, error);
    if (status != HF_OK) {
        free_store(etcd);
        return status;
    }
    hf_etcd_node_open(etcd, hf_clock_now());
    *out = &etcd->node.ordered.base;
    return HF_OK;
}

static void etcd_close(struct hf_store *store, bool forked)
{
    struct hf_etcd *etcd = etcd_of(store);
    if (!forked) {
        hf_ordered_close(&etcd->node.ordered, hf_clock_now());
    }
    hf_endpoints_close(&etcd->node, forked);
    free_store(etcd);
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
    .ask = hf_ordered_store_ask,
    .flush = hf_ordered_store_flush,
    .resume = hf_endpoints_resume,
    .describe = hf_endpoints_describe,
    .job = hf_endpoints_job,
    .job_cancel = hf_ordered_store_job_cancel,
};

HF_STORE_MODULE(hf_store_etcd);
