/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the arguments of public calls; no code below checks them again. */
#include "client/request.h"

#include "client/name.h"
#include "client/op.h"

#include "base/fail.h"
#include "base/sized.h"

#include <stddef.h>
#include <string.h>

/* Longest label that is stored; messages show less. */
#define LABEL_MAX 255

/** @return the length to store, without a partial UTF-8 character. */
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

enum hf_status hf_order_check_ttl(const struct hf_client *client,
                                  int64_t ttl_ms, struct hf_error *error)
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

static const char unknown_members[] =
    "the request has members that this version of the library does not know";

/* ---- Several names ----------------------------------------------------- */

static enum hf_status check_mode(enum hf_mode mode, struct hf_error *error)
{
    if (mode != HF_EXCLUSIVE && mode != HF_SHARED) {
        return hf_fail(error, HF_INVALID, "no such mode: %d", (int)mode);
    }
    return HF_OK;
}

/* struct hf_name in its first version. */
struct first_name {
    const void *name;
    size_t name_len;
    enum hf_mode mode;
};

/** @return false: a member that this version does not know is set. */
static bool read_more(const struct hf_request *request, size_t idx,
                      struct hf_name *out)
{
    const char *first = (const char *)request->more;
    return hf_sized_read(out, sizeof(*out), first + idx * request->more_size,
                         request->more_size);
}

struct hf_name hf_order_more(const struct hf_order *order, size_t idx)
{
    struct hf_name name = {0};
    const char *first = (const char *)order->more;
    (void)hf_sized_read(&name, sizeof(name), first + idx * order->more_size,
                        order->more_size);
    return name;
}

/* A second lock of a name would wait for the first, which has the same caller.
 */
static bool is_given_before(const struct hf_request *request, size_t idx)
{
    struct hf_name first = {request->name, request->name_len, request->mode};
    struct hf_name name = {0};
    struct hf_name other = {0};
    (void)read_more(request, idx, &name);
    bool is_again = hf_name_compare(&first, &name) == 0;
    for (size_t i = 0; i < idx && !is_again; i++) {
        (void)read_more(request, i, &other);
        is_again = hf_name_compare(&other, &name) == 0;
    }
    return is_again;
}

static enum hf_status check_more(const struct hf_client *client,
                                 const struct hf_request *request,
                                 struct hf_error *error)
{
    if (request->n_more >= HF_NAMES_MAX) {
        return hf_fail(error, HF_INVALID,
                       "1 and %zu names at once, at most %d are allowed",
                       request->n_more, HF_NAMES_MAX);
    }
    if (request->n_more > 0 && request->more == NULL) {
        return hf_fail(error, HF_INVALID, "no further names");
    }
    if (request->n_more > 0 && request->more_size < sizeof(struct first_name)) {
        return hf_fail(error, HF_INVALID,
                       "more_size is not sizeof(struct hf_name)");
    }
    for (size_t i = 0; i < request->n_more; i++) {
        struct hf_name name = {0};
        if (!read_more(request, i, &name)) {
            return hf_fail(error, HF_UNSUPPORTED, "%s", unknown_members);
        }
        enum hf_status status =
            hf_name_check(client, name.name, name.name_len, error);
        if (status == HF_OK) {
            status = check_mode(name.mode, error);
        }
        if (status != HF_OK) {
            return status;
        }
        if (is_given_before(request, i)) {
            char shown[HF_NAME_SHOWN_MAX];
            hf_name_show(name.name, name.name_len, shown);
            return hf_fail(error, HF_INVALID, "%s is given twice", shown);
        }
    }
    return HF_OK;
}

/* Each permit is a separate lock: NAME#0, NAME#1, ... */
static enum hf_status check_permits(const struct hf_request *request,
                                    struct hf_error *error)
{
    if (request->permits == 0) {
        return HF_OK;
    }
    if (request->permits > HF_PERMITS_MAX) {
        return hf_fail(error, HF_INVALID, "%u permits, at most %d are allowed",
                       (unsigned)request->permits, HF_PERMITS_MAX);
    }
    if (request->n_more > 0) {
        return hf_fail(error, HF_INVALID, "permits are for one name alone");
    }
    if (request->mode != HF_EXCLUSIVE) {
        return hf_fail(error, HF_INVALID,
                       "a semaphore is not shared besides: permits or "
                       "HF_SHARED");
    }
    if (request->name_len > HF_NAME_MAX - HF_SLOT_TEXT_MAX) {
        return hf_fail(error, HF_INVALID,
                       "the name has %zu bytes, at most %d are allowed for a "
                       "semaphore",
                       request->name_len, HF_NAME_MAX - HF_SLOT_TEXT_MAX);
    }
    return HF_OK;
}

enum hf_status hf_client_need_records(const struct hf_client *client,
                                      const char *lacked,
                                      struct hf_error *error)
{
    if ((client->store->ops->capabilities & HF_CAP_RECORDS) != 0) {
        return HF_OK;
    }
    return hf_fail(error, HF_UNSUPPORTED,
                   "this store keeps no records of locks beside its server's "
                   "own sessions: %s",
                   lacked);
}

