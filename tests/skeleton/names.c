/* SPDX-License-Identifier: Apache-2.0 */
/* The names, in place of a server. A list, searched from end to end. */
#include "skeleton.h"

#include "base/fail.h"
#include "io/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct names {
    struct names *next;
    pthread_mutex_t mutex;
    struct name *first;
    uint64_t forgotten; /* no counter above it was ever dropped */
    char address[];
};

/* A forked child has a copy: two processes would grant the same name. */
static _Atomic pid_t home;
static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct names *all;

static struct names *make(const char *address)
{
    struct names *names = calloc(1, sizeof(*names) + strlen(address) + 1);
    if (names != NULL) {
        memcpy(names->address, address, strlen(address) + 1);
        pthread_mutex_init(&names->mutex, NULL);
        names->next = all;
        all = names;
    }
    return names;
}

enum hf_status skeleton_names_open(const char *address, struct names **out,
                                   struct hf_error *error)
{
    pid_t none = 0;
    if (!atomic_compare_exchange_strong(&home, &none, getpid()) &&
        none != getpid()) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "the names of skeleton: belong to process %d, which "
                       "this one was forked from",
                       (int)none);
    }
    pthread_mutex_lock(&all_mutex);
    struct names *names = all;
    while (names != NULL && strcmp(names->address, address) != 0) {
        names = names->next;
    }
    *out = names != NULL ? names : make(address);
    pthread_mutex_unlock(&all_mutex);
    return *out != NULL ? HF_OK : hf_fail_memory(error);
}

static void read_clocks(const struct names *names, struct moment *out)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    out->now = hf_clock_now();
    out->wall_us = wall.tv_sec < 0 ? 0
                                   : (uint64_t)wall.tv_sec * 1000000 +
                                         (uint64_t)wall.tv_nsec / 1000;
    /* Names that were forgotten come back above their counters, even if the
     * wall clock was set back meanwhile: I1. */
    out->floor = out->wall_us >> HF_FLOOR_BITS << HF_FLOOR_BITS;
    if (out->floor <= names->forgotten) {
        out->floor = names->forgotten + 1;
    }
}

void skeleton_names_lock(struct names *names, struct moment *now)
{
    pthread_mutex_lock(&names->mutex);
    read_clocks(names, now);
}

void skeleton_names_unlock(struct names *names)
{
    pthread_mutex_unlock(&names->mutex);
}

static bool is_idle(const struct name *name, const struct moment *now,
                    struct hf_span keep)
{
    return !skeleton_is_taken(name, now) && !skeleton_is_marked(name, now) &&
           hf_instant_before(hf_instant_add(name->until, keep), now->now);
}

static void forget_idle(struct names *names, const struct moment *now,
                        struct hf_span keep)
{
    for (struct name **at = &names->first; *at != NULL;) {
        struct name *name = *at;
        if (!is_idle(name, now, keep)) {
            at = &name->next;
            continue;
        }
        if (names->forgotten < name->counter) {
            names->forgotten = name->counter;
        }
        *at = name->next;
        free(name);
    }
}

struct name *skeleton_name_get(struct names *names, const struct moment *now,
                               const char *prefix, const struct hf_ask *ask,
                               struct hf_span keep)
{
    size_t prefix_len = strlen(prefix);
    size_t len = prefix_len + ask->name_len;
    for (struct name *name = names->first; name != NULL; name = name->next) {
        if (name->key_len == len &&
            memcmp(name->key, prefix, prefix_len) == 0 &&
            memcmp(name->key + prefix_len, ask->name, ask->name_len) == 0) {
            return name;
        }
    }
    forget_idle(names, now, keep);
    struct name *name = calloc(1, sizeof(*name) + len);
    if (name != NULL) {
        name->key_len = len;
        memcpy(name->key, prefix, prefix_len);
        memcpy(name->key + prefix_len, ask->name, ask->name_len);
        name->until = now->now;
        name->next = names->first;
        names->first = name;
    }
    return name;
}

struct name *skeleton_names_first(struct names *names)
{
    return names->first;
}
