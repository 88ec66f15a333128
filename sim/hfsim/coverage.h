/* SPDX-License-Identifier: Apache-2.0 */
/* Coverage: rare states that a batch of seeds must reach at least once, or its
 * success proves little. They are detected from the notes alone. */
#ifndef HF_SIM_COVERAGE_H
#define HF_SIM_COVERAGE_H

#include "world/trace.h"

/* Each is explained by its name in sim_rare_name(). */
enum sim_rare {
    SIM_RARE_SECOND_ROUND,
    SIM_RARE_RAISE_PASSED,
    SIM_RARE_RAISE_REFUSED,
    SIM_RARE_BELOW_FLOOR,
    SIM_RARE_ASKED_AGAIN,
    SIM_RARE_GHOST,
    SIM_RARE_TAKEN_BACK,
    SIM_RARE_BELOW_HIGHEST,
    SIM_RARE_HAND_OVER,
    SIM_RARE_DEAD_WAITER,
    SIM_RARE_LOST_GRANT,
    SIM_RARE_YIELD,
    SIM_RARE_YIELD_IN_VAIN,
    SIM_RARE_QUARANTINE,
    SIM_RARE_STRANGER,
    SIM_RARE_FULL,
    SIM_RARE_AT_RISK,
    SIM_RARE_LOST,
    SIM_RARE_ADOPTED,
    SIM_RARE_STALE_WRITE,
    SIM_RARE_STARTED_ONCE,
    SIM_RARE_MARKED_MEANWHILE,
    SIM_RARE_WITHDRAWN,
    SIM_RARE_BROKEN,
    SIM_RARE_PLAIN,
    SIM_RARES
};

/* The state in a few words, for reports. Static. */
const char *sim_rare_name(enum sim_rare rare);

/* The state kept from earlier notes; all zeros at the beginning. */
struct sim_rares {
    uint64_t n_seen[SIM_RARES];
    int8_t owner[SIM_NODES_MAX][SIM_NAMES_MAX]; /* process + 1; 0: none */
    uint64_t highest[SIM_PROCESSES_MAX][SIM_NAMES_MAX];
    bool is_gone[SIM_PROCESSES_MAX];
};

/* Count what this note shows. To be called with each note of one world, in
 * order; each world begins with a zeroed struct. */
void sim_rares_note(struct sim_rares *rares, const struct sim_note *note);

#endif
