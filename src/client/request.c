/* SPDX-License-Identifier: Apache-2.0 */
/* The public door: what users hand in is checked here, and nowhere below. */
#include "client/op.h"

#include "base/fail.h"

#include <stddef.h>
#include <string.h>

/* Longest label kept; what is shown is shorter. */
#define LABEL_MAX 255

/* Not in the middle of a UTF-8 character. */
static size_t cut_label(const char *label)
{
    size_t len = strnlen(label, LABEL_MAX + 1);
    if (len <= LABEL_MAX) {
        return len;
    }
    len = LABEL_MAX;
    while (len > 0 && ((unsigned char)label[len] & 0xc0) == 0x80) {
        len--;
    }
    return len;
}

enum hf_status hf_name_check(const void *name, size_t name_len,
                             struct hf_error *error)
{
    if (name == NULL || name_len == 0) {
        return hf_fail(error, HF_INVALID, "the name is empty");
    }
    if (name_len > HF_NAME_MAX) {
        return hf_fail(error, HF_INVALID,
                       "the name has %zu bytes, at most %d are allowed",
                       name_len, HF_NAME_MAX);
    }
    return HF_OK;
}

enum hf_status hf_ttl_check(const struct hf_client *client, int64_t ttl_ms,
                            struct hf_error *error)
{
    if (ttl_ms < HF_TTL_MS_MIN) {
        return hf_fail(error, HF_INVALID,
                       "a ttl of %lld ms is below the least, %d ms",
                       (long long)ttl_ms, HF_TTL_MS_MIN);
    }
    if (ttl_ms > client->url->max_ttl_ms) {
        return hf_fail(error, HF_INVALID,
                       "a ttl of %lld ms is above the store's max_ttl, "
                       "%lld ms",
                       (long long)ttl_ms, (long long)client->url->max_ttl_ms);
    }
    return HF_OK;
}

/* A request of a later version may be longer; what we do not know of it has
 * to be unused. */
static enum hf_status check_size(const struct hf_request *request,
                                 struct hf_error *error)
{
    if (request == NULL || request->size < sizeof(*request)) {
        return hf_fail(error, HF_INVALID,
                       "the request was not set up by hf_request_init()");
    }
    const unsigned char *bytes = (const unsigned char *)request;
    for (size_t i = sizeof(*request); i < request->size; i++) {
        if (bytes[i] != 0) {
            return hf_fail(error, HF_UNSUPPORTED,
                           "the request asks for what this version of the "
                           "library does not know");
        }
    }
    return HF_OK;
}

enum hf_status hf_order_read(const struct hf_client *client,
                             const struct hf_request *request,
                             struct hf_order *out, struct hf_error *error)
{
    enum hf_status status = check_size(request, error);
    if (status == HF_OK) {
        status = hf_name_check(request->name, request->name_len, error);
    }
    if (status == HF_OK) {
        status = hf_ttl_check(client, request->ttl_ms, error);
    }
    if (status != HF_OK) {
        return status;
    }
    if (request->wait_ms < HF_WAIT_FOREVER) {
        return hf_fail(error, HF_INVALID, "a wait of %lld ms",
                       (long long)request->wait_ms);
    }
    if (request->life != HF_LIFE_PROCESS && request->life != HF_LIFE_LEASE) {
        return hf_fail(error, HF_INVALID, "no such life: %d",
                       (int)request->life);
    }
    *out = (struct hf_order){
        .name = request->name,
        .name_len = request->name_len,
        .text = request->label,
        .text_len = request->label == NULL ? 0 : cut_label(request->label),
        .is_lasting = request->life == HF_LIFE_LEASE,
        .ttl_ms = request->ttl_ms,
        .wait_ms = request->wait_ms,
        .user = request->user,
    };
    return HF_OK;
}

void hf_request_init(struct hf_request *request, const char *name)
{
    *request = (struct hf_request){
        .size = sizeof(*request),
        .name = name,
        .name_len = name == NULL ? 0 : strlen(name),
        .ttl_ms = 30000,
    };
}

void hf_client_options_init(struct hf_client_options *options)
{
    *options = (struct hf_client_options){.size = sizeof(*options)};
}
