/* SPDX-License-Identifier: Apache-2.0 */
/* Asking all nodes for the holder of a name. */
#ifndef HF_CLIENT_INSPECT_H
#define HF_CLIENT_INSPECT_H

#include "client/look.h"
#include "core/opaque.h"

/* Set it up for hf_look_begin(); `info` is filled as answers come, name and
 * info are borrowed until it is done. */
void hf_inspect_init(struct hf_look *look, struct hf_client *client,
                     const void *name, size_t name_len, struct hf_info *info);

/* It is done: judge what a majority says. */
void hf_inspect_merge(struct hf_look *look);

/* since_s of a holder that has the name alone: when it was granted, as far as
 * the name's counter tells. */
void hf_holder_date(struct hf_holder *out, uint64_t counter);

/* What one node said. */
void hf_holder_read(const struct hf_answer *answer, struct hf_holder *out);

#endif
