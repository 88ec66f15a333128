/* SPDX-License-Identifier: Apache-2.0 */
/* What the stores have in common as stores: operations of their tables, and the
 * jobs of `holdfast doctor`. */
#include "store/ordered/ordered.h"

static struct hf_ordered *ordered_of(struct hf_store *base)
{
    return (struct hf_ordered *)(void *)base;
}

/* ---- The table ----------------------------------------------------------- */

void hf_ordered_store_ask(struct hf_store *base, const struct hf_ask *ask,
                          struct hf_instant now)
{
    hf_ordered_ask(ordered_of(base), ask, now);
}

void hf_ordered_store_flush(struct hf_store *base, struct hf_instant now)
{
    hf_ordered_flush(ordered_of(base), now);
    hf_ordered_check(ordered_of(base));
}

void hf_ordered_store_job_cancel(struct hf_store *base)
{
    hf_jobs_cancel(&ordered_of(base)->jobs);
}

void hf_ordered_describe(const struct hf_ordered *store, const char *address,
                         struct hf_node *out)
{
    hf_store_describe(out, address, store->standing.status, store->rtt,
                      store->standing.reason);
}

/* ---- Jobs ---------------------------------------------------------------- */

bool hf_ordered_jobs_serve(struct hf_ordered *store)
{
    if (hf_jobs_declare(&store->jobs)) {
        hf_jobs_finish(
            &store->jobs, HF_UNSUPPORTED,
            "agrees by consensus and keeps its data on the disks of a "
            "majority: there is nothing to declare");
        return false;
    }
    if (hf_jobs_has(&store->jobs, HF_JOB_EXAMINE)) {
        return !store->is_probing;
    }
    hf_jobs_finish(&store->jobs, HF_OK, NULL);
    return false;
}
