/* SPDX-License-Identifier: Apache-2.0 */
/* A user's request: checked once, and made an order. No code below checks it
 * again.
 *
 *     status = hf_order_read(client, request, &order, error);
 *     if (hf_order_is_bundle(&order)) {
 *         op = hf_bundle_new(client, &order);     copies it (multi_name.h)
 *         name = hf_order_more(&order, i);        i < order.n_more
 *     } else {
 *         op = hf_op_copy(&plan);                 copies it (op_async.h)
 *     }
 *
 *     status = hf_order_check_ttl(client, ttl_ms, error);   an extension
 *     status = hf_client_need_records(client, lacked, error);
 *     status = hf_client_need_moves(client, error);   detach, adopt, reserve
 *
 * Owner: an order borrows the texts, the further names and the cancel token of
 * the request; a caller that keeps it copies it. Threads: the mutex is
 * held where a name is checked: hf_order_read(). Errors: as returned, with a
 * text in `error`, which may be NULL; nothing was begun then. */
#ifndef HF_CLIENT_REQUEST_H
#define HF_CLIENT_REQUEST_H

#include "client/client.h"
#include "client/lock.h"

/** Check a user's request; `out` borrows its texts. @return HF_OK; HF_INVALID
 * or HF_UNSUPPORTED with a text. */
enum hf_status hf_order_read(const struct hf_client *client,
                             const struct hf_request *request,
                             struct hf_order *out, struct hf_error *error);

/* Whether the request needs several locks. */
static inline bool hf_order_is_bundle(const struct hf_order *order)
{
    return order->n_slots > 0 || order->n_more > 0;
}

/* A permit's name is the semaphore's name and a suffix: "#255". */
#define HF_SLOT_TEXT_MAX 4

/* The further name `idx`; the caller's structs may have another size. */
struct hf_name hf_order_more(const struct hf_order *order, size_t idx);

/** @return HF_OK; HF_INVALID with a text: outside the client's limits. */
enum hf_status hf_order_check_ttl(const struct hf_client *client,
                                  int64_t ttl_ms, struct hf_error *error);

/** Refuse a call that needs HF_CAP_RECORDS if the store lacks it. Needs no
 * mutex. @return HF_OK; HF_UNSUPPORTED: @p lacked ends the text. */
enum hf_status hf_client_need_records(const struct hf_client *client,
                                      const char *lacked,
                                      struct hf_error *error);

/** Refuse a call that needs a lock which can leave the session of its client.
 * Needs no mutex. @return HF_OK; HF_UNSUPPORTED. */
enum hf_status hf_client_need_moves(const struct hf_client *client,
                                    struct hf_error *error);

#define HF_DETACH_UNSUPPORTED                                                  \
    "only the process that acquired it can extend or release it"

#endif
