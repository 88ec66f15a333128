/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: a command was started under this name less than a period ago. A break
 * looks for the mark of the name, and withdraws it (break.c):
 *
 *     if (!hf_mark_find_begin(&ask, &op, name, name_len)) …
 *     hf_mark_found(&ask, &mark);                  `op` has no child any more
 *     if (!hf_mark_withdraw_begin(&ask, &op, name, name_len, &mark)) …
 *     status = hf_mark_withdrawn(&ask, &error);    the same
 *
 * The mutex is held. Owner: `ask` is the caller's, and is in the tables until
 * its query has ended; the status of that is in ask.query.op. */
#ifndef HF_CLIENT_MARK_H
#define HF_CLIENT_MARK_H

#include "client/broadcast.h"

/* A mark as it was found at the nodes. A reply says how long the mark has left,
 * but not when the node sent it: the end lies between `end`, which counts from
 * the request, and `latest`, which counts from the reply. What is written to a
 * node has `end`, so that copies do not prolong a period; whether the period is
 * over is judged by `latest`. */
struct hf_mark {
    uint64_t fence; /* of its run; 0: there is none */
    struct hf_instant end;
    struct hf_instant latest; /* of all copies that were found */
    size_t owner_len;         /* 0: a tombstone */
    char owner[HF_OWNER_MAX];
};

/* The marks that all nodes keep. */
struct hf_marks {
    struct hf_mark newest;
    uint64_t fence[HF_NODES_MAX];
    bool is_tombstone[HF_NODES_MAX];
    uint16_t answered;
};

/* A query that merges `mark` into the marks of the nodes. */
struct hf_mark_look {
    struct hf_broadcast query;
    struct hf_mark mark; /* fence 0: only read */
    struct hf_marks marks;
};

/** Read the mark of a name, without writing it back where it is missing. Name
 * and `ask` are borrowed, and `parent` has one child more, until the query has
 * ended. @return false: no memory. */
bool hf_mark_find_begin(struct hf_mark_look *ask, struct hf_op *parent,
                        const void *name, size_t name_len);

/* The query has ended: read the live mark; fence 0: there is none. */
void hf_mark_found(const struct hf_mark_look *ask, struct hf_mark *out);

/* Withdraw `mark`; the mark of a later run stays. */
bool hf_mark_withdraw_begin(struct hf_mark_look *ask, struct hf_op *parent,
                            const void *name, size_t name_len,
                            const struct hf_mark *mark);

/** The query has ended. @return HF_OK: a majority has the tombstone, or a newer
 * mark replaced it. */
enum hf_status hf_mark_withdrawn(const struct hf_mark_look *ask,
                                 struct hf_error *error);

#endif
