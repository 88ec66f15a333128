/* SPDX-License-Identifier: Apache-2.0 */
/* Asking all nodes who has a name. */
#ifndef HF_CLIENT_INSPECT_H
#define HF_CLIENT_INSPECT_H

#include "client/look.h"
#include "core/opaque.h"

/* Begin; `info` is filled as answers come, name and info are borrowed until
 * hf_inspect_await(). @return false: no memory. */
bool hf_inspect_begin(struct hf_look *look, struct hf_client *client,
                      const void *name, size_t name_len, struct hf_info *info);

/* Wait for it and judge what a majority says. */
enum hf_status hf_inspect_await(struct hf_look *look, struct hf_error *error);

/* since_s of a holder that has the name alone: when it was granted, as far as
 * the name's counter tells. */
void hf_holder_date(struct hf_holder *out, uint64_t counter);

/* What one node said. */
void hf_holder_read(const struct hf_answer *answer, struct hf_holder *out);

#endif
