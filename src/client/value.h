/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an update. Each needs the mutex, but the check. */
#ifndef HF_CLIENT_VALUE_H
#define HF_CLIENT_VALUE_H

#include "client/client.h"

/* Begin a call, as hf_client_begin(), for a store that keeps values. */
enum hf_status hf_value_begin(struct hf_client *client,
                              const struct hf_name *name,
                              struct hf_error *error);

/** Read after a delay. @param out  the caller's to free. */
enum hf_status hf_value_read(struct hf_client *client,
                             const struct hf_name *name, struct hf_span delay,
                             struct hf_value **out, struct hf_error *error);

/* Whether it can be written: HF_INVALID, with a text, if not. */
enum hf_status hf_value_check(const struct hf_bytes *value, uint64_t if_version,
                              struct hf_error *error);

/* Write, or delete, and settle it if a reply was lost. */
enum hf_status hf_value_write(struct hf_client *client,
                              const struct hf_name *name,
                              const struct hf_bytes *value, uint64_t if_version,
                              uint64_t *version, struct hf_error *error);

#endif
