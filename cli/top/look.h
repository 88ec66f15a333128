/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the store, in a thread of its own, so that the screen and the
 * keyboard never wait for a server. It looks every `interval_ms`, at most a
 * fifth of the time, and puts each look where the other side takes it. */
#ifndef CLI_TOP_LOOK_H
#define CLI_TOP_LOOK_H

#include "ls/view.h"
#include "ls/view_places.h"

#include <holdfast/holdfast.h>
#include <pthread.h>

/* What one look showed. */
struct top_look {
    enum hf_status status; /* other than HF_OK: no rows */
    struct hf_error error;
    struct cli_view view;
    int n_nodes;
    struct cli_node nodes[HF_NODES_MAX];
    char name[HF_NAME_MAX + 1]; /* whose places it has; empty: none */
    size_t name_len;
    struct cli_places places;
};

/* What is to be looked at. */
struct top_wish {
    int64_t interval_ms;
    bool is_paused;
    size_t name_len; /* 0: no places */
    char name[HF_NAME_MAX];
};

struct top_looker {
    struct hf_client *client;
    const char *pattern;
    int fd;      /* readable when there is a look to take */
    int wake_fd; /* readable when the thread is not to rest */
    pthread_t thread;
    pthread_mutex_t mutex;
    struct top_wish wish;
    bool is_hurried; /* look at once, though paused */
    bool is_ending;
    struct top_look *latest; /* not taken yet, or NULL */
};

/* All signals are to be blocked. @return 0, or an errno. */
int top_looker_start(struct top_looker *looker, struct hf_client *client,
                     const char *pattern, const struct top_wish *wish);

void top_looker_wish(struct top_looker *looker, const struct top_wish *wish);

/* The latest look, the caller's; NULL: none since the last one. */
struct top_look *top_looker_take(struct top_looker *looker);

void top_look_free(struct top_look *look);

/* Interrupts a look that is under way. */
void top_looker_stop(struct top_looker *looker);

#endif
