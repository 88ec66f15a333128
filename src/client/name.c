/* SPDX-License-Identifier: Apache-2.0 */
/* Names of locks, which are any bytes: checked, ordered and shown. */
#include "client/name.h"

#include "base/fail.h"

#include <string.h>

enum hf_status hf_name_check(const struct hf_client *client, const void *name,
                             size_t name_len, struct hf_error *error)
{
    const struct hf_store_ops *ops = client->store->ops;
    if (name == NULL || name_len == 0) {
        return hf_fail(error, HF_INVALID, "the name is empty");
    }
    if (name_len > HF_NAME_MAX) {
        return hf_fail(error, HF_INVALID,
                       "the name has %zu bytes, at most %d are allowed",
                       name_len, HF_NAME_MAX);
    }
    const char *why =
        ops->refuse == NULL ? NULL : ops->refuse(client->store, name, name_len);
    if (why != NULL) {
        return hf_fail(error, HF_INVALID, "%s", why);
    }
    return HF_OK;
}

int hf_name_compare(const struct hf_name *a, const struct hf_name *b)
{
    size_t len = a->name_len < b->name_len ? a->name_len : b->name_len;
    int order = memcmp(a->name, b->name, len);
    if (order != 0) {
        return order;
    }
    return (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

const char *hf_name_show(const void *name, size_t name_len,
                         char out[HF_NAME_SHOWN_MAX])
{
    static const char more[] = "...";
    const unsigned char *bytes = name;
    size_t room = HF_NAME_SHOWN_MAX - sizeof(more);
    size_t len = name_len < room ? name_len : room;
    while (len < name_len && len > 0 && (bytes[len] & 0xc0) == 0x80) {
        len--; /* not in the middle of a UTF-8 character */
    }
    for (size_t i = 0; i < len; i++) {
        out[i] = bytes[i] < ' ' || bytes[i] == 0x7f ? '?' : (char)bytes[i];
    }
    memcpy(out + len, len < name_len ? more : "", len < name_len ? 4 : 1);
    return out;
}
