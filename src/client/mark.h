/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: a command was started under this name less than a period ago. */
#ifndef HF_CLIENT_MARK_H
#define HF_CLIENT_MARK_H

#include "client/client.h"

/* Withdraw the mark of a name, of any run. Blocks; the mutex is held.
 * @return HF_OK, also if there is none; else no majority knows of it. */
enum hf_status hf_mark_clear(struct hf_client *client, const void *name,
                             size_t name_len, struct hf_error *error);

#endif
