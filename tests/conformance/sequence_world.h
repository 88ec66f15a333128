/* SPDX-License-Identifier: Apache-2.0 */
/* The world of client_sequences.c: clients, the locks that they hold, and what
 * must be true of them.
 *
 * Threads share all of it. A client is closed only while no other thread is in
 * a call on it, and a lock is used by one thread at a time, as holdfast.h
 * demands: see box_enter() and held_claim(). A lock is in the pool from its
 * grant until right before the call that gives it up, so two valid locks of the
 * pool that exclude each other are an error. */
#ifndef SEQUENCE_WORLD_H
#define SEQUENCE_WORLD_H

#include "client_tokens.h"

enum {
    BOXES = 4,
    NAMES = 7,
    MORE = 2,
    PERMITS_MOST = 3,
    ACTORS = 4,
    CALLS = 64,
    DUE = 64
};

/* How long a sequence may take: for hangs. */
#define SEQUENCE_MS 120000

/* One client at a time. */
struct box {
    pthread_mutex_t loop; /* recursive: hf_client_process(), and a cancel */
    struct hf_client *client;
    struct hf_cancel *cancel; /* of its options, or NULL */
    int users;                /* calls that are in progress */
    int ops;                  /* operations that are pending */
    atomic_bool is_closing;
    atomic_bool may_cancel; /* a call may return HF_CANCELLED */
    bool is_serial;         /* one thread at a time is in its loop */
};

/* A name that is locked, and the largest fence of a completed acquisition. A
 * name that is broken has no exclusion: the old holder learns it late. */
struct known {
    char text[48];
    uint32_t permits;
    bool is_broken;
    uint64_t fence[PERMITS_MOST];
    int64_t reserved_ms; /* not granted before */
};

/* What is asked for. */
struct wish {
    int names[1 + MORE];
    enum hf_mode modes[1 + MORE];
    int n;
    uint64_t before[1 + MORE][PERMITS_MOST]; /* fences when it began */
};

struct held {
    struct held *next;
    struct hf_lock *lock;
    struct box *box;
    struct wish wish;
    int slot;
    uint64_t fence;
    bool is_used;
    bool is_dead;      /* its client was closed while it was used */
    bool had_op;       /* an operation of its own may be in progress */
    bool was_unmarked; /* its mark was withdrawn, by a mark that failed too; of
                          an adopted lock perhaps by an earlier holder */
};

/* A lock that is detached. */
struct loose {
    struct loose *next;
    char text[HF_OWNER_TEXT_MAX];
    struct wish wish;
    uint64_t fence;
};

struct actor {
    uint64_t random;
    int idx;
    int step;
    int nest;
    int inside[BOXES];    /* calls on this client that are in progress */
    int looping[BOXES];   /* in hf_client_process() or hf_client_close() */
    struct box *in_state; /* in a callback on_state of this client */
    _Atomic(const char *) call;
};

struct tally {
    const char *call;
    unsigned long count[HF_INTERNAL + 1];
};

static struct {
    pthread_mutex_t mutex; /* guards what follows, and is held for moments */
    uint64_t seed;
    struct box boxes[BOXES];
    struct known names[NAMES];
    struct held *held;
    struct loose *loose;
    struct actor actors[ACTORS];
    struct tally tallies[CALLS];
    struct {
        struct hf_cancel *cancel;
        int64_t at_ms;
    } due[DUE];
    struct hf_cancel *garbage[256];
    int n_garbage;
    int threads;
    int64_t deadline_ms;
    atomic_uint strangers; /* threads of the library that called back */
    uint64_t version;      /* of the value that is put */
    unsigned long updates; /* of the value that is a counter */
    unsigned long unsure;
    atomic_bool is_ending; /* no client is opened any more */
    bool is_faulty;        /* servers fail meanwhile */
    bool is_verbose;
    bool has_values;
} world = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static inline void lock_world(void)
{
    pthread_mutex_lock(&world.mutex);
}

static inline void unlock_world(void)
{
    pthread_mutex_unlock(&world.mutex);
}

/* ---- Threads, chance, errors -------------------------------------------- */

