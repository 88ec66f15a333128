/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the library on a server of redis_world.h. */
#ifndef HF_TESTS_REDIS_CLIENT_H
#define HF_TESTS_REDIS_CLIENT_H

#include "redis_world.h"

#include <holdfast/holdfast.h>

/* `parameter` is one more of its URL. */
static inline struct hf_client *open_at(const struct server *server,
                                        enum hf_thread_mode mode,
                                        const char *parameter)
{
    char url[240];
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error;
    snprintf(url, sizeof(url), "redis+unix://%s?quarantine=off&max_ttl=1h&%s",
             server->path, parameter);
    hf_client_options_init(&options);
    options.thread = mode;
    if (hf_client_open(url, &options, &client, &error) != HF_OK) {
        printf("Bail out! %s: %s\n", url, error.text);
        exit(1);
    }
    return client;
}

#endif
