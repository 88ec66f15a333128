/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store, put together. */
#ifndef HF_STORE_LOCAL_LOCAL_H
#define HF_STORE_LOCAL_LOCAL_H

#include "io/loop.h"
#include "store/local/folder.h"
#include "store/local/gate.h"
#include "store/local/life.h"
#include "store/local/table.h"
#include "store/local/visit.h"
#include "store/local/wake.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

#define HF_REASON_MAX 512

#define HF_LOCAL_CUT_OFF                                                       \
    "its files were removed, replaced or cut while in use: stop all users of " \
    "the folder, then start them again"

/* A job that was asked for, until its turn comes in the loop. */
struct hf_local_job {
    enum hf_job job;
    const struct hf_job_sink *sink; /* NULL: none */
    struct hf_job_sink copy;
};

struct hf_local {
    struct hf_store store;
    struct hf_store_env env;
    struct hf_folder folder;
    struct hf_gate gate;
    struct hf_table table;
    struct hf_proc_view view;
    struct hf_timer turn; /* for what must come from the loop: the job's end,
                             and that we listen */
    struct hf_local_job job;
    struct hf_wake wake;
    bool has_news;            /* that we listen was not told yet */
    bool is_deaf;             /* a socket could not be had, and it was said */
    struct hf_grants grants;  /* of the last transaction: to be told */
    struct hf_grants refused; /* those among them without a receiver */
    struct hf_dead suspects;  /* owners whose processes may have ended */
    char *prefix;
    int64_t fence_keep_ns;
    int64_t next_look_ns; /* when to look again whether the files are there */
    bool is_cut_off;      /* the files are not what was opened */
    bool is_open;         /* else for set-up only, and `reason` says why */
    bool is_named;        /* the URL names the folder */
    struct hf_span patience; /* node_timeout */
    enum hf_status fault;    /* if it is not open */
    char reason[HF_REASON_MAX];
};

/* Open the files; @p wanted NULL: in the default folder. local.c */
enum hf_status hf_local_open(struct hf_local *local, const char *wanted,
                             struct hf_error *error);
void hf_local_close(struct hf_local *local);

/* A transaction on one name: enter, do, leave. execute.c */
struct hf_transaction {
    struct hf_local *local;
    struct hf_table_key key;
    struct hf_processes life; /* of the asker */
    struct hf_dead dead;
    struct hf_visit visit;
    enum hf_status fault;
    char reason[HF_REASON_MAX];
};

/* @p ask NULL: no request; set the key. */
void hf_transaction_init(struct hf_transaction *t, struct hf_local *local,
                         const struct hf_ask *ask);

/* What to do at the name. */
typedef void hf_transaction_fn(struct hf_visit *visit, void *user);

/* @return false: `fault` and `reason` say why; nothing was done. */
bool hf_local_transact(struct hf_transaction *t, hf_transaction_fn *act,
                       void *user);

/* Should the owners of the name be checked for being alive? Then note them,
 * inside the gate. suspect.c */
void hf_local_suspect(struct hf_local *local, struct hf_visit *visit);

/* Look, outside of it. @return true: some are dead, and in @p out. */
bool hf_local_judge(struct hf_local *local, struct hf_dead *out);

/* Push the grants to their waiters; a grant whose waiter cannot be reached goes
 * to the next one. deliver.c */
void hf_local_deliver(struct hf_local *local, const struct hf_table_key *key);

/* A datagram has come. */
hf_watch_fn hf_local_hear;

/* Begin to listen. */
void hf_local_listen(struct hf_local *local);

void hf_local_ask(struct hf_store *store, const struct hf_ask *ask,
                  struct hf_instant now);

/* scan.c */
void hf_local_scan(struct hf_local *local, const struct hf_ask *ask,
                   struct hf_instant now);

/* roster.c */
void hf_local_roster(struct hf_local *local, const struct hf_ask *ask,
                     struct hf_instant now);

/* examine.c */
void hf_local_examine(struct hf_local *local, const struct hf_job_sink *sink);

/* `doctor --init`: share a folder that was named. The default one, and one that
 * is shared already, need nothing. examine.c */
enum hf_status hf_local_set_up(struct hf_local *local, struct hf_error *error);

/* Read the clocks, inside the gate. */
void hf_local_moment(const struct hf_local *local, struct hf_moment *out);

/* Answer that nothing was done, and why. */
void hf_local_answer_fault(struct hf_local *local, const struct hf_ask *ask,
                           struct hf_instant sent, enum hf_status fault,
                           const char *reason);

#endif
