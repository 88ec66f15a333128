/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of one lease: records replies and requests, and checks each step
 * against them. It does not count votes the way core does, so that an error in
 * core's counting is found. */
#ifndef FUZZ_CORE_ORACLE_H
#define FUZZ_CORE_ORACLE_H

#include "fuzz.h"

#include "core/lease.h"

/* What this lease may know of a node. */
struct heard {
    bool is_pending[HF_VERB_YIELD + 1];
    struct hf_send sends[HF_VERB_YIELD + 1];
    struct hf_instant sent[HF_VERB_YIELD + 1];
    unsigned number[HF_VERB_YIELD + 1]; /* position in the order of sending */
    uint64_t counter;        /* at which we own the name there; 0: we do not */
    uint64_t refused;        /* the largest counter that was another owner's */
    struct hf_instant until; /* until then a reply proves that we own it */
    struct hf_instant claim; /* the same for a grant that may be pushed */
    struct hf_instant kept;  /* until then the node itself may keep our lease */
};

struct oracle {
    struct hf_lease *lease;
    const struct hf_nodes *nodes;
    struct heard heard[HF_NODES_MAX];
    enum hf_phase phase; /* before this step */
    struct hf_instant deadline;
    uint64_t fence;
    bool queues;
    bool place_stays;
    bool is_forsaken;
    bool is_adopted;
    bool is_shrunk; /* extended to a shorter lease */
    bool is_extending;
    bool owes_release; /* a caller waits for the outcome of the release */
    unsigned n_sends;
    unsigned n_held;
    unsigned n_over; /* outcomes other than held, as TAKEN */
    unsigned n_queued;
    unsigned n_timers; /* in a row, without a request or progress of time */
    struct hf_instant timer_at;
};

void oracle_init(struct oracle *oracle, struct hf_lease *lease,
                 const struct hf_nodes *nodes);

/* Call the first before each step, the second after it. */
void oracle_event(struct oracle *oracle, const struct hf_event *event);
void oracle_effects(struct oracle *oracle, const struct hf_event *event,
                    const struct hf_effects *effects);

#endif
