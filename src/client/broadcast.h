/* SPDX-License-Identifier: Apache-2.0 */
/* A query to every node that is reachable, and the replies. It ends when all
 * nodes have replied, or one timeout after a majority has, or 900 ms after the
 * start or after the last reply that is continued. */
#ifndef HF_CLIENT_BROADCAST_H
#define HF_CLIENT_BROADCAST_H

#include "client/op.h"

struct hf_broadcast;

/** Handle one node's reply; borrowed. @return true: query this node again, with
 * query->cursor[node]. */
typedef bool hf_broadcast_fn(struct hf_broadcast *query,
                             const struct hf_answer *answer);

struct hf_broadcast {
    struct hf_op op; /* first: it is the item in the tables */
    enum hf_verb verb;
    bool frees_now;    /* BREAK */
    const void *owner; /* BREAK, MARK; PUT: id of the write */
    size_t owner_len;
    uint64_t fence;               /* MARK; its ttl is the order's */
    const struct hf_bytes *back;  /* BREAK: the owner to restore, per node; or
                                     NULL */
    const struct hf_bytes *value; /* PUT; its version is in `fence` */
    bool is_delayed;              /* begins when its timer goes off */
    uint16_t asked;               /* nodes that were sent the request */
    uint16_t waiting;             /* nodes that have not replied */
    uint16_t unknown; /* nodes that may execute the request, or have: the reply
                         is lost */
    uint16_t again;   /* nodes to query again, with their next cursor */
    uint16_t unsent;  /* nodes that were not sent the request after all */
    unsigned repeats; /* retries left for failed requests */
    struct hf_instant hard_end;
    uint64_t cursor[HF_NODES_MAX];
    hf_broadcast_fn *heard;
    void *user;
};

static inline struct hf_broadcast *hf_broadcast_of(struct hf_item *item)
{
    return (struct hf_broadcast *)item;
}

void hf_broadcast_init(struct hf_broadcast *query, struct hf_client *client,
                       enum hf_verb verb, const void *name, size_t name_len);
/** Send the query; the caller has called hf_broadcast_init() and filled the
 * fields.
 * @return false: no memory. */
bool hf_broadcast_begin(struct hf_broadcast *query);

/* The same after a delay. */
bool hf_broadcast_begin_after(struct hf_broadcast *query, struct hf_span delay);

void hf_broadcast_answer(struct hf_broadcast *query,
                         const struct hf_answer *answer);
void hf_broadcast_pump(struct hf_broadcast *query);
void hf_broadcast_due(struct hf_broadcast *query);

#endif
