/* SPDX-License-Identifier: Apache-2.0 */
/* Detaching a lock from its process. */
#ifndef HF_CLIENT_GIVE_H
#define HF_CLIENT_GIVE_H

#include "client/op.h"

void hf_give_due(struct hf_op *op);

void hf_give_heard(struct hf_op *op); /* its lock had a step */

void hf_give_outcome(struct hf_op *op, enum hf_outcome outcome);

void hf_give_abandon(struct hf_op *op);

#endif
