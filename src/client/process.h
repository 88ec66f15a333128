/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of asynchronous operations, which hf_client_process() runs. */
#ifndef HF_CLIENT_PROCESS_H
#define HF_CLIENT_PROCESS_H

#include "client/client.h"

/* Callbacks are queued for hf_client_process(): make hf_client_fd() readable.
 */
void hf_client_schedule_callback(struct hf_client *client);

/* True if this thread is inside hf_client_process(), which flushes at its end.
 */
bool hf_client_is_deferring(const struct hf_client *client);

#endif
