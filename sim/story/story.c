/* SPDX-License-Identifier: Apache-2.0 */
#include "story/story.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static const char *const regimes[SIM_REGIMES] = {
    [SIM_CALM] = "calm",
    [SIM_NETWORK] = "network",
    [SIM_RATES] = "clocks-right-rates",
    [SIM_RESTART_DURABLE] = "restart-durable",
    [SIM_AMNESIA] = "amnesia-quarantined",
    [SIM_FLOOR_ALONE] = "floor-alone",
    [SIM_WILD_CLOCKS] = "wild-clocks",
    [SIM_AMNESIA_WILD] = "amnesia-wild",
    [SIM_FAILOVER] = "failover",
    [SIM_EVICT] = "evict",
    [SIM_FLUSH] = "flush",
    [SIM_BOOT_CLOCKS] = "boot-clocks",
    [SIM_LOCAL] = "local",
};

#define P .has_process = true
#define N .has_node = true
#define FOR .has_span = true
#define BY .amount = "by"
#define IN_CALL .amount = "number", .is_count = true

static const struct sim_fault_form forms[SIM_FAULTS] = {
    [SIM_FAULT_CUT] = {"cut", P, N},
    [SIM_FAULT_SILENCE] = {"silence", P, N, FOR},
    [SIM_FAULT_DEAFNESS] = {"deafness", P, N, FOR},
    [SIM_FAULT_PARTITION] = {"partition", FOR, .has_mask = true},
    [SIM_FAULT_SLOW] = {"slow", P, N, FOR, BY},
    [SIM_FAULT_GHOST] = {"ghost", P, N, FOR, BY},
    [SIM_FAULT_PAUSE] = {"pause", P, FOR},
    [SIM_FAULT_PAUSE_MIDWAY] = {"pause-midway", P, FOR},
    [SIM_FAULT_CRASH] = {"crash", P, FOR},
    [SIM_FAULT_STOP] = {"stop", N, FOR},
    [SIM_FAULT_RESTART] = {"restart", N, FOR},
    [SIM_FAULT_AGE] = {"age", N, FOR, BY},
    [SIM_FAULT_EMPTY] = {"empty", N, FOR},
    [SIM_FAULT_PROMOTE] = {"promote", N, FOR, BY},
    [SIM_FAULT_FLUSH] = {"flush", N},
    [SIM_FAULT_EVICT] = {"evict", N, .amount = "keys", .is_count = true},
    [SIM_FAULT_FULL] = {"full", N, FOR},
    [SIM_FAULT_FORGET_SCRIPTS] = {"forget-scripts", N},
    [SIM_FAULT_NODE_CLOCK] = {"node-clock", N, BY},
    [SIM_FAULT_PROCESS_CLOCK] = {"process-clock", P, BY},
    [SIM_FAULT_REBOOT] = {"reboot", P, FOR},
    [SIM_FAULT_REPLICA] = {"replica", N, FOR, BY},
    [SIM_FAULT_RETURN] = {"return", N},
    [SIM_FAULT_EVERYSEC] = {"everysec", N, FOR},
    [SIM_FAULT_UNSYNCED] = {"unsynced", N, FOR},
    [SIM_FAULT_STOP_IN_CALL] = {"stop-in-call", P, FOR, IN_CALL},
    [SIM_FAULT_KILL_IN_CALL] = {"kill-in-call", P, FOR, IN_CALL},
};

#undef P
#undef N
#undef FOR
#undef BY
#undef IN_CALL

const char *sim_regime_name(enum sim_regime regime)
{
    HF_ASSERT(regime < SIM_REGIMES);
    return regimes[regime];
}

const struct sim_fault_form *sim_fault_form(enum sim_fault_kind kind)
{
    HF_ASSERT(kind < SIM_FAULTS);
    return &forms[kind];
}

const char *sim_turn_name(enum sim_turn_kind kind)
{
    static const char *const names[] = {
        [SIM_TURN_LOCK] = "",
        [SIM_TURN_BREAK] = "break",
        [SIM_TURN_BREAK_NOW] = "break-now",
        [SIM_TURN_LOOK] = "look",
        [SIM_TURN_FOREIGN] = "foreign",
    };
    HF_ASSERT(kind < SIM_TURN_KINDS);
    return names[kind];
}

const char *sim_fault_name(enum sim_fault_kind kind)
{
    return sim_fault_form(kind)->name;
}

/* ---- Lists: their capacity doubles at each power of two ------------------ */

static void *grow(void *list, size_t n, size_t size)
{
    if (n > 0 && (n & (n - 1)) != 0) {
        return list;
    }
    void *longer = realloc(list, (n == 0 ? 1 : 2 * n) * size);
    HF_ASSERT(longer != NULL);
    return longer;
}

void sim_story_add_turn(struct sim_story *story, const struct sim_turn *turn)
{
    story->turns = grow(story->turns, story->n_turns, sizeof(*turn));
    story->turns[story->n_turns++] = *turn;
}

void sim_story_add_fault(struct sim_story *story, const struct sim_fault *fault)
{
    story->faults = grow(story->faults, story->n_faults, sizeof(*fault));
    size_t at = story->n_faults++;
    while (at > 0 && story->faults[at - 1].at_ns > fault->at_ns) {
        story->faults[at] = story->faults[at - 1];
        at--;
    }
    story->faults[at] = *fault;
}

void sim_story_copy(struct sim_story *to, const struct sim_story *from)
{
    *to = *from;
    to->turns = NULL;
    to->faults = NULL;
    to->n_turns = to->n_faults = 0;
    for (size_t i = 0; i < from->n_turns; i++) {
        sim_story_add_turn(to, &from->turns[i]);
    }
    for (size_t i = 0; i < from->n_faults; i++) {
        sim_story_add_fault(to, &from->faults[i]);
    }
}

void sim_story_fini(struct sim_story *story)
{
    free(story->turns);
    free(story->faults);
    memset(story, 0, sizeof(*story));
}
