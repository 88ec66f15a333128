/* SPDX-License-Identifier: Apache-2.0 */
/* Read, change, write; again if another client has written in between. The
 * pause before a new try is random, up to a limit that doubles: with N writers
 * one succeeds in each round, and the others spread over the next rounds. */
#include "client/fork.h"
#include "client/value.h"

#include "base/fail.h"

#include <string.h>

struct update {
    struct hf_client *client;
    const struct hf_name *name;
    hf_value_change_fn *change;
    void *user;
    struct hf_span delay; /* before the next try */
    struct hf_span most;  /* of the delay */
    struct hf_instant until;
};

static enum hf_status read_now(const struct update *update,
                               struct hf_value **out, struct hf_error *error)
{
    enum hf_status status = hf_value_begin(update->client, update->name, error);
    if (status == HF_OK) {
        status = hf_value_read(update->client, update->name, update->delay, out,
                               error);
        hf_client_leave(update->client);
    }
    return status;
}

static enum hf_status write_now(const struct update *update,
                                const struct hf_value *value,
                                const struct hf_bytes *bytes, uint64_t *version,
                                struct hf_error *error)
{
    uint64_t if_version = hf_value_version(value);
    if (bytes->data == NULL && if_version == 0) {
        *version = 0;
        return HF_OK; /* none to delete */
    }
    return hf_value_put(update->client, update->name->name,
                        update->name->name_len, bytes->data, bytes->len,
                        if_version, version, error);
}

static enum hf_status once(struct update *update, uint64_t *version,
                           struct hf_error *error)
{
    struct hf_value *value = NULL;
    struct hf_bytes bytes = {NULL, 0};
    enum hf_status status = read_now(update, &value, error);
    if (status != HF_OK) {
        return status;
    }
    status = update->change(update->user, value, &bytes.data, &bytes.len);
    status = status == HF_OK
                 ? write_now(update, value, &bytes, version, error)
                 : hf_fail(error, status, "%s", hf_status_text(status));
    hf_value_free(value);
    return status;
}

/** @return false: there is no time for another try. */
static bool plan(struct update *update)
{
    struct hf_client *client = update->client;
    struct hf_span cap = client->store->ops->retry_cap;
    if (hf_client_enter(client, NULL) != HF_OK) {
        return false;
    }
    uint64_t random = hf_client_random(client);
    update->delay = hf_span_draw(update->most, random);
    update->most = hf_span_min(hf_span_scale(update->most, 2), cap);
    bool may = hf_instant_before(hf_instant_add(client->now, update->delay),
                                 update->until);
    hf_client_leave(client);
    return may;
}

static enum hf_status begin(struct update *update, int64_t wait_ms,
                            struct hf_error *error)
{
    enum hf_status status = hf_value_begin(update->client, update->name, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_client *client = update->client;
    update->most = client->store->ops->retry_base;
    update->until = wait_ms == HF_WAIT_FOREVER
                        ? HF_NEVER
                        : hf_instant_add(client->now, hf_span_ms(wait_ms));
    hf_client_leave(client);
    return HF_OK;
}

enum hf_status hf_value_update(struct hf_client *client, const void *name,
                               size_t name_len, int64_t wait_ms,
                               hf_value_change_fn *change, void *user,
                               uint64_t *version, struct hf_error *error)
{
    struct hf_name one = {.name = name, .name_len = name_len};
    struct update update = {
        .client = client, .name = &one, .change = change, .user = user};
    uint64_t found = 0;
    if (version != NULL) {
        *version = 0;
    }
    if (change == NULL || wait_ms < HF_WAIT_FOREVER) {
        return hf_fail(error, HF_INVALID, "%s",
                       change == NULL ? "no function that makes the new value"
                                      : "the wait is negative");
    }
    enum hf_status status = begin(&update, wait_ms, error);
    if (status != HF_OK) {
        return status;
    }
    do {
        status = once(&update, &found, error);
    } while (status == HF_BUSY && plan(&update));
    if (version != NULL && status == HF_OK) {
        *version = found;
    }
    return status;
}
