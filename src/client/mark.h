/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: a command was started under this name less than a period ago. */
#ifndef HF_CLIENT_MARK_H
#define HF_CLIENT_MARK_H

#include "client/client.h"

/* A mark that was found. */
struct hf_mark {
    uint64_t fence; /* of its run; 0: there is none */
    struct hf_instant end;
};

/* The newest mark of a name. Blocks; the mutex is held. */
enum hf_status hf_mark_find(struct hf_client *client, const void *name,
                            size_t name_len, struct hf_mark *out,
                            struct hf_error *error);

/* Withdraw it; that of a later run stays. Blocks; the mutex is held. @return
 * HF_OK, also if there is none; else no majority knows of it. */
enum hf_status hf_mark_withdraw(struct hf_client *client, const void *name,
                                size_t name_len, const struct hf_mark *mark,
                                struct hf_error *error);

#endif