static inline uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static _Thread_local struct actor *self_is;

/* The library's thread calls back, too. */
static inline struct actor *self(void)
{
    static _Thread_local struct actor stranger;
    if (self_is == NULL) {
        stranger.idx = ACTORS + (int)atomic_fetch_add(&world.strangers, 1);
        stranger.random = mix(world.seed * 64 + (uint64_t)stranger.idx);
        stranger.nest = 1;
        self_is = &stranger;
    }
    return self_is;
}

static inline unsigned draw(unsigned n)
{
    struct actor *actor = self();
    actor->random = mix(actor->random);
    return (unsigned)((actor->random >> 32) % n);
}

__attribute__((format(printf, 1, 2))) static inline void
wrong(const char *format, ...)
{
    char text[1500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const char *call = atomic_load(&self()->call);
    printf("not ok 1 - seed %llu, thread %d, step %d, %s: %s\n",
           (unsigned long long)world.seed, self()->idx, self()->step,
           call == NULL ? "?" : call, text);
    fflush(stdout);
    abort();
}

/* Names the call that begins, for messages. */
static inline void calls(const char *call)
{
    atomic_store(&self()->call, call);
    if (world.is_verbose) {
        fprintf(stderr, "# %lld %d.%d%*s %s\n", (long long)now_ms() % 1000000,
                self()->idx, self()->step, self()->nest, "", call);
    }
}

static inline void count(const char *call, enum hf_status status)
{
    lock_world();
    for (int i = 0; i < CALLS; i++) {
        struct tally *tally = &world.tallies[i];
        if (tally->call == NULL || strcmp(tally->call, call) == 0) {
            tally->call = call;
            tally->count[status]++;
            break;
        }
    }
    unlock_world();
}

#define BIT(status) (1U << (status))
#define COMMON (BIT(HF_OK) | BIT(HF_UNAVAILABLE))

/* Every status must be one that the docstring lists; HF_CANCELLED and
 * HF_INVALID must have a cause. */
static inline enum hf_status expect(struct box *box, const char *call,
                                    unsigned allowed, enum hf_status status,
                                    const struct hf_error *error)
{
    count(call, status);
    if (world.is_verbose) {
        fprintf(stderr, "# %lld %d.%d%*s %s: %s%s%s\n",
                (long long)now_ms() % 1000000, self()->idx, self()->step,
                self()->nest, "", call, hf_status_name(status),
                status == HF_OK || error == NULL ? "" : ": ",
                status == HF_OK || error == NULL ? "" : error->text);
    }
    if (atomic_load(&box->may_cancel)) {
        allowed |= BIT(HF_CANCELLED);
    }
    if (atomic_load(&box->is_closing)) {
        allowed |= BIT(HF_INVALID);
    }
    /* on_state may close the client when another result is known already. */
    if (atomic_load(&box->is_closing) && status == HF_OK &&
        (strcmp(call, "hf_lock_acquire") == 0 ||
         strcmp(call, "hf_lock_adopt") == 0)) {
        wrong("%s returned a lock of a client that was closed", call);
    }
    if ((allowed & BIT(status)) == 0) {
        wrong("%s returned %s: %s", call, hf_status_name(status),
              error == NULL ? "" : error->text);
    }
    if (error != NULL && status != HF_OK &&
        (error->status != status || error->text[0] == '\0')) {
        wrong("%s returned %s, but the error is %s: '%s'", call,
              hf_status_name(status), hf_status_name(error->status),
              error->text);
    }
    return status;
}

/* ---- Tokens that are triggered soon ------------------------------------- */

static inline void token_due(struct hf_cancel *cancel, int64_t after_ms)
{
    lock_world();
    for (int i = 0; i < DUE; i++) {
        if (world.due[i].cancel == NULL) {
            world.due[i].cancel = cancel;
            world.due[i].at_ms = now_ms() + after_ms;
            cancel = NULL;
            break;
        }
    }
    unlock_world();
    hf_cancel_trigger(cancel); /* no place: now */
}

static inline void token_free(struct hf_cancel *cancel)
{
    lock_world();
    for (int i = 0; i < DUE; i++) {
        if (world.due[i].cancel == cancel) {
            world.due[i].cancel = NULL;
        }
    }
    unlock_world();
    hf_cancel_free(cancel);
}

static inline void tokens_trigger(void)
{
    int64_t reached_ms = now_ms();
    lock_world();
    for (int i = 0; i < DUE; i++) {
        if (world.due[i].cancel != NULL && world.due[i].at_ms <= reached_ms) {
            hf_cancel_trigger(world.due[i].cancel);
            world.due[i].cancel = NULL;
        }
    }
    unlock_world();
}

/* ---- Clients ------------------------------------------------------------ */

static inline int box_idx(const struct box *box)
{
    return (int)(box - world.boxes);
}

static inline bool box_is_open(const struct box *box)
{
    return box->client != NULL && !atomic_load(&box->is_closing);
}

static inline bool box_enter_locked(struct box *box)
{
    bool is_open = box_is_open(box);
    if (is_open) {
        box->users++;
        self()->inside[box_idx(box)]++;
    }
    return is_open;
}

/* Before any call on its client: no other thread closes it until box_leave().
 */
static inline bool box_enter(struct box *box)
{
    lock_world();
    bool is_open = box_enter_locked(box);
    unlock_world();
    return is_open;
}

static inline struct box *box_enter_any(void)
{
    struct box *found = NULL;
    unsigned n = 0;
    lock_world();
    for (int i = 0; i < BOXES; i++) {
        if (box_is_open(&world.boxes[i]) && draw(++n) == 0) {
            found = &world.boxes[i];
        }
    }
    if (found != NULL) {
        (void)box_enter_locked(found);
    }
    unlock_world();
    return found;
}

static inline void box_leave(struct box *box)
{
    lock_world();
    box->users--;
    self()->inside[box_idx(box)]--;
    unlock_world();
}

/* Whether this thread is in a callback of its client. */
static inline bool box_is_outer(const struct box *box)
{
    return self()->inside[box_idx(box)] > 0 || self()->in_state == box;
}

/* ---- Locks -------------------------------------------------------------- */

static inline bool modes_exclude(const struct held *a, int i,
                                 const struct held *b, int j)
{
    if (a->wish.names[i] != b->wish.names[j]) {
        return false;
    }
    const struct known *known = &world.names[a->wish.names[i]];
    if (known->permits != 0) {
        return a->slot == b->slot;
    }
    return !known->is_broken && (a->wish.modes[i] == HF_EXCLUSIVE ||
                                 b->wish.modes[j] == HF_EXCLUSIVE);
}

static inline bool held_exclude(const struct held *a, const struct held *b)
{
    for (int i = 0; i < a->wish.n; i++) {
        for (int j = 0; j < b->wish.n; j++) {
            if (modes_exclude(a, i, b, j)) {
                return true;
            }
        }
    }
    return false;
}

/* The other one is asked last: it was valid when the new one was granted, since
 * no lock becomes valid again. */
static inline void check_alone(const struct held *held)
{
    for (struct held *at = world.held; at != NULL; at = at->next) {
        if (at != held && held_exclude(held, at) &&
            hf_lock_valid_for(held->lock, 1) &&
            hf_lock_valid_for(at->lock, 1)) {
            wrong("%s is held twice, with fences %llu and %llu",
                  world.names[held->wish.names[0]].text,
                  (unsigned long long)hf_lock_fence(at->lock),
                  (unsigned long long)hf_lock_fence(held->lock));
        }
    }
}

/* An operation whose callback comes late may have a lock that is LOST. */
static inline void check_fences(const struct held *held)
{
    const struct wish *wish = &held->wish;
    for (int i = 0; i < wish->n; i++) {
        struct known *known = &world.names[wish->names[i]];
        int slot = held->slot < 0 ? 0 : held->slot;
        uint64_t fence = hf_lock_fence_at(held->lock, (size_t)i);
        if (fence <= wish->before[i][slot]) {
            wrong("%s: fence %llu after %llu", known->text,
                  (unsigned long long)fence,
                  (unsigned long long)wish->before[i][slot]);
        }
        if (fence > known->fence[slot]) {
            known->fence[slot] = fence;
        }
        if (now_ms() < known->reserved_ms && !known->is_broken &&
            hf_lock_valid_for(held->lock, 1)) {
            wrong("%s: granted %lld ms before the end of its reservation",
                  known->text, (long long)(known->reserved_ms - now_ms()));
        }
    }
}

static inline struct held *held_new(struct box *box, struct hf_lock *lock,
                                    const struct wish *wish)
{
    struct held *held = calloc(1, sizeof(*held));
    *held = (struct held){.lock = lock,
                          .box = box,
                          .wish = *wish,
                          .slot = hf_lock_slot(lock),
                          .fence = hf_lock_fence(lock)};
    const struct known *known = &world.names[wish->names[0]];
    if ((known->permits == 0) != (held->slot < 0) ||
        held->slot >= (int)known->permits ||
        (int)hf_lock_count(lock) != wish->n ||
        strcmp(hf_lock_name(lock, NULL), known->text) != 0) {
        wrong("a lock of another name, or slot %d", held->slot);
    }
    return held;
}

/* A lock that was granted, or adopted with the fence that it had. */
static inline void held_add(struct box *box, struct hf_lock *lock,
                            const struct wish *wish, uint64_t adopted)
{
    struct held *held = held_new(box, lock, wish);
    held->was_unmarked = adopted != 0;
    lock_world();
    if (adopted == 0) {
        check_fences(held);
    } else if (hf_lock_fence(lock) != adopted) {
        wrong("fence %llu adopted as %llu", (unsigned long long)adopted,
              (unsigned long long)hf_lock_fence(lock));
    }
    check_alone(held);
    held->next = world.held;
    world.held = held;
    unlock_world();
}

/* Any lock, or `lock`, for this thread alone; its client is entered. */
static inline struct held *held_claim(const struct hf_lock *lock)
{
    struct held *found = NULL;
    unsigned n = 0;
    lock_world();
    for (struct held *at = world.held; at != NULL; at = at->next) {
        if (!at->is_used && box_is_open(at->box) &&
            (lock == NULL ? draw(++n) == 0 : at->lock == lock)) {
            found = at;
        }
    }
    if (found != NULL) {
        found->is_used = true;
        box_enter_locked(found->box);
    }
    unlock_world();
    return found;
}

static inline void held_unlink(const struct held *held)
{
    for (struct held **at = &world.held; *at != NULL; at = &(*at)->next) {
        if (*at == held) {
            *at = held->next;
            break;
        }
    }
}

/* Right before the call that gives it up. */
static inline void held_take_out(struct held *held)
{
    lock_world();
    if (!held->is_dead) {
        held_unlink(held);
    }
    unlock_world();
}

/* It was not given up. A closed client has freed it. */
static inline void held_put_back(struct held *held)
{
    lock_world();
    if (atomic_load(&held->box->is_closing)) {
        held->is_dead = true;
    } else {
        held->next = world.held;
        world.held = held;
    }
    unlock_world();
}

static inline void held_leave(struct held *held, bool is_over)
{
    struct box *box = held->box;
    lock_world();
    held->is_used = false;
    is_over = is_over || held->is_dead;
    unlock_world();
    if (is_over) {
        free(held);
    }
    box_leave(box);
}

/* The client is being closed, which frees its locks. */
static inline void held_drop_all(const struct box *box)
{
    for (struct held **at = &world.held; *at != NULL;) {
        struct held *held = *at;
        if (held->box != box) {
            at = &held->next;
            continue;
        }
        *at = held->next;
        held->is_dead = true;
        if (!held->is_used) {
            free(held);
        }
    }
}

/* ---- Locks that are detached -------------------------------------------- */

static inline void loose_add(struct loose *loose)
{
    lock_world();
    loose->next = world.loose;
    world.loose = loose;
    unlock_world();
}

static inline struct loose *loose_take(void)
{
    lock_world();
    struct loose *loose = world.loose;
    if (loose != NULL) {
        world.loose = loose->next;
    }
    unlock_world();
    return loose;
}

#endif
