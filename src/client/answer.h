/* SPDX-License-Identifier: Apache-2.0 */
/* The store's callbacks; `user` is the client, whose mutex is held. store.h
 * says when a store calls each (hf_store_answer_fn, hf_store_status_fn,
 * hf_store_push_fn, hf_store_listen_fn), and all that they are passed is the
 * store's. They may run during ask() and flush(): they queue the work that
 * cannot run then (deferred.h). A reply to a request that nothing waits for any
 * more is dropped. */
#ifndef HF_CLIENT_ANSWER_H
#define HF_CLIENT_ANSWER_H

#include "client/client.h"

/* As the type of each says. */
hf_store_answer_fn hf_client_on_answer;
hf_store_status_fn hf_client_on_status;
hf_store_push_fn hf_client_on_push;
hf_store_listen_fn hf_client_on_listen;

#endif
