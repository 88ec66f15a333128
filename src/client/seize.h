/* SPDX-License-Identifier: Apache-2.0 */
/* BREAK at all nodes, and what undoes it. It outlives the break that began it:
 * a break that is given up leaves it behind, to give the name back in the
 * background. */
#ifndef HF_CLIENT_SEIZE_H
#define HF_CLIENT_SEIZE_H

#include "client/look.h"

/* What break.lua writes behind the breaker's owner, over what may be the lock
 * of another library. */
#define HF_LONG_MARK "-foreign"
#define HF_LONG_MARK_LEN (sizeof(HF_LONG_MARK) - 1)

/* A node says no more of a text. */
#define HF_SEIZED_TEXT_MAX 512

enum hf_seizure_stage {
    HF_SEIZURE_IDLE,
    HF_SEIZURE_TAKING,
    HF_SEIZURE_TAKEN,
    HF_SEIZURE_RETURNING,
    HF_SEIZURE_OVER /* nothing is to be given back */
};

struct hf_seizure {
    struct hf_op op; /* the parent of its questions; in client->seizures */
    enum hf_seizure_stage stage;
    bool gives_back;
    struct hf_look take;
    struct hf_look back; /* has its room before BREAK is asked */

    struct hf_rival rival; /* whose lease is the longest */
    int64_t left_ms;       /* its */
    bool is_endless;
    bool is_refused;
    bool has_long; /* some node may have written HF_LONG_MARK */
    uint64_t counter;
    uint16_t heard;  /* nodes that have answered */
    uint16_t voting; /* … and that vote */
    struct hf_bytes replaced[HF_NODES_MAX];
    char texts[HF_NODES_MAX][HF_SEIZED_TEXT_MAX];

    size_t owner_len; /* the breaker's; HF_LONG_MARK is behind it */
    char owner[HF_OWNER_MAX + HF_LONG_MARK_LEN];
    size_t name_len;
    char name[];
};

/* On the heap; the name is copied. @return NULL: no memory. */
struct hf_seizure *hf_seizure_new(struct hf_client *client, const void *name,
                                  size_t name_len);

/* Take the name; `parent` has one child more until all nodes have answered.
 * now: free it at once, and give nothing back. @return false: no memory, and no
 * request was sent. */
bool hf_seizure_begin(struct hf_seizure *seizure, bool now,
                      struct hf_op *parent);

/* Give back what was taken, also what is still being taken; `parent` has one
 * child more until that is over. NULL: it frees itself then. */
void hf_seizure_give_back(struct hf_seizure *seizure, struct hf_op *parent);

/* It has no parent from now on. What was taken is given back, unless it is the
 * caller's to release (HF_SEIZURE_OVER), or `now`. Freed when that is over.
 * NULL is fine. */
void hf_seizure_close(struct hf_seizure *seizure);

/* Its questions have been answered (op.c). */
void hf_seizure_heard(struct hf_op *op);

/* Free all of a client that is being freed: in a forked child, or what could
 * not be given back. */
void hf_seizures_free(struct hf_client *client);

#endif
