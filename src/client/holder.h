/* SPDX-License-Identifier: Apache-2.0 */
/* The holder of a lock, as one node's reply describes it. Needs no mutex. */
#ifndef HF_CLIENT_HOLDER_H
#define HF_CLIENT_HOLDER_H

#include "client/client.h"
#include "core/opaque.h"
#include "store/store.h"

/* Set since_s of an exclusive holder to the time of the grant, as far as the
 * name's counter shows it. */
void hf_holder_set_since(struct hf_holder *out, uint64_t counter);

/* Fill `out` from one node's reply. */
void hf_holder_read(const struct hf_client *client,
                    const struct hf_answer *answer, struct hf_holder *out);

#endif
