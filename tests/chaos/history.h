/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the histories of clients, registers and faults. It shares no code with
 * the library, and knows only what client.c recorded. */
#ifndef HF_TESTS_HISTORY_H
#define HF_TESTS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEVER INT64_MAX

enum outcome {
    OUTCOME_UNKNOWN, /* begun, without a result: the client was killed */
    OUTCOME_HELD,
    OUTCOME_BUSY,
    OUTCOME_UNAVAILABLE, /* or quarantined */
    OUTCOME_FAILED
};

/* One attempt to acquire a lock, and its result. */
struct hold {
    uint32_t lock;   /* index of its name */
    uint32_t client; /* index of its client */
    uint32_t attempt;
    uint32_t limit; /* of a semaphore; else 0 */
    char mode;      /* x exclusive, s shared, p permit */
    int slot;       /* of a semaphore, or -1 */
    enum outcome outcome;
    uint64_t fence;
    int64_t begin;   /* clock before the call */
    int64_t ok;      /* clock after the call; HELD only */
    int64_t promise; /* the least time until which the library has reported the
                        lease as valid */
    int64_t end;     /* released or lost; NEVER: neither is known */
    int64_t until;   /* the end of the hold: the earlier of both */
    bool is_lost;    /* reported by on_state, or by the release */
};

struct access { /* of a register */
    int64_t t;
    uint32_t lock; /* index of the guarded name */
    bool writes;
    bool is_guarded;
    bool is_accepted;
    uint64_t fence;
    int64_t base;
    int64_t value;
};

struct fault {
    char name[32];
    int epoch;
    int64_t on;
    int64_t off;
    bool keeps_exclusion;
    bool keeps_order;
};

struct heal {
    int64_t t;
    int64_t next; /* when the next fault began, or the clients ended */
    int epoch;
};

struct client {
    char name[32];
    int64_t up;
    int64_t down; /* killed; NEVER */
};

struct lock_name {
    char text[64];
    int epoch; /* "e12.x0": 12; -1 if it is another form */
    int64_t first;
    uint32_t next; /* of its bucket, + 1; 0: none */
};

/* Chains of the hash table of names. A round of faults has five new names, so
 * that a chain gets its second one after some 800 rounds. */
#define LOCK_BUCKETS 4096

struct history {
    struct hold *holds; /* in the order in which they began */
    size_t n_holds;
    struct access *accesses; /* in the register's order */
    size_t n_accesses;
    struct fault *faults;
    size_t n_faults;
    struct heal *heals;
    size_t n_heals;
    struct client *clients;
    size_t n_clients;
    struct lock_name *locks;
    size_t n_locks;
    uint32_t buckets[LOCK_BUCKETS]; /* index + 1 of a name; 0: none */
    int64_t begin;
    int64_t stop;
    size_t n_bad_lines;
};

/* Reads FOLDER/{nemesis,register,c*}.jsonl. Ends the program if that fails. */
void history_read(struct history *history, const char *folder);

void history_free(struct history *history);

#endif
