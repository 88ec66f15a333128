/* SPDX-License-Identifier: Apache-2.0 */
/* A question to every node that can be asked, and what they said. It is over
 * when all have answered, or when a majority has and the others had their
 * time, or when no majority can come in a second. */
#ifndef HF_CLIENT_LOOK_H
#define HF_CLIENT_LOOK_H

#include "client/op.h"

struct hf_look;

/* One node's answer; borrowed. @return true: ask this node again, with
 * look->cursor[node]. */
typedef bool hf_look_fn(struct hf_look *look, const struct hf_answer *answer);

struct hf_look {
    struct hf_op op; /* first: it is the item in the tables */
    enum hf_verb verb;
    bool now;          /* BREAK */
    const void *owner; /* BREAK, MARK */
    size_t owner_len;
    uint64_t fence;              /* MARK; its ttl is the order's */
    const struct hf_bytes *back; /* BREAK: what each node is to give the name
                                    back to; or NULL */
    uint16_t asked;
    uint16_t waiting; /* asked, not answered */
    uint16_t again;   /* to be asked with its next cursor */
    unsigned repeats; /* left, for nodes that did not do what was asked */
    struct hf_instant hard_end;
    uint64_t cursor[HF_NODES_MAX];
    hf_look_fn *heard;
    void *user;
};

static inline struct hf_look *hf_look_of(struct hf_item *item)
{
    return (struct hf_look *)item;
}

/* Begin; `look` was set up with hf_look_init() and its fields filled.
 * @return false: no memory. */
void hf_look_init(struct hf_look *look, struct hf_client *client,
                  enum hf_verb verb, const void *name, size_t name_len);
bool hf_look_begin(struct hf_look *look);

void hf_look_answer(struct hf_look *look, const struct hf_answer *answer);
void hf_look_pump(struct hf_look *look);
void hf_look_due(struct hf_look *look);

#endif
