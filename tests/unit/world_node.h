/* SPDX-License-Identifier: Apache-2.0 */
/* One node of the small world: what the scripts of store/redis and the verbs of
 * store/local do, on an array. Owners are numbers, smaller ones win a tie.
 * unit/test_world_node.c holds it against the scripts. */
#ifndef HF_TESTS_WORLD_NODE_H
#define HF_TESTS_WORLD_NODE_H

#include "core/lease.h"

#include <stdbool.h>
#include <stdint.h>

#define NODE_PLACES_MAX 64

/* What a request carries. */
struct node_ask {
    uint32_t owner;
    enum hf_verb verb;
    bool holder;
    bool is_shared;
    uint64_t counter;
    struct hf_span ttl;
    struct hf_span queue;
    uint64_t ticket;
};

struct node_waiter {
    uint32_t owner;
    bool is_shared;
    uint64_t ticket;
    struct hf_span queue;
    struct hf_instant end;
};

struct node_sharer {
    uint32_t owner;
    uint64_t counter; /* its own v */
    struct hf_instant end;
};

/* Called for each pushed grant. @return false: no client receives it. */
typedef bool node_push_fn(void *user, uint32_t owner, uint64_t counter);

struct node {
    uint32_t owner; /* 0: none, or sharers */
    uint32_t last;
    uint64_t counter;
    struct hf_instant expiry;
    struct node_sharer sharers[NODE_PLACES_MAX];
    unsigned n_sharers;
    struct node_waiter waiters[NODE_PLACES_MAX]; /* by ticket, then owner */
    unsigned n_waiters;
    struct hf_instant queue_end; /* then nothing is kept of the queue */
    struct hf_instant now;
    uint64_t time_us; /* its wall clock */
    node_push_fn *push;
    void *user;
};

/* End what is over at node->now. */
void node_expire(struct node *node);

/* Execute; fills verdict, counter, rival (UINT32_MAX: sharers), left,
 * ahead, ticket, floor and bound of `answer`. */
void node_execute(struct node *node, const struct node_ask *ask,
                  struct hf_event *answer);

#endif
