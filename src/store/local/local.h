/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the embedded store. */
#ifndef HF_STORE_LOCAL_LOCAL_H
#define HF_STORE_LOCAL_LOCAL_H

#include "io/loop.h"
#include "store/local/folder.h"
#include "store/local/gate.h"
#include "store/local/liveness.h"
#include "store/local/table.h"
#include "store/local/txn.h"
#include "store/local/values_file.h"
#include "store/local/wake.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes: one line that names a path, its fault and the remedy. */
#define HF_REASON_MAX 512

#define HF_LOCAL_CUT_OFF                                                       \
    "its files were removed, replaced or cut while in use: stop all users of " \
    "the folder, then start them again"

/* A job that was requested; the loop's next timer runs it. */
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
    struct hf_values values; /* opened by the first GET or PUT */
    struct hf_proc_view view;
    struct hf_timer turn; /* runs the job and env.listen(), which are not
                             called from within a request */
    struct hf_local_job job;
    struct hf_wake wake;
    bool has_news;      /* the socket has an address; env.listen() is due */
    bool has_no_socket; /* no socket could be made; it has been logged */
    struct hf_grants grants;        /* of the last transaction: to be pushed */
    struct hf_grants refused;       /* grants to receivers that have ended */
    struct hf_dead_owners suspects; /* owners with processes to be checked
                                     */
    char *prefix;
    struct hf_span fence_keep;
    uint64_t fence_base;
    struct hf_instant next_look; /* when to check both files again
                                    (is_cut_off()) */
    bool is_cut_off;             /* the files were removed, replaced or cut */
    bool is_open;  /* else it serves only jobs; see `fault`, `reason` */
    bool is_named; /* the URL names the folder */
    struct hf_span patience; /* node_timeout */
    enum hf_status fault;    /* why the store is not open */
    char reason[HF_REASON_MAX];
};

/* Open the files in the folder @p wanted; NULL: in the default one. local.c */
enum hf_status hf_local_open(struct hf_local *local, const char *wanted,
                             struct hf_error *error);

/* Close the files, if they are open. The struct stays, and may be opened again.
 */
void hf_local_close(struct hf_local *local);

/* A transaction on one name, inside the gate. execute.c */
struct hf_transaction {
    struct hf_local *local;
    struct hf_table_key key;
    struct hf_processes life; /* the processes that the request names */
    struct hf_dead_owners dead;
    struct hf_txn txn;
    enum hf_status fault;
    char reason[HF_REASON_MAX];
};

/* @p ask NULL: no request; the caller sets the key. */
void hf_transaction_init(struct hf_transaction *t, struct hf_local *local,
                         const struct hf_ask *ask);

/* Changes the record and the entries of the name. */
typedef void hf_transaction_fn(struct hf_txn *txn, void *user);

/** @return false: `fault` and `reason` say why; nothing has changed. */
bool hf_local_transact(struct hf_transaction *t, hf_transaction_fn *act,
                       void *user);

/* If this request has to check whether the owners of the name are alive, note
 * them in `suspects`. Inside the gate. owner_check.c */
void hf_local_suspect(struct hf_local *local, struct hf_txn *txn);

/** Check the noted owners in /proc. Outside the gate. @return true: some have
 * ended; @p out has them. */
bool hf_local_judge(struct hf_local *local, struct hf_dead_owners *out);

/* Push the grants to their waiters. If a waiter's process has ended, its grant
 * goes to the next waiter. deliver.c */
void hf_local_deliver(struct hf_local *local, const struct hf_table_key *key);

/* The socket is readable: pass the grants on to the client. */
hf_watch_fn hf_local_hear;

/* Bind the socket for pushed grants, unless it has an address. */
void hf_local_listen(struct hf_local *local);

/* The store's ask(): the request is executed and answered before this returns.
 */
void hf_local_ask(struct hf_store *store, const struct hf_ask *ask,
                  struct hf_instant now);

/* scan.c */
void hf_local_scan(struct hf_local *local, const struct hf_ask *ask,
                   struct hf_instant now);

/* queue_entries.c */
void hf_local_queue_entries(struct hf_local *local, const struct hf_ask *ask,
                            struct hf_instant now);

/* values.c: execute GET or PUT, and reply. Blocks for the sync to disk, and at
 * the mutex. */
void hf_local_value(struct hf_local *local, const struct hf_ask *ask,
                    struct hf_instant now);

/* examine.c */
void hf_local_examine(struct hf_local *local, const struct hf_job_sink *sink);

/* `doctor --init`: make the folder that the URL names a shared one. Does
 * nothing for the default folder, or if it is shared already. examine.c */
enum hf_status hf_local_set_up(struct hf_local *local, struct hf_error *error);

/* Read the clocks, and compute the floor (exact only inside the gate). */
void hf_local_moment(const struct hf_local *local, struct hf_clock_sample *out);

/* Reply with an error; nothing was changed. */
void hf_local_answer_fault(struct hf_local *local, const struct hf_ask *ask,
                           struct hf_instant sent, enum hf_status fault,
                           const char *reason);

#endif
