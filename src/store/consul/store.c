/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points for the client. */
#include "base/fail.h"
#include "store/consul/consul.h"

#include <stdlib.h>
#include <string.h>

/* A try that is repeated costs the cluster one read at its leader. */
#define RETRY_BASE_MS 1
#define RETRY_CAP_MS 250

/* Milliseconds: a proposal waits for the disks of a majority. */
#define NODE_TIMEOUT_MS_DEFAULT 500

static const char *const schemes[] = {"consul", "consuls", NULL};

/* ---- Opening ------------------------------------------------------------- */

void hf_consul_fini(struct hf_endpoints *node)
{
    struct hf_consul *consul = hf_consul_of(node);
    hf_consul_target_fini(consul);
    hf_consul_doubts_free(consul);
    while (consul->list_of_jobs != NULL) {
        hf_consul_job_free(consul, consul->list_of_jobs);
    }
    hf_wire_text_fini(&consul->body);
    hf_wire_text_fini(&consul->path);
    free(consul->prefix);
    hf_consul_list_fini(&consul->list);
    hf_consul_list_fini(&consul->heard);
}

enum hf_status hf_consul_set_up(struct hf_endpoints *node,
                                const struct hf_url *url,
                                struct hf_error *error)
{
    struct hf_consul *consul = hf_consul_of(node);
    enum hf_status status = hf_consul_target_read(consul, url, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_wire_text prefix = {0};
    hf_consul_key_prefix(&prefix, url->prefix);
    consul->prefix = hf_wire_text_take(&prefix);
    return consul->prefix == NULL ? hf_fail_memory(error) : HF_OK;
}

static enum hf_status consul_open(const struct hf_url *url,
                                  const struct hf_store_env *env,
                                  struct hf_store **out, struct hf_error *error)
{
    return hf_endpoints_open(&hf_consul_endpoints, url, env, out, error);
}

/* ---- The table ----------------------------------------------------------- */

const struct hf_store_ops hf_store_consul = {
    .name = "consul",
    .schemes = schemes,
    .capabilities = HF_CAP_QUEUE | HF_CAP_SHARED | HF_CAP_VALUES |
                    HF_CAP_RECORDS | HF_CAP_FENCES,
    .is_told = true,
    .retry_base = {RETRY_BASE_MS * INT64_C(1000000)},
    .retry_cap = {RETRY_CAP_MS * INT64_C(1000000)},
    .node_timeout = {NODE_TIMEOUT_MS_DEFAULT * INT64_C(1000000)},
    .failover = {HF_ORDERED_FAILOVER_MS * INT64_C(1000000)},
    .joins = {HF_STORE_JOINS_MS * INT64_C(1000000)},
    .place_stays = true,
    .open = consul_open,
    .close = hf_endpoints_close,
    .ask = hf_ordered_store_ask,
    .flush = hf_ordered_store_flush,
    .resume = hf_endpoints_resume,
    .describe = hf_endpoints_describe,
    .job = hf_endpoints_job,
    .job_cancel = hf_ordered_store_job_cancel,
};

HF_STORE_MODULE(hf_store_consul);
