/* SPDX-License-Identifier: Apache-2.0 */
/* Read, change, write; again if another client has written in between. The
 * pause before a new try is random, up to a limit that doubles: with N writers
 * one succeeds in each round, and the others spread over the next rounds. The
 * mutex is released while a step waits, and for the callback; so a client that
 * the callback closes is freed at the end.
 *
 * Cost: two round trips for each try, a read and a write. */
#include "client/callback.h"
#include "client/enter.h"
#include "client/fork.h"
#include "client/value.h"

#include "base/fail.h"

#include <string.h>

struct value_update {
    struct hf_client *client;
    const struct hf_name *name;
    hf_value_change_fn *change;
    void *user;
    unsigned interrupts;  /* client->interrupts when it began */
    bool is_ended;        /* by the callback, whatever its status */
    struct hf_span delay; /* before the next try */
    struct hf_span most;  /* of the delay */
    struct hf_instant until;
};

/* Call the user's function, without the mutex. It may close or interrupt the
 * client, or trigger the token. */
static enum hf_status change_now(struct value_update *update,
                                 const struct hf_value *value,
                                 struct hf_bytes *bytes, struct hf_error *error)
{
    struct hf_client *client = update->client;
    struct hf_caller self;
    hf_client_let_out(client, &self);
    enum hf_status status =
        update->change(update->user, value, &bytes->data, &bytes->len);
    hf_client_take_in(client, &self);
    bool is_cancelled = hf_cancel_is_triggered(client->options.cancel) ||
                        atomic_load(&client->interrupts) != update->interrupts;
    if (client->is_closing || (status == HF_OK && is_cancelled)) {
        status = HF_CANCELLED;
    }
    update->is_ended = status != HF_OK;
    return status == HF_OK
               ? HF_OK
               : hf_fail(error, status, "%s", hf_status_text(status));
}

static enum hf_status write_now(const struct value_update *update,
                                const struct hf_value *value,
                                const struct hf_bytes *bytes, uint64_t *version,
                                struct hf_error *error)
{
    uint64_t if_version = hf_value_version(value);
    if (bytes->data == NULL && if_version == 0) {
        *version = 0;
        return HF_OK; /* none to delete */
    }
    enum hf_status status = hf_value_check(bytes, if_version, error);
    return status == HF_OK ? hf_value_write(update->client, update->name, bytes,
                                            if_version, version, error)
                           : status;
}

static enum hf_status once(struct value_update *update, uint64_t *version,
                           struct hf_error *error)
{
    struct hf_value *value = NULL;
    struct hf_bytes bytes = {NULL, 0};
    enum hf_status status = hf_value_read(update->client, update->name,
                                          update->delay, &value, error);
    if (status == HF_OK) {
        status = change_now(update, value, &bytes, error);
    }
    if (status == HF_OK) {
        status = write_now(update, value, &bytes, version, error);
    }
    hf_value_free(value);
    return status;
}

/** @return false: the callback has ended it, or there is no time for another
 * try. */
static bool plan(struct value_update *update)
{
    struct hf_client *client = update->client;
    struct hf_span cap = client->store->ops->retry_cap;
    uint64_t random = hf_client_random(client);
    update->delay = hf_span_draw(update->most, random);
    update->most = hf_span_min(hf_span_scale(update->most, 2), cap);
    return !update->is_ended &&
           hf_instant_before(hf_instant_add(client->now, update->delay),
                             update->until);
}

enum hf_status hf_value_update(struct hf_client *client, const void *name,
                               size_t name_len, int64_t wait_ms,
                               hf_value_change_fn *change, void *user,
                               uint64_t *version, struct hf_error *error)
{
    struct hf_name one = {.name = name, .name_len = name_len};
    struct value_update update = {
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
    enum hf_status status = hf_value_begin(client, &one, error);
    if (status != HF_OK) {
        return status;
    }
    update.interrupts = client->interrupts_before;
    update.most = client->store->ops->retry_base;
    update.until = wait_ms == HF_WAIT_FOREVER
                       ? HF_NEVER
                       : hf_instant_add(client->now, hf_span_ms(wait_ms));
    do {
        status = once(&update, &found, error);
    } while (status == HF_BUSY && plan(&update));
    hf_client_leave(client);
    if (version != NULL && status == HF_OK) {
        *version = found;
    }
    return status;
}
