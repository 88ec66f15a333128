/* SPDX-License-Identifier: Apache-2.0 */
/* Names of locks. Public calls check a name once, with hf_name_check(). The
 * names of one request are sorted by hf_name_compare(). A message shows a name
 * only as hf_name_show() wrote it. */
#ifndef HF_CLIENT_NAME_H
#define HF_CLIENT_NAME_H

#include "client/client.h"

/** @return HF_OK; HF_INVALID with a text: empty, longer than HF_NAME_MAX, or
 * refused by the store. */
enum hf_status hf_name_check(const struct hf_client *client, const void *name,
                             size_t name_len, struct hf_error *error);

/** @return negative, 0 or positive: `a` sorts before, like or after `b`, by
 * bytes. */
int hf_name_compare(const struct hf_name *a, const struct hf_name *b);

/* Bytes of a shown name with its NUL: a line of a terminal has room for more
 * text. */
#define HF_NAME_SHOWN_MAX 84

/** Write a name for messages: one line, cut to fit, control bytes replaced.
 * @return `out`. */
const char *hf_name_show(const void *name, size_t name_len,
                         char out[HF_NAME_SHOWN_MAX]);

#endif
