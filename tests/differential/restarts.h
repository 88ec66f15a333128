/* SPDX-License-Identifier: Apache-2.0 */
/* Markers, and restarts of the node, in the differential test. */
#ifndef HF_TESTS_RESTARTS_H
#define HF_TESTS_RESTARTS_H

#include "both.h"

/* Some expect another marker than the one there is. */
static inline void any_marker(struct both *both, struct request *ask)
{
    static const char *const expected[] = {"*", "", "m0"};
    if (chance(both, 30)) {
        strcpy(ask->marker, expected[below(both, COUNT(expected))]);
    }
    strcpy(ask->fresh, both->marker);
    if (chance(both, 50)) {
        snprintf(ask->fresh, sizeof(ask->fresh), "m%u", ++both->markers);
    }
    if (chance(both, 80)) {
        snprintf(ask->host, sizeof(ask->host), "at:%d", (int)below(both, 5));
    }
    if (chance(both, 30)) {
        snprintf(ask->fact, sizeof(ask->fact), "of:%d", (int)below(both, 5));
    }
    ask->flag = chance(both, 20);
    ask->ttl_ms = below(both, 100000);
}

/* A request of a client that does not know the present marker is refused. */
static inline void know_marker(struct both *both, struct request *ask)
{
    bool is_other =
        ask->verb != PUT && !both->ops->is_embedded && chance(both, 2);
    strcpy(ask->marker, is_other ? "m0" : both->marker);
}

/* The data stays: no client listens, and one declares a marker. */
static inline void restart(struct both *both)
{
    struct scripts *scripts = &both->scripts;
    bool is_server = both->may_restart > 0;
    both->may_restart -= is_server;
    both->restarted++;
    both->has_restarted = true;
    sim_redis_disconnect(scripts->session);
    sim_redis_disconnect(scripts->ears);
    scripts->session = sim_redis_connect(scripts->redis, NULL);
    scripts->ears = sim_redis_connect(scripts->redis, NULL);
    both->ops->restart(both->node, is_server);
    for (int i = 0; i <= BREAKER; i++) {
        both->parties[i].hears = false;
    }
}

static inline void note_marker(struct both *both, const struct request *ask)
{
    if (ask->verb == MARKER && both->scripts.reply.items[0].integer == 1) {
        strcpy(both->marker, ask->fresh);
        both->declared++;
        both->has_restarted = false;
    }
}

#endif
