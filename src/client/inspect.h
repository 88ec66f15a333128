/* SPDX-License-Identifier: Apache-2.0 */
/* Asking all nodes for the holder of a name. */
#ifndef HF_CLIENT_INSPECT_H
#define HF_CLIENT_INSPECT_H

#include "client/broadcast.h"
#include "core/opaque.h"

/* Set up a query for hf_broadcast_begin(). Replies fill `info`; name and info
 * are borrowed until the query is done. */
void hf_inspect_init(struct hf_broadcast *query, struct hf_client *client,
                     const void *name, size_t name_len, struct hf_info *info);

/* The query is done: merge the replies into the result of a majority. */
void hf_inspect_merge(struct hf_broadcast *query);

#endif
