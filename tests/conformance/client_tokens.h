/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of cancel tokens and of operations that wait. */
#ifndef CLIENT_TOKENS_H
#define CLIENT_TOKENS_H

#include "client_world.h"

static inline struct hf_cancel *new_token(void)
{
    struct hf_cancel *cancel = NULL;
    struct hf_error error = {0};
    if (hf_cancel_new(&cancel, &error) != HF_OK) {
        fail_msg("token: %s", error.text);
    }
    assert_false(hf_cancel_is_triggered(cancel));
    return cancel;
}

static inline enum hf_status try_open(struct hf_cancel *cancel,
                                      enum hf_thread_mode mode,
                                      struct hf_client **client)
{
    struct hf_client_options options;
    hf_client_options_init(&options);
    options.thread = mode;
    options.cancel = cancel;
    return hf_client_open(world_url(), &options, client, NULL);
}

static inline struct hf_client *open_with(struct hf_cancel *cancel,
                                          enum hf_thread_mode mode)
{
    struct hf_client *client = NULL;
    assert_int_equal(try_open(cancel, mode, &client), HF_OK);
    return client;
}

static inline unsigned count_waiting(struct hf_client *client, const char *name)
{
    struct hf_info *info = inspect(client, name);
    unsigned count = hf_info_waiting(info);
    hf_info_free(info);
    return count;
}

static inline void await_waiting(struct hf_client *client, const char *name,
                                 unsigned count)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (count_waiting(client, name) != count) {
        assert_true(now_ms() < end_ms);
        pause_ms(2);
    }
}

#endif
