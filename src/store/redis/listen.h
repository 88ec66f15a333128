/* SPDX-License-Identifier: Apache-2.0 */
/* The second connection, on which a node pushes grants. */
#ifndef HF_REDIS_LISTEN_H
#define HF_REDIS_LISTEN_H

#include "base/time.h"

struct hf_redis_node;

/* Somebody waits at this node: see to it that its grants reach us. Called from
 * inside ask(): it calls nobody back. */
void hf_redis_listen_want(struct hf_redis_node *node, struct hf_instant now);

#endif
