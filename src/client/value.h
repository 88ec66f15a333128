/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a call that reads, writes or updates a value.
 *
 *     status = hf_value_check(&bytes, if_version, error);      if it writes
 *     status = hf_value_begin(client, &name, error);
 *     if (status != HF_OK) { return status; }                  has left again
 *     status = hf_value_read(client, &name, delay, &value, error);
 *     status = hf_value_write(client, &name, &bytes, if_version, &version,
 *                             error);
 *     hf_value_free(value);
 *     hf_client_leave(client);                                 enter.h
 *
 * hf_value_begin() takes the mutex. A read and a write need it, release it
 * while they wait, and have it again at the return; the check needs none.
 * Owner: name and bytes are borrowed for the call; the value is the caller's.
 * Errors: as returned, with a text in `error`. Only a write returns HF_UNKNOWN:
 * its reply was lost, and it may have been executed, or still be. */
#ifndef HF_CLIENT_VALUE_H
#define HF_CLIENT_VALUE_H

#include "client/client.h"

/** Begin a call, as hf_client_begin() does. @return HF_OK; HF_UNSUPPORTED: the
 * store keeps no values; HF_INVALID: the name; else as hf_client_begin(). */
enum hf_status hf_value_begin(struct hf_client *client,
                              const struct hf_name *name,
                              struct hf_error *error);

/** Read after a delay; zero: at once. @param out  set if the result is HF_OK,
 * also where there is no value: its version is 0 then. */
enum hf_status hf_value_read(struct hf_client *client,
                             const struct hf_name *name, struct hf_span delay,
                             struct hf_value **out, struct hf_error *error);

/* Whether it can be written: HF_INVALID, with a text, if not. */
enum hf_status hf_value_check(const struct hf_bytes *value, uint64_t if_version,
                              struct hf_error *error);

/** Write, or delete (data NULL), and settle it if a reply was lost.
 * @param version  HF_OK: that of the value now, 0 if deleted; HF_BUSY: that
 *                 which it has instead of @p if_version. */
enum hf_status hf_value_write(struct hf_client *client,
                              const struct hf_name *name,
                              const struct hf_bytes *value, uint64_t if_version,
                              uint64_t *version, struct hf_error *error);

#endif