enum hf_status hf_client_need_moves(const struct hf_client *client,
                                    struct hf_error *error)
{
    const char *why = client->store->ops->ends_with_session;
    return why == NULL ? HF_OK : hf_fail(error, HF_UNSUPPORTED, "%s", why);
}

/* Whether the store supports the modes; a semaphore needs a shared hold. */
static enum hf_status check_store(const struct hf_client *client,
                                  const struct hf_request *request,
                                  struct hf_error *error)
{
    bool shares = request->mode == HF_SHARED || request->permits > 0;
    for (size_t i = 0; i < request->n_more; i++) {
        struct hf_name name = {0};
        (void)read_more(request, i, &name);
        shares |= name.mode == HF_SHARED;
    }
    if (shares && (client->store->ops->capabilities & HF_CAP_SHARED) == 0) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "in this store a name has one holder at a time: "
                       "neither read locks nor permits");
    }
    return request->permits == 0
               ? HF_OK
               : hf_client_need_records(client, "it has no permits", error);
}

/* ---- The request ------------------------------------------------------- */

/* The size of the struct in version 0.1.0. */
#define SIZE_MIN offsetof(struct hf_request, mode)

/* A request of an earlier version is shorter: missing members are zero. One of
 * a later version may be longer: unknown members must be unset. */
static enum hf_status read_size(const struct hf_request *request,
                                struct hf_request *out, struct hf_error *error)
{
    if (request == NULL || request->size < SIZE_MIN) {
        return hf_fail(error, HF_INVALID,
                       "the request was not set up by hf_request_init()");
    }
    if (!hf_sized_read(out, sizeof(*out), request, request->size)) {
        return hf_fail(error, HF_UNSUPPORTED, "%s", unknown_members);
    }
    if (out->more_size == 0) { /* from before more_size existed */
        out->more_size = sizeof(struct first_name);
    }
    return HF_OK;
}

static enum hf_status check(const struct hf_client *client,
                            const struct hf_request *request,
                            struct hf_error *error)
{
    enum hf_status status =
        hf_name_check(client, request->name, request->name_len, error);
    if (status == HF_OK && request->ttl_ms != 0) {
        status = hf_order_check_ttl(client, request->ttl_ms, error);
    }
    if (status == HF_OK) {
        status = check_mode(request->mode, error);
    }
    if (status == HF_OK) {
        status = check_more(client, request, error);
    }
    if (status == HF_OK) {
        status = check_permits(request, error);
    }
    if (status != HF_OK) {
        return status;
    }
    if (request->wait_ms < HF_WAIT_FOREVER) {
        return hf_fail(error, HF_INVALID, "a wait of %lld ms",
                       (long long)request->wait_ms);
    }
    if (request->liveness != HF_LIVENESS_PROCESS &&
        request->liveness != HF_LIVENESS_LEASE) {
        return hf_fail(error, HF_INVALID, "no such liveness: %d",
                       (int)request->liveness);
    }
    return check_store(client, request, error);
}

static int64_t default_ttl_ms(const struct hf_client *client)
{
    int64_t max_ms = client->url->max_ttl_ms;
    return HF_TTL_MS_DEFAULT < max_ms ? HF_TTL_MS_DEFAULT : max_ms;
}

enum hf_status hf_order_read(const struct hf_client *client,
                             const struct hf_request *request,
                             struct hf_order *out, struct hf_error *error)
{
    struct hf_request full = {0};
    enum hf_status status = read_size(request, &full, error);
    if (status == HF_OK) {
        status = check(client, &full, error);
    }
    if (status != HF_OK) {
        return status;
    }
    *out = (struct hf_order){
        .name = full.name,
        .name_len = full.name_len,
        .text = full.label,
        .text_len = full.label == NULL ? 0 : cut_label(full.label),
        .is_lasting = full.liveness == HF_LIVENESS_LEASE,
        .is_shared = full.mode == HF_SHARED,
        .is_unfair = full.unfair,
        .n_slots = (uint16_t)full.permits,
        .n_more = (uint16_t)full.n_more,
        .more = full.more,
        .more_size = full.more_size,
        .ttl_ms = full.ttl_ms != 0 ? full.ttl_ms : default_ttl_ms(client),
        .wait_ms = full.wait_ms,
        .user = full.user,
        .cancel = full.cancel,
    };
    return HF_OK;
}

void hf_request_init_sized(struct hf_request *request, size_t size,
                           size_t more_size, const char *name)
{
    const struct hf_request defaults = {
        .size = size,
        .name = name,
        .name_len = name == NULL ? 0 : strlen(name),
        .more_size = more_size,
    };
    if (request == NULL) {
        return;
    }
    hf_sized_write(request, size, &defaults, sizeof(defaults));
}
