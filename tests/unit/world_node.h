/* SPDX-License-Identifier: Apache-2.0 */
/* One node of the small world: the rules of the scripts of store/redis and of
 * the verbs of store/local, on an array. Owners are numbers; if tickets are
 * equal, the smaller one is first. unit/test_world_node.c compares it with the
 * scripts. */
#ifndef HF_TESTS_WORLD_NODE_H
#define HF_TESTS_WORLD_NODE_H

#include "core/lease.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* A step of the clock floor. */
#define FLOOR_STEP_US (UINT64_C(1) << HF_FLOOR_BITS)

/* Sharers or waiters: attempts whose place has not ended. */
#define NODE_PLACES_MAX 64

/* The arguments of a request. */
struct node_ask {
    uint32_t owner;
    enum hf_verb verb;
    bool reacquires;
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

/* Called for each pushed grant. @return false: no client received it. */
typedef bool node_push_fn(void *user, uint32_t owner, uint64_t counter);

struct node {
    uint32_t owner; /* 0: no owner, or sharers */
    uint32_t last;
    uint64_t counter;
    struct hf_instant expiry;
    struct node_sharer sharers[NODE_PLACES_MAX];
    unsigned n_sharers;
    struct node_waiter waiters[NODE_PLACES_MAX]; /* by ticket, then owner */
    unsigned n_waiters;
    struct hf_instant queue_end; /* from then on the queue is empty */
    struct hf_instant now;
    uint64_t time_us; /* its wall clock */
    node_push_fn *push;
    void *user;
};

/* Drop what has expired at node->now. */
void node_expire(struct node *node);

/* Execute the request. Fills verdict, counter, rival (UINT32_MAX: sharers),
 * left, ahead, ticket, floor and bound of `answer`. */
void node_execute(struct node *node, const struct node_ask *ask,
                  struct hf_event *answer);

#endif
