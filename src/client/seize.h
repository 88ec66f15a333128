/* SPDX-License-Identifier: Apache-2.0 */
/* BREAK at all nodes, and its undoing. A seizure can outlive its break: after a
 * cancelled break, it gives the name back in the background.
 *
 *     seizure = hf_seizure_new(client, name, name_len);
 *     if (!hf_seizure_begin(seizure, false, &brk->op)) …       no memory
 *     … the child of brk->op ends: `left_ms`, `rival`, `counter` are set …
 *     either  wait for `left_ms`; seizure->stage = HF_SEIZURE_OVER;
 *             release `counter` of `owner` at the nodes in `replied`
 *     or      hf_seizure_give_back(seizure, &brk->op);
 *             … the child ends …
 *     hf_seizure_close(seizure);           once, at any of these points
 *
 * The caller owns it until hf_seizure_close(), which frees it, at once or after
 * the name was given back. The client's mutex is held in all functions. The
 * parent must stay until its child has ended, or until the seizure is closed.
 */
#ifndef HF_CLIENT_SEIZE_H
#define HF_CLIENT_SEIZE_H

#include "client/broadcast.h"

/* The suffix that break.lua appends to the breaker's owner if the key may be
 * the lock of another library. */
#define HF_LONG_MARK "-foreign"
#define HF_LONG_MARK_LEN (sizeof(HF_LONG_MARK) - 1)

/* A node cuts a longer text in its reply. */
#define HF_SEIZED_TEXT_MAX 512

enum hf_seizure_stage {
    HF_SEIZURE_IDLE,
    HF_SEIZURE_TAKING,
    HF_SEIZURE_TAKEN,
    HF_SEIZURE_RETURNING,
    HF_SEIZURE_OVER /* nothing is to be given back */
};

struct hf_seizure {
    struct hf_op op; /* the parent of its queries; in client->seizures */
    enum hf_seizure_stage stage;
    bool gives_back;
    struct hf_broadcast take;
    struct hf_broadcast back; /* its room is reserved before BREAK is sent */

    struct hf_holder_hint rival; /* the holder with the longest lease */
    int64_t left_ms;             /* of that lease */
    bool is_endless;
    bool is_refused;
    bool has_long; /* some node may have written HF_LONG_MARK */
    uint64_t counter;
    uint16_t replied; /* nodes that replied */
    uint16_t voting;  /* … and that vote */
    struct hf_bytes replaced[HF_NODES_MAX];
    char texts[HF_NODES_MAX][HF_SEIZED_TEXT_MAX];

    size_t owner_len; /* the breaker's; HF_LONG_MARK follows it */
    char owner[HF_OWNER_MAX + HF_LONG_MARK_LEN];
    size_t name_len;
    char name[];
};

/** On the heap; the name is copied. @return NULL: no memory. */
struct hf_seizure *hf_seizure_new(struct hf_client *client, const void *name,
                                  size_t name_len);

/** Take the name; `parent` has one child more until all nodes have replied, or
 * the query has timed out. now: free it at once, and give nothing back. @return
 * false: no memory, and no request was sent. */
bool hf_seizure_begin(struct hf_seizure *seizure, bool now,
                      struct hf_op *parent);

/* Give the name back, also while it is still being taken; `parent` has one
 * child more until that is done. NULL: the seizure frees itself then. */
void hf_seizure_give_back(struct hf_seizure *seizure, struct hf_op *parent);

/* Detach it from its parent. The name is given back, unless the caller releases
 * it (HF_SEIZURE_OVER) or it was freed at once (`now`). The seizure is freed
 * afterwards. NULL is fine. */
void hf_seizure_close(struct hf_seizure *seizure);

/* Free the seizures of a client that is being freed: in a forked child, or
 * those that have not finished giving back. */
void hf_seizures_free(struct hf_client *client);

#endif
