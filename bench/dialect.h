/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of the raw client: the commands of acquire and release, their
 * keys and arguments, and the meaning of their replies. */
#ifndef HF_BENCH_DIALECT_H
#define HF_BENCH_DIALECT_H

#include "measure.h"
#include "wire.h"

#define OWNER_DIGITS 32
#define COUNTER_DIGITS 16
#define LEASE_MS "10000"
#define KEEP_MS "3600000" /* of a fence */

enum dialect { DIALECT_PLAIN, DIALECT_SCRIPTS };

struct dialect_scripts {
    const char *dir;
    char acquire[41]; /* hashes */
    char release[41];
};

/* ---- Requests, prepared ------------------------------------------------ */

/* Placeholders for the owner's digits and the counter. */
static const char owner_mark[] = "OWNEROWNEROWNEROWNEROWNEROWNEROW";
static const char counter_mark[] = "COUNTERCOUNTERCO";

struct template
{
    char *bytes;
    size_t len;
    char *owner;   /* the position of its digits, or NULL */
    char *counter; /* the same */
};

static inline void template_init(struct template *t, const char *const *argv)
{
    char out[2048];
    t->len = wire_command(out, sizeof(out), argv);
    t->bytes = must_alloc(t->len, 1);
    memcpy(t->bytes, out, t->len);
    t->owner = memmem(t->bytes, t->len, owner_mark, OWNER_DIGITS);
    t->counter = memmem(t->bytes, t->len, counter_mark, COUNTER_DIGITS);
}

static inline void template_fini(struct template *t)
{
    free(t->bytes);
}

static inline void template_fill(struct template *t, const char *owner,
                                 uint64_t counter)
{
    if (t->owner != NULL) {
        memcpy(t->owner, owner, OWNER_DIGITS);
    }
    if (t->counter != NULL) {
        for (int i = COUNTER_DIGITS - 1; i >= 0; i--) {
            t->counter[i] = (char)('0' + counter % 10);
            counter /= 10;
        }
    }
}

/* ---- The two dialects -------------------------------------------------- */

static const char plain_release[] =
    "if redis.call('get',KEYS[1])==ARGV[1] then "
    "return redis.call('del',KEYS[1]) else return 0 end";

static inline enum dialect dialect_find(const char *name)
{
    if (strcmp(name, "plain") == 0) {
        return DIALECT_PLAIN;
    }
    if (strcmp(name, "scripts") == 0) {
        return DIALECT_SCRIPTS;
    }
    die_text("unknown dialect", name);
}

static inline void script_load(struct wire *wire, const char *text,
                               char hash[41])
{
    const char *argv[] = {"SCRIPT", "LOAD", text, NULL};
    struct reply r;
    size_t cap = strlen(text) + 64;
    char *out = must_alloc(cap, 1);
    wire_put(wire, out, wire_command(out, cap, argv));
    wire_call(wire, &r);
    if (r.type != '$' || r.text_len != 40) {
        die_text("SCRIPT LOAD", r.text);
    }
    memcpy(hash, r.text, 40);
    hash[40] = '\0';
    free(out);
}

/* A script of the store, as it is embedded in the library. */
static inline void script_load_file(struct wire *wire, const char *dir,
                                    const char *name, char hash[41])
{
    char path[512];
    char text[32768];
    (void)snprintf(path, sizeof(path), "%s/%s.lua", dir, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        die(path);
    }
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    script_load(wire, text, hash);
}

/* Every granting script compares the marker with the value that its client
 * knows. A server without a marker gets this value. */
static inline void marker_learn(struct wire *wire, char marker[64])
{
    const char *set[] = {"HSETNX", "hf:node", "v", "bench-marker", NULL};
    const char *get[] = {"HGET", "hf:node", "v", NULL};
    struct reply r;
    char out[128];
    wire_put(wire, out, wire_command(out, sizeof(out), set));
    wire_call(wire, &r);
    wire_put(wire, out, wire_command(out, sizeof(out), get));
    wire_call(wire, &r);
    if (r.type != '$' || r.text_len >= 64) {
        die_text("marker", "cannot be read");
    }
    memcpy(marker, r.text, r.text_len);
    marker[r.text_len] = '\0';
}

static inline void dialect_load(enum dialect dialect,
                                struct dialect_scripts *scripts,
                                struct wire *wire, char marker[64])
{
    if (dialect == DIALECT_PLAIN) {
        script_load(wire, plain_release, scripts->release);
        return;
    }
    script_load_file(wire, scripts->dir, "acquire", scripts->acquire);
    script_load_file(wire, scripts->dir, "release", scripts->release);
    marker_learn(wire, marker);
}

static inline void plain_prepare(const struct dialect_scripts *scripts,
                                 const char *key, struct template *acquire,
                                 struct template *release)
{
    const char *set[] = {"SET", key, owner_mark, "NX", "PX", LEASE_MS, NULL};
    const char *del[] = {"EVALSHA", scripts->release, "1",
                         key,       owner_mark,       NULL};
    template_init(acquire, set);
    template_init(release, del);
}

static inline void scripts_prepare(const struct dialect_scripts *scripts,
                                   const char *name, const char *key,
                                   const char *marker, struct template *acquire,
                                   struct template *release)
{
    static const char *const ends[] = {"fence", "queue", "waiters", "holders",
                                       "votes"};
    char side[5][128];
    char owner[128];
    for (int i = 0; i < 5; i++) {
        (void)snprintf(side[i], sizeof(side[i]), "hf:{lock:%s}:%s", name,
                       ends[i]);
    }
    (void)snprintf(owner, sizeof(owner), "%s:bench-host:12345:1763640000",
                   owner_mark);
    const char *take[] = {"EVALSHA", scripts->acquire, "7",     key,
                          side[0],   side[1],          side[2], side[3],
                          side[4],   "hf:node",        owner,   LEASE_MS,
                          "0",       marker,           KEEP_MS, NULL};
    const char *give[] = {"EVALSHA", scripts->release, "7",     key,
                          side[0],   side[1],          side[2], side[3],
                          side[4],   "hf:node",        owner,   counter_mark,
                          "0",       KEEP_MS,          marker,  NULL};
    template_init(acquire, take);
    template_init(release, give);
}

/* The requests of one locker to one node. */
static inline void
dialect_prepare(enum dialect dialect, const struct dialect_scripts *scripts,
                const char *name, const char *marker, struct template *acquire,
                struct template *release)
{
    char key[96];
    (void)snprintf(key, sizeof(key), "lock:%s", name);
    if (dialect == DIALECT_PLAIN) {
        plain_prepare(scripts, key, acquire, release);
        return;
    }
    scripts_prepare(scripts, name, key, marker, acquire, release);
}

/* True if the node granted. A script replies with the counter, or an array. */
static inline bool dialect_is_yes(enum dialect dialect, bool acquires,
                                  const struct reply *r)
{
    if (dialect == DIALECT_PLAIN && acquires) {
        return r->type == '+';
    }
    return r->type == ':' && r->numbers[0] > 0;
}

/* The counter in the reply, or 0. */
static inline uint64_t dialect_counter(enum dialect dialect,
                                       const struct reply *r)
{
    return dialect == DIALECT_SCRIPTS && r->type == ':' && r->numbers[0] > 0
               ? (uint64_t)r->numbers[0]
               : 0;
}

#endif
