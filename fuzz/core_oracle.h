/* SPDX-License-Identifier: Apache-2.0 */
/* What one lease was told and what it did, written down without
 * counting votes as core does: judges each step by that. */
#ifndef FUZZ_CORE_ORACLE_H
#define FUZZ_CORE_ORACLE_H

#include "fuzz.h"

#include "core/lease.h"

/* A node, as far as this lease can know it. */
struct heard {
    bool is_pending[HF_VERB_YIELD + 1];
    struct hf_send sends[HF_VERB_YIELD + 1];
    struct hf_instant sent[HF_VERB_YIELD + 1];
    unsigned number[HF_VERB_YIELD + 1]; /* in the order of sending */
    uint64_t counter;        /* it is ours there, at that; 0: it is not */
    uint64_t refused;        /* the largest counter that was not ours */
    struct hf_instant until; /* nothing proves that it is ours any longer */
    struct hf_instant claim; /* the same of what may be pushed */
    struct hf_instant kept;  /* the node itself may keep it for so long */
};

struct oracle {
    struct hf_lease *lease;
    const struct hf_nodes *nodes;
    struct heard heard[HF_NODES_MAX];
    enum hf_phase phase; /* before this step */
    struct hf_instant deadline;
    uint64_t fence;
    bool queues;
    bool is_forsaken;
    bool is_adopted;
    bool is_shrunk; /* extended to a shorter lease */
    bool is_extending;
    bool owes_release; /* a caller waits for the outcome of the release */
    unsigned n_sends;
    unsigned n_held;
    unsigned n_over; /* TAKEN and the like */
    unsigned n_queued;
    unsigned n_timers; /* in a row, without anything sent or time passing */
    struct hf_instant timer_at;
};

void oracle_init(struct oracle *oracle, struct hf_lease *lease,
                 const struct hf_nodes *nodes);

/* Before the step, and behind it. */
void oracle_event(struct oracle *oracle, const struct hf_event *event);
void oracle_effects(struct oracle *oracle, const struct hf_event *event,
                    const struct hf_effects *effects);

#endif
