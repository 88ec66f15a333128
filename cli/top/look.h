/* SPDX-License-Identifier: Apache-2.0 */
/* Polling the store in a separate thread, so that the screen and the keyboard
 * never wait for a server. It polls every `interval_ms`, at most a fifth of the
 * time, and passes each snapshot to the main thread. */
#ifndef CLI_TOP_LOOK_H
#define CLI_TOP_LOOK_H

#include "ls/view.h"
#include "ls/view_entries.h"

#include <holdfast/holdfast.h>
#include <pthread.h>

/* The result of one poll. */
struct top_look {
    enum hf_status status; /* other than HF_OK: no rows */
    struct hf_error error;
    struct cli_view view;
    int n_nodes;
    struct cli_node nodes[HF_NODES_MAX];
    char name[HF_NAME_MAX + 1]; /* of `entries`; empty: none */
    size_t name_len;
    struct cli_entries entries;
};

/* The names to poll. */
struct top_wish {
    int64_t interval_ms;
    bool is_paused;
    size_t name_len; /* 0: no entries */
    char name[HF_NAME_MAX];
};

/* The thread that polls, and what it shares with the screen's thread. */
struct top_looker {
    struct hf_client *client;
    const char *pattern;
    int fd;      /* readable when there is a new snapshot */
    int wake_fd; /* readable when the thread must end its pause */
    pthread_t thread;
    pthread_mutex_t mutex;
    struct top_wish wish;
    bool is_hurried; /* poll at once, though paused */
    bool is_ending;
    struct top_look *latest; /* not taken yet, or NULL */
};

/* Start the thread. The caller must have blocked all signals. @return 0, or an
 * errno. */
int top_looker_start(struct top_looker *looker, struct hf_client *client,
                     const char *pattern, const struct top_wish *wish);

/* What the next snapshots have to show. Another selected name is looked up at
 * once, also while paused. */
void top_looker_wish(struct top_looker *looker, const struct top_wish *wish);

/* @return the latest snapshot, which the caller owns; NULL: none since the last
 * call. */
struct top_look *top_looker_take(struct top_looker *looker);

/* NULL is ignored. */
void top_look_free(struct top_look *look);

/* End the thread; interrupts a poll in progress. */
void top_looker_stop(struct top_looker *looker);

#endif
