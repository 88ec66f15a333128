/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with clocks too far apart for a majority. */
#ifndef HF_CLIENT_CLOCK_APART_H
#define HF_CLIENT_CLOCK_APART_H

#include "client/op.h"

/* The attempt's nodes granted at counters that are too far apart. */
void hf_op_note_apart(struct hf_op *op, const struct hf_lease *lease);

#endif
