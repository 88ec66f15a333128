/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded store, put together. */
#ifndef HF_STORE_LOCAL_LOCAL_H
#define HF_STORE_LOCAL_LOCAL_H

#include "io/loop.h"
#include "store/local/folder.h"
#include "store/local/gate.h"
#include "store/local/life.h"
#include "store/local/table.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

#define HF_REASON_MAX 512

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
    struct hf_timer turn; /* runs the job, which must end in the loop */
    struct hf_local_job job;
    char *prefix;
    int64_t fence_keep_ns;
    int64_t next_look_ns; /* when to look again whether the files are there */
    bool is_cut_off;      /* the files were removed under us */
    char reason[HF_REASON_MAX];
};

/* A transaction on one name: enter, do, leave. execute.c */
void hf_local_ask(struct hf_store *store, const struct hf_ask *ask,
                  struct hf_instant now);

/* scan.c */
void hf_local_scan(struct hf_local *local, const struct hf_ask *ask,
                   struct hf_instant now);

/* examine.c */
void hf_local_examine(struct hf_local *local, const struct hf_job_sink *sink);

/* Read the clocks, inside the gate. */
void hf_local_moment(const struct hf_local *local, struct hf_moment *out);

/* Answer that nothing was done, and why. */
void hf_local_answer_fault(struct hf_local *local, const struct hf_ask *ask,
                           struct hf_instant sent, enum hf_status fault,
                           const char *reason);

#endif
