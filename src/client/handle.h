/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a handle that a user reads. */
#ifndef HF_CLIENT_HANDLE_H
#define HF_CLIENT_HANDLE_H

#include "client/lock.h"

/* "OWNER@FENCE" */
void hf_lock_write_owner(const struct hf_lock *lock,
                         char text[HF_OWNER_TEXT_MAX]);

#endif
