/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the parts of a bundle from a user's request, in one allocation:
 *
 *     struct hf_bundle | members | parts | label, names
 *
 * The parts of a semaphore are planned in semaphore.c. */
#include "client/multi_name.h"
#include "client/multi_name_parts.h"
#include "client/name.h"
#include "client/request.h"

#include <stdlib.h>
#include <string.h>

/* Sort the names by bytes, the order in which the bundle waits for them. They
 * are few, so insertion sort. */
static void sort(const struct hf_order *order, struct hf_name names[],
                 uint8_t given[])
{
    struct hf_name first = {order->name, order->name_len,
                            order->is_shared ? HF_SHARED : HF_EXCLUSIVE};
    HF_ASSERT(order->n_more < HF_NAMES_MAX);
    for (unsigned i = 0; i <= order->n_more; i++) {
        struct hf_name name = i == 0 ? first : hf_order_more(order, i - 1);
        unsigned at = i;
        for (; at > 0 && hf_name_compare(&name, &names[at - 1]) < 0; at--) {
            names[at] = names[at - 1];
            given[at] = given[at - 1];
        }
        names[at] = name;
        given[at] = (uint8_t)i;
    }
}

/* Bytes after the structs: the names, the permits' names, the label. */
static size_t text_size(const struct hf_order *order)
{
    size_t size = order->text_len + order->name_len;
    for (unsigned i = 0; i < order->n_more; i++) {
        size += hf_order_more(order, i).name_len;
    }
    return size + hf_semaphore_text_size(order);
}

static void plan_names(struct hf_bundle *bundle, const struct hf_order *order,
                       char *text)
{
    struct hf_name names[HF_NAMES_MAX];
    sort(order, names, bundle->given);
    for (unsigned i = 0; i <= order->n_more; i++) {
        struct hf_part *part = hf_bundle_add_part(bundle, 1, 0);
        text = hf_bundle_order_member(bundle, part->members, &names[i], text);
    }
}

struct hf_op *hf_bundle_new(struct hf_client *client,
                            const struct hf_order *order)
{
    unsigned n_parts = order->n_slots > 0 ? 2 : 1U + order->n_more;
    unsigned n_members = order->n_slots > 0 ? 1U + order->n_slots : n_parts;
    struct hf_bundle *bundle =
        malloc(sizeof(*bundle) + n_members * sizeof(struct hf_member) +
               n_parts * sizeof(struct hf_part) + text_size(order));
    if (bundle == NULL) {
        return NULL;
    }
    memset((char *)bundle + sizeof(bundle->op), 0,
           sizeof(*bundle) - sizeof(bundle->op));
    hf_op_init(&bundle->op, client, &hf_bundle_handlers);
    bundle->members = (struct hf_member *)(bundle + 1);
    bundle->parts = (struct hf_part *)(void *)(bundle->members + n_members);
    char *text = (char *)(bundle->parts + n_parts);
    bundle->op.order = *order;
    bundle->op.order.text = text;
    memcpy(text, order->text_len > 0 ? order->text : "", order->text_len);
    text += order->text_len;
    bundle->op.order.name = text; /* the semaphore's; not used for names */
    if (order->n_slots > 0) {
        hf_semaphore_plan(bundle, order, text);
    } else {
        plan_names(bundle, order, text);
    }
    HF_ASSERT(bundle->n_parts == n_parts && bundle->n_members == n_members);
    bundle->op.order.more = NULL; /* borrowed from the caller */
    return &bundle->op;
}
