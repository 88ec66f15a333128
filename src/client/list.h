/* SPDX-License-Identifier: Apache-2.0 */
/* The names that match a pattern. */
#ifndef HF_CLIENT_LIST_H
#define HF_CLIENT_LIST_H

#include "client/op.h"

/* For op_kind.c: end its queries. */
void hf_list_abandon(struct hf_op *op);

#endif
