/* SPDX-License-Identifier: Apache-2.0 */
/* The state of test_local_model.c: one name, and its parties. */
#ifndef HF_TESTS_LOCAL_MODEL_H
#define HF_TESTS_LOCAL_MODEL_H

#include "local_driver.h"

#define PARTIES 7 /* that contend: enough for sharers, and waiters behind */

struct party {
    char owner[64];
    bool waits;
    bool is_shared; /* its mode as a waiter or sharer */
    uint16_t permits;
    int64_t place_until, queue_ms;
    uint64_t ticket;
    bool shares;
    int64_t until;
    uint64_t v;
};

struct model {
    struct party of[PARTIES + 1];
    bool is_owned;
    bool has_last;
    int holder; /* -1: a group, or none */
    int broken; /* the holder before the breaker */
    bool is_group;
    bool is_ended; /* the name is reserved after a release */
    uint16_t permits;
    int64_t until;
    uint64_t c;
    uint64_t founded_at;
    /* The effects of the present request. */
    const struct hf_answer *answer;
    int asker;
    bool is_served;
    struct driver_push pushes[PARTIES + 1];
    unsigned n_pushes;
};

#endif
