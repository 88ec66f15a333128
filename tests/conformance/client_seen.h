/* SPDX-License-Identifier: Apache-2.0 */
/* The callback of an operation that a test starts: how often it was called, and
 * with what. */
#ifndef HF_TESTS_CLIENT_SEEN_H
#define HF_TESTS_CLIENT_SEEN_H

#include <holdfast/holdfast.h>

#include <stdio.h>

struct seen {
    int count;
    enum hf_status status;
    struct hf_lock *lock;
    char text[1000]; /* of the error */
};

static void on_done(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    struct seen *seen = user;
    seen->count++;
    seen->status = status;
    seen->lock = lock;
    snprintf(seen->text, sizeof(seen->text), "%s", error->text);
}

#endif
