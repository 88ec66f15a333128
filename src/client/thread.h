/* SPDX-License-Identifier: Apache-2.0 */
/* The library's thread, which renews. */
#ifndef HF_CLIENT_THREAD_H
#define HF_CLIENT_THREAD_H

#include "client/client.h"

/** Start the library's thread, unless it runs or the options exclude it.
 * @return HF_OK or HF_NO_MEMORY. */
enum hf_status hf_client_start_thread(struct hf_client *client,
                                      struct hf_error *error);

#endif
