/* SPDX-License-Identifier: Apache-2.0 */
/* A store to begin with: the least that a store has to do, in memory.
 *
 *     skeleton:          names of this process
 *     skeleton:NAME      the same, apart from those of other NAMEs
 *
 * It is one node that follows the rules (model/RULES.md) for leases that
 * exclude each other. It declares no capability: no queue, so clients poll; no
 * sharing; no sight of processes. All threads of one process exclude each other
 * through it, and other processes do not, so it is for tests alone and never
 * installed.
 *
 *     store.c   what the client calls: open, ask, jobs; the module's table
 *     verbs.c   what each verb does to a name
 *     names.c   the names, their memory and their clock
 *
 * To make a store of it: `cp -r tests/skeleton src/store/NAME`, rename, and let
 * names.c be the server that you have. If answers take time, ask() notes the
 * request, flush() sends, and a watch of the loop (io/loop.h) reports bytes. */
#ifndef SKELETON_H
#define SKELETON_H

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An owner, and the text before it when it has ended. */
#define ENDED_MARK "ended:"
#define ENDED_MARK_LEN (sizeof(ENDED_MARK) - 1)
#define OWNER_ROOM (HF_OWNER_MAX + ENDED_MARK_LEN)

struct text {
    size_t len;
    char bytes[OWNER_ROOM];
};

/* The mark of --once: whose run, until when. */
struct mark {
    uint64_t fence; /* of the run; 0: there is no mark */
    struct hf_instant until;
    struct text owner; /* empty: withdrawn, a tombstone */
};

/* A name. Two invariants make fences sound: `counter` never decreases (I1), and
 * a value of it is owned by at most one owner, ever (I2). */
struct name {
    struct name *next;
    uint64_t counter; /* 0: never owned */
    struct text owner;
    struct hf_instant until; /* the owner's; then it is free */
    bool is_owned;           /* until `until` */
    bool has_last; /* `owner` owned `counter` last, and did not give back */
    struct mark mark;
    size_t key_len;
    char key[]; /* the URL's prefix, and the name */
};

/* The clocks, read once for a request. */
struct moment {
    struct hf_instant now; /* the clock of leases */
    uint64_t wall_us;      /* Unix time */
    uint64_t floor;        /* least counter of a grant or a raise */
};

/* ---- names.c ------------------------------------------------------------ */

/* All names of one URL's address. They stay until the process ends. */
struct names;

/* @return HF_OK; HF_UNSUPPORTED: the process is a fork of one that has names;
 *         HF_NO_MEMORY. */
enum hf_status skeleton_names_open(const char *address, struct names **out,
                                   struct hf_error *error);

/* No other request is executed between these two. Nothing in between blocks. */
void skeleton_names_lock(struct names *names, struct moment *now);
void skeleton_names_unlock(struct names *names);

/* The name with this key, made if there is none. It is forgotten when it has
 * been free for @p keep. @return NULL: no memory. Borrowed while locked. */
struct name *skeleton_name_get(struct names *names, const struct moment *now,
                               const char *prefix, const struct hf_ask *ask,
                               struct hf_span keep);

/* The first one, then `next`. */
struct name *skeleton_names_first(struct names *names);

/* ---- verbs.c ------------------------------------------------------------ */

bool skeleton_is_taken(const struct name *name, const struct moment *now);
bool skeleton_is_marked(const struct name *name, const struct moment *now);

/* Do what is asked to the name, and write the answer; `text` has its owner. */
void skeleton_execute(struct name *name, const struct moment *now,
                      const struct hf_ask *ask, struct hf_answer *answer,
                      struct text *text);

#endif
