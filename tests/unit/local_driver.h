/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the embedded store through struct hf_store, as a client does, without
 * core: each request gets one reply. */
#ifndef HF_TESTS_LOCAL_DRIVER_H
#define HF_TESTS_LOCAL_DRIVER_H

#include "io/loop.h"
#include "store/store.h"
#include "store/url.h"

#include <stdbool.h>
#include <stdint.h>

/* Pushes that are kept: a test with a thousand waiters has as many. */
#define DRIVER_PUSHES_MAX 2048

struct driver {
    struct hf_url *url;
    struct hf_loop *loop;
    struct hf_store *store;
    bool is_voting;
    unsigned n_answers;
    struct hf_answer answer; /* the last; owner and reason point below */
    char owner[512];
    char reason[600];
    size_t value_len;    /* of a GET */
    char value_first;    /* its first byte, if it has any */
    bool value_is_whole; /* all its bytes are that one */
    unsigned n_names;
    char names[4096]; /* from a SCAN, each followed by a newline; cut to fit */
    char seats[4096]; /* from a QUEUE, a line each: "h" or "w", "x" or "s" and
                         permits, the owner's first letter; cut to fit */
    bool is_listening;
    unsigned n_pushes;
    struct driver_push {
        uint64_t cookie, counter;
    } pushes[DRIVER_PUSHES_MAX]; /* the first ones since driver_forget() */
};

/* A fresh folder under /tmp, world-accessible; removed by folder_drop(). */
void folder_make(char path[64]);
void folder_drop(const char *path);

/* Running, and not a zombie that waits to be reaped. */
bool process_is_alive(int pid);

/* Wait until the main thread of the process has ended; others may go on.
 * @return false: it has not within some seconds, or there is no such process.
 */
bool main_thread_ends(int pid);

/* Open "local://<folder><query>". @return the status; text in @p error. */
enum hf_status driver_open(struct driver *d, const char *folder,
                           const char *query, struct hf_error *error);
/* The same with a shorter fence_keep than a URL accepts. */
enum hf_status driver_open_keeping(struct driver *d, const char *folder,
                                   const char *query, int64_t keep_ms);
/* The same, as `doctor` does. */
enum hf_status driver_open_for_setup(struct driver *d, const char *folder,
                                     struct hf_error *error);
/* The same, and it must succeed. */
void driver_start(struct driver *d, const char *folder);
void driver_close(struct driver *d);

/* Send a request; its reply is in d->answer. */
const struct hf_answer *driver_ask(struct driver *d, const struct hf_ask *ask);

/* Short forms; `life_pid` 0: lease only. */
const struct hf_answer *acquire(struct driver *d, const char *name,
                                const char *owner, int64_t ttl_ms,
                                int64_t life_pid);
const struct hf_answer *confirm(struct driver *d, const char *name,
                                const char *owner, uint64_t fence,
                                int64_t ttl_ms, bool reacquires);
const struct hf_answer *release(struct driver *d, const char *name,
                                const char *owner, uint64_t largest,
                                int64_t keep_ms);
const struct hf_answer *break_name(struct driver *d, const char *name,
                                   const char *owner, bool now);
const struct hf_answer *break_back(struct driver *d, const char *name,
                                   const char *owner, const char *back);
const struct hf_answer *inspect(struct driver *d, const char *name);

/* @p owner NULL: a tombstone; @p fence 0: only look. */
const struct hf_answer *mark(struct driver *d, const char *name, uint64_t fence,
                             const char *owner, int64_t ms);
/* ACQUIRE with a place in the queue. The cookie is the owner's first letter,
 * and its digits if it has any. With HF_SHARED a shared request. */
struct hf_ask queue_ask(const char *name, const char *owner, int64_t queue_ms);
const struct hf_answer *queue(struct driver *d, const char *name,
                              const char *owner, int64_t queue_ms);
const struct hf_answer *queue_shared(struct driver *d, const char *name,
                                     const char *owner, int64_t queue_ms,
                                     uint16_t permits);
/* The same without a place. */
const struct hf_answer *share(struct driver *d, const char *name,
                              const char *owner, uint16_t permits);
const struct hf_answer *yield(struct driver *d, const char *name,
                              const char *owner, uint64_t counter,
                              uint64_t ticket, int64_t queue_ms);
const struct hf_answer *queue_entries(struct driver *d, const char *name);

/* Run the loop until @p n_pushes have arrived. @return false: 20 s have passed
 * without. */
bool driver_hear(struct driver *d, unsigned n_pushes);

/* Handle the events that are pending now. */
void driver_turn(struct driver *d);
void driver_forget(struct driver *d);

const struct hf_answer *scan(struct driver *d, const char *pattern);

#endif
