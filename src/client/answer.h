/* SPDX-License-Identifier: Apache-2.0 */
/* The store's callbacks. They may run during ask() and flush(): they queue the
 * work that cannot run then (deferred.h). */
#ifndef HF_CLIENT_ANSWER_H
#define HF_CLIENT_ANSWER_H

#include "client/client.h"

void hf_client_on_answer(void *user, const struct hf_answer *answer);
void hf_client_on_status(void *user, unsigned node, enum hf_node_status status,
                         bool is_reset, enum hf_status fault,
                         const char *reason);
void hf_client_on_push(void *user, unsigned node, uint64_t cookie,
                       uint64_t counter);
void hf_client_on_listen(void *user, unsigned node, bool is_listening);

#endif
