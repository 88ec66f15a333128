/* SPDX-License-Identifier: Apache-2.0 */
/* A task: a request that takes several calls, some at entries of others.
 *
 *     hf_ordered_task_new()    for a request
 *     hf_ordered_task_begin()  [open a session,] list, plan, change; answer
 *
 * A task of another kind takes its own steps: mark.c, value.c. Each call that
 * fails ends it by its `undone`. */
#ifndef HF_ORDERED_TASK_H
#define HF_ORDERED_TASK_H

#include "store/ordered/ordered.h"

/* One entry that a task replaces, or removes. */
struct hf_ordered_change {
    size_t id_at, id_len; /* in `ids` */
    uint64_t version;
    bool removes;
    uint8_t session[HF_SESSION_ID_LEN]; /* unless the task has its own */
    int64_t ttl_s;
    size_t note_len;
    char note[HF_ORDERED_NOTE_MAX];
};

struct hf_ordered_task;

/** Read a list: which entries are changed, and what is answered then.
 * @return false: no memory. */
typedef bool hf_ordered_plan_fn(struct hf_ordered_task *task,
                                const struct hf_wire_reply *reply);

/* The next step; `done`: all is done, answer it. */
typedef void hf_ordered_step_fn(struct hf_ordered_task *task,
                                struct hf_instant now);

/* It has failed: answer it. */
typedef void hf_ordered_undone_fn(struct hf_ordered_task *task,
                                  const struct hf_wire_reply *reply,
                                  struct hf_instant now);

struct hf_ordered_task {
    struct hf_ordered_task *next, *before; /* of the store's */
    struct hf_ordered *store;
    hf_ordered_plan_fn *plan;
    hf_ordered_step_fn *opened; /* after its session was */
    hf_ordered_step_fn *done;
    hf_ordered_undone_fn *undone;
    struct hf_ordered_session *session; /* for what is replaced; NULL: none */
    struct hf_ordered_seat *seat;       /* CONFIRM; else NULL */
    bool frees_now;                     /* BREAK */
    bool is_unsure;    /* a REPLACE was lost: it may be executed yet */
    bool is_broken;    /* CONFIRM: the entry has a note */
    unsigned rounds;   /* lists so far */
    size_t n_done;     /* entries that were changed */
    uint64_t counter;  /* CONFIRM, MARK, PUT */
    int64_t start_ms;  /* MARK: by the servers' clock */
    int64_t length_ms; /* MARK */
    uint64_t version;  /* MARK, PUT: of what was read */
    bool deletes;      /* PUT */
    char *text;        /* PUT: what is stored */
    size_t text_len;
    struct hf_ordered_change *changes;
    size_t n_changes, changes_cap, at;
    char *ids;
    size_t ids_len, ids_cap;
    struct hf_instant asked;
    struct hf_answer answer; /* filled in by `plan` */
    size_t name_len, owner_len, back_len, found_len;
    char owner[HF_OWNER_MAX + HF_ORDERED_MARK_MAX];
    char back[HF_ORDERED_NOTE_MAX];  /* BREAK: the holder to return it to */
    char found[HF_ORDERED_NOTE_MAX]; /* BREAK, MARK: of the answer */
    char name[];
};

/* Give the answer that `plan` has filled in, and free the task: what `done`
 * ends with. */
void hf_ordered_task_done(struct hf_ordered_task *task, struct hf_instant now);

/* Answer it as the reply says, UNKNOWN if a change may have been made, and free
 * it: what `undone` ends with. */
void hf_ordered_task_undone(struct hf_ordered_task *task,
                            const struct hf_wire_reply *reply,
                            struct hf_instant now);

/** For a request, which is copied. @return NULL: no memory; it is answered. */
struct hf_ordered_task *hf_ordered_task_new(struct hf_ordered *store,
                                            const struct hf_ask *ask,
                                            struct hf_instant now);

/* It has failed: `undone`. */
void hf_ordered_task_fail(struct hf_ordered_task *task,
                          enum hf_wire_outcome outcome, enum hf_status fault,
                          const char *reason, struct hf_instant now);

/* The same, for want of memory. */
void hf_ordered_task_fail_memory(struct hf_ordered_task *task,
                                 struct hf_instant now);

/* Begin a round: read what is of its name, by the wire's `ask`. If others
 * came between many times, it fails. */
void hf_ordered_task_ask(struct hf_ordered_task *task, hf_wire_list_fn *ask,
                         hf_wire_done_fn *done, struct hf_instant now);

/** A call of the task. @return NULL: no memory, and it has failed. */
struct hf_ordered_call *hf_ordered_task_call(struct hf_ordered_task *task,
                                             hf_wire_done_fn *done,
                                             struct hf_instant now);

/** The reply to a call that only read; the call is freed. @return NULL: there
 * is none, and the task has failed. */
struct hf_ordered_task *hf_ordered_task_read(struct hf_wire_call *wire_call,
                                             const struct hf_wire_reply *reply,
                                             struct hf_instant now);

/* Open the session that it has, then `opened`. */
void hf_ordered_task_open(struct hf_ordered_task *task,
                          hf_ordered_step_fn *opened, struct hf_instant now);

/* Open its session, if it has one; list, plan, change; answer. */
void hf_ordered_task_begin(struct hf_ordered_task *task, struct hf_instant now);

/** Plan a change of a listed entry: to remove it, or as it is. @return NULL: no
 * memory. */
struct hf_ordered_change *
hf_ordered_task_change(struct hf_ordered_task *task,
                       const struct hf_wire_entry *entry, bool removes);

/* The change puts a note on the entry: HF_ORDERED_NOTE_MAX bytes at most, which
 * are copied. */
void hf_ordered_change_note(struct hf_ordered_change *change, const void *text,
                            size_t len);

/* Take it out of the store's list, and free it without an answer. */
void hf_ordered_task_free(struct hf_ordered_task *task);

/* ---- mark.c -------------------------------------------------------------- */

/* INSPECT or QUEUE of a name without entries: answer with its mark. */
void hf_ordered_mark_show(struct hf_ordered_task *task, struct hf_instant now);

#endif
