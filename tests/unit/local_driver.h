/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the embedded store through struct hf_store, as a client does, without
 * core: one request, one answer. */
#ifndef HF_TESTS_LOCAL_DRIVER_H
#define HF_TESTS_LOCAL_DRIVER_H

#include "io/loop.h"
#include "store/store.h"
#include "store/url.h"

#include <stdbool.h>
#include <stdint.h>

struct driver {
    struct hf_url *url;
    struct hf_loop *loop;
    struct hf_store *store;
    bool is_voting;
    unsigned n_answers;
    struct hf_answer answer; /* the last; owner and reason point below */
    char owner[512];
    char reason[600];
    unsigned n_names;
    char names[4096]; /* of a SCAN, each followed by a newline; cut to fit */
};

/* A fresh folder under /tmp, world-accessible; removed by folder_drop(). */
void folder_make(char path[64]);
void folder_drop(const char *path);

/* Open "local://<folder><query>". @return the status; text in @p error. */
enum hf_status driver_open(struct driver *d, const char *folder,
                           const char *query, struct hf_error *error);
/* The same, and it must succeed. */
void driver_start(struct driver *d, const char *folder);
void driver_close(struct driver *d);

/* Ask, and have the answer in d->answer. */
const struct hf_answer *driver_ask(struct driver *d, const struct hf_ask *ask);

/* Short forms; `life_pid` 0: lease only. */
const struct hf_answer *acquire(struct driver *d, const char *name,
                                const char *owner, int64_t ttl_ms,
                                int64_t life_pid);
const struct hf_answer *confirm(struct driver *d, const char *name,
                                const char *owner, uint64_t fence,
                                int64_t ttl_ms, bool holder);
const struct hf_answer *release(struct driver *d, const char *name,
                                const char *owner, uint64_t largest,
                                int64_t keep_ms);
const struct hf_answer *break_name(struct driver *d, const char *name,
                                   const char *owner, bool now);
const struct hf_answer *inspect(struct driver *d, const char *name);
const struct hf_answer *scan(struct driver *d, const char *pattern);

/* Spin until CLOCK_BOOTTIME has moved on by @p ms. */
void pass_ms(int64_t ms);

#endif
