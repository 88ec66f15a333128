/* SPDX-License-Identifier: Apache-2.0 */
/* A query to every node that is reachable, and the replies. It ends when all
 * nodes have replied, or one timeout after a majority has, or 900 ms after the
 * start or after the last reply that is continued.
 *
 *     hf_broadcast_init(&query, client, verb, name, name_len);
 *     query.on_reply = ...; and the fields of the verb
 *     if (hf_broadcast_begin(&query)) {
 *         hf_op_await(&query.op, error);     or op.parent, or op.call
 *     }
 *
 * Its status is HF_OK if a majority has replied, else that of
 * hf_unavailable_write(), with its text. The memory is the caller's, and so is
 * all that the fields point to: both must stay until op.is_done. */
#ifndef HF_CLIENT_BROADCAST_H
#define HF_CLIENT_BROADCAST_H

#include "client/op.h"

struct hf_broadcast;

/** Handle one node's reply, granted or refused; other verdicts do not come
 * here. The store is on the stack, maybe below hf_broadcast_begin(): neither
 * call it nor end an operation. `answer` is borrowed until the return. @return
 * true: query this node again, with query->cursor[node]; false: it has replied.
 */
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
    hf_broadcast_fn *on_reply;
    void *user;
};

/* The broadcast that this item of the tables is. */
static inline struct hf_broadcast *hf_broadcast_of(struct hf_item *item)
{
    return (struct hf_broadcast *)item;
}

/* Zero the fields, but for the patience, and max_ttl as the order's ttl. Sends
 * nothing, takes no memory; `name` is borrowed. */
void hf_broadcast_init(struct hf_broadcast *query, struct hf_client *client,
                       enum hf_verb verb, const void *name, size_t name_len);

/** Send the query to the nodes that are up; those that are connecting get it
 * once they are. `on_reply` must be set. The query may be done at the return:
 * no node is up or connecting, or all have replied. @return false: no memory;
 * nothing was sent, and the query will not end. */
bool hf_broadcast_begin(struct hf_broadcast *query);

/** The same after a delay, in which nothing is sent. @return as above. */
bool hf_broadcast_begin_after(struct hf_broadcast *query, struct hf_span delay);

/* For answer.c: a node replied, or its request has failed. Calls `on_reply`,
 * and leaves all else to hf_broadcast_pump(), since the store is on the stack.
 */
void hf_broadcast_answer(struct hf_broadcast *query,
                         const struct hf_answer *answer);

/* After replies, or a change of a node: send the requests that are due, and end
 * the query if no further reply can come. The store is not on the stack. */
void hf_broadcast_pump(struct hf_broadcast *query);

#endif
