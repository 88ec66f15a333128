/* SPDX-License-Identifier: Apache-2.0 */
/* THE END OF A BUNDLE: all locks go to the user, or none
 *
 * On success each member gives its lock away before the bundle finishes, so
 * that freeing the members releases nothing. The bundle has sorted the names
 * by bytes (multi_name.c); the handle has them in the order of the user, which
 * `given` keeps. In each other case the members are dropped first: what is
 * held is released in the background.
 *
 * Every end takes the bundle out of client->bundles, so hf_bundles_pump()
 * cannot continue one that has ended.
 *
 * Cost: none if all are held; else a RELEASE for each lock that a node may
 * have granted. */
#include "client/lock_group.h"
#include "client/multi_name_parts.h"
#include "client/name.h"

#include <stdio.h>

void hf_bundle_forget_news(struct hf_bundle *bundle)
{
    struct hf_bundle **at = &bundle->op.client->bundles;
    if (!bundle->has_news) {
        return;
    }
    while (*at != bundle) {
        HF_ASSERT(*at != NULL); /* has_news: it is in the list */
        at = &(*at)->next;
    }
    *at = bundle->next;
    bundle->has_news = false;
}

void hf_bundle_abandon(struct hf_op *op)
{
    struct hf_bundle *bundle = hf_bundle_of(op);
    hf_bundle_drop_from(bundle, 0);
    hf_bundle_forget_news(bundle);
}

void hf_bundle_fail(struct hf_bundle *bundle, enum hf_status status)
{
    hf_bundle_abandon(&bundle->op);
    hf_op_finish(&bundle->op, status);
}

/* The error of a call for several names says which of them is held. */
static void explain(struct hf_bundle *bundle, const struct hf_op *op)
{
    struct hf_error *error = &bundle->op.error;
    error->node = op->error.node;
    if (hf_bundle_is_semaphore(bundle)) {
        hf_semaphore_explain(bundle, op);
    } else if (op->status == HF_BUSY) {
        char name[HF_NAME_SHOWN_MAX];
        hf_name_show(op->order.name, op->order.name_len, name);
        snprintf(error->text, sizeof(error->text), "%s is %.900s", name,
                 op->error.text);
    } else {
        snprintf(error->text, sizeof(error->text), "%s", op->error.text);
    }
}

void hf_bundle_fail_like(struct hf_bundle *bundle,
                         const struct hf_member *member)
{
    explain(bundle, &member->op);
    hf_bundle_fail(bundle, member->op.status);
}

/** Link the locks in the order of the user's names. @return the first: the
 * handle. */
static struct hf_lock *link_names(struct hf_bundle *bundle)
{
    struct hf_lock *locks[HF_NAMES_MAX] = {NULL};
    for (unsigned i = 0; i < bundle->n_parts; i++) {
        locks[bundle->given[i]] = bundle->parts[i].got;
    }
    for (unsigned i = 1; i < bundle->n_parts; i++) {
        hf_lock_group_join(locks[i - 1], locks[i]);
    }
    return locks[0];
}

void hf_bundle_hand_out(struct hf_bundle *bundle)
{
    HF_ASSERT(bundle->at == bundle->n_parts); /* each part has its lock */
    struct hf_lock *first = hf_bundle_is_semaphore(bundle)
                                ? hf_semaphore_link(bundle)
                                : link_names(bundle);
    for (unsigned i = 0; i < bundle->n_members; i++) {
        struct hf_member *member = &bundle->members[i];
        if (hf_member_is_held(member)) {
            member->op.lock->op = NULL;
            member->op.lock = NULL;
        }
        member->is_begun = false;
    }
    bundle->op.lock = first;
    hf_bundle_forget_news(bundle);
    hf_op_finish(&bundle->op, HF_OK);
}
