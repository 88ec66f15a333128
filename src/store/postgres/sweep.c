/* SPDX-License-Identifier: Apache-2.0 */
/* SWEEPING
 *
 * A row of a name has no expiry, as a key of Redis has. So each client deletes
 * the idle names among the next BATCH ones after every EVERY acquisitions, more
 * than it can have added. A client begins its count at random: commands that
 * acquire once sweep as often, on average. The function passes over rows that
 * are locked, so no verb waits for a sweep of another client.
 *
 * Cost: one statement after each 64th acquisition, in the same write. No caller
 * waits for its reply, but the next requests of this connection are executed
 * after it: it reads up to BATCH keys in each of three tables. */
#include "store/postgres/node.h"

#include <string.h>

/* Acquisitions between two sweeps, and names of one: their cost is a small part
 * of the acquisitions', and two names are looked at for each. */
#define EVERY 64
#define BATCH 128

void hf_pg_sweep(struct hf_pg_node *node, struct hf_instant now)
{
    struct hf_pg_params params;
    if (++node->acquires % EVERY != 0) {
        return;
    }
    hf_pg_params_init(&params);
    hf_pg_params_bytes(&params, node->swept, node->swept_len);
    hf_pg_params_number(&params, BATCH);
    hf_pg_node_ask(node, HF_PG_SWEEP, "SELECT holdfast.sweep($1, $2)", &params,
                   now);
}

/* A sweep that failed is made again from the first name. */
void hf_pg_swept(struct hf_pg_node *node, const struct hf_pg_reply *reply)
{
    struct hf_bytes last = hf_pg_bytes(reply->rows, 0, 0);
    bool is_usable = reply->error == NULL && last.len <= sizeof(node->swept);
    node->swept_len = is_usable ? last.len : 0;
    memcpy(node->swept, last.data, node->swept_len);
}
