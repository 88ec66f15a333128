/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a URL for a store whose rules are in a database. `host`
 * names the clock of this machine: under it the marker has the time at which
 * this host first saw it (core/quarantine.h). Where /proc hides that name it
 * stays empty, and each client watches a new server by itself. */
#include "base/fail.h"
#include "store/sql/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hf_status
hf_sql_store_init(struct hf_sql_store *store, const struct hf_store_ops *ops,
                  const struct hf_url *url, const struct hf_store_env *env,
                  struct hf_error *error)
{
    char clock[HF_CLOCK_NAME_MAX];
    store->base = (struct hf_store){ops, 1};
    store->env = *env;
    store->prefix = strdup(url->prefix);
    store->prefix_len = strlen(url->prefix);
    store->fence_keep_ms = url->fence_keep_ms;
    store->shape = (struct hf_shape){url->max_ttl_ms, 1, url->fence_keep_ms,
                                     (int64_t)url->fence_base};
    if (hf_clock_name(clock)) {
        snprintf(store->host, sizeof(store->host), "at:%s", clock);
    }
    store->node_timeout = hf_span_ms(
        url->has_node_timeout ? url->node_timeout_ms : HF_SQL_NODE_TIMEOUT_MS);
    store->connect_timeout = hf_span_ms(url->connect_timeout_ms);
    store->strict = url->quarantine;
    return store->prefix == NULL ? hf_fail_memory(error) : HF_OK;
}

void hf_sql_store_fini(struct hf_sql_store *store)
{
    free(store->prefix);
    free(store->names.items);
    free(store->seats.items);
}
