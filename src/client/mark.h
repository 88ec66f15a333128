/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: a command was started under this name less than a period ago. */
#ifndef HF_CLIENT_MARK_H
#define HF_CLIENT_MARK_H

#include "client/look.h"

/* What a node keeps; as marks are compared. */
struct hf_mark {
    uint64_t fence; /* of its run; 0: there is none */
    struct hf_instant end;
    size_t owner_len; /* 0: a tombstone */
    char owner[HF_OWNER_MAX];
};

/* What all nodes keep. */
struct hf_marks {
    struct hf_mark newest;
    uint64_t fence[HF_NODES_MAX];
    bool is_tombstone[HF_NODES_MAX];
    uint16_t answered;
};

/* A mark, merged with what nodes keep. */
struct hf_mark_look {
    struct hf_look look;
    struct hf_mark mark; /* without fence it only asks */
    struct hf_marks marks;
};

/* Ask for the mark of a name; it is not written back where it is missing. Name
 * and `ask` are borrowed until the question is over, `parent` has a child more
 * until then. @return false: no memory. */
bool hf_mark_find_begin(struct hf_mark_look *ask, struct hf_op *parent,
                        const void *name, size_t name_len);

/* It is over: the live mark; fence 0: there is none. */
void hf_mark_found(const struct hf_mark_look *ask, struct hf_mark *out);

/* Withdraw `mark`; that of a later run stays. */
bool hf_mark_withdraw_begin(struct hf_mark_look *ask, struct hf_op *parent,
                            const void *name, size_t name_len,
                            const struct hf_mark *mark);

/* It is over. @return HF_OK: a majority has the tombstone, or what replaced the
 * mark. */
enum hf_status hf_mark_withdrawn(const struct hf_mark_look *ask,
                                 struct hf_error *error);

#endif
