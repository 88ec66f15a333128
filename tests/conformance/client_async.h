/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous operations, as their callbacks record them. */
#ifndef CLIENT_ASYNC_H
#define CLIENT_ASYNC_H

#include "client_tokens.h"

struct seen {
    struct hf_client *client;
    int count; /* number of callbacks */
    int told;  /* number of results */
    enum hf_status status;
    struct hf_lock *lock;
    struct hf_info *info;
    char text[HF_OWNER_TEXT_MAX];
    char why[1000];
    struct hf_op *op; /* cancelled in the first callback */
    bool stops;
    bool closes;
};

static inline void note(struct seen *seen, enum hf_status status,
                        const struct hf_error *error)
{
    seen->count++;
    seen->status = status;
    snprintf(seen->why, sizeof(seen->why), "%s", error->text);
    assert_true(status == HF_OK || error->text[0] != '\0');
}

static inline void on_done(void *user, struct hf_lock *lock,
                           enum hf_status status, const struct hf_error *error)
{
    struct seen *seen = user;
    note(seen, status, error);
    seen->lock = lock;
}

static inline void on_text(void *user, const char *text, enum hf_status status,
                           const struct hf_error *error)
{
    struct seen *seen = user;
    note(seen, status, error);
    assert_true((text != NULL) == (status == HF_OK));
    snprintf(seen->text, sizeof(seen->text), "%s", text == NULL ? "" : text);
}

static inline void on_info(void *user, struct hf_info *info,
                           enum hf_status status, const struct hf_error *error)
{
    struct seen *seen = user;
    note(seen, status, error);
    assert_true((info != NULL) == (status == HF_OK));
    seen->info = info;
}

static inline bool told(struct seen *seen)
{
    seen->told++;
    hf_op_cancel(seen->op);
    seen->op = NULL;
    if (seen->closes) {
        hf_client_close(seen->client);
    }
    return !seen->stops;
}

static inline bool on_entry(void *user, const struct hf_queue_entry *entry)
{
    assert_true(hf_queue_entry_node(entry) >= 0);
    return told(user);
}

static inline bool on_name(void *user, const void *name, size_t name_len,
                           const struct hf_info *info)
{
    assert_true(name_len > 0 && name != NULL);
    assert_int_equal(hf_holder_kind(hf_info_holder(info)), HF_HOLDER_HOLDFAST);
    return told(user);
}

static inline void await(struct hf_client *client, struct seen *seen,
                         enum hf_status status)
{
    run_loop(client, &seen->count, 1, PATIENCE_MS);
    assert_int_equal(seen->count, 1);
    if (seen->status != status) {
        fail_msg("%s: %s", hf_status_name(seen->status), seen->why);
    }
}

static inline void start_inspect(struct hf_client *client, const char *name,
                                 struct seen *seen, struct hf_op **op)
{
    assert_int_equal(hf_op_start_inspect(client, name, strlen(name), on_info,
                                         seen, op, NULL),
                     HF_OK);
}

static inline void start_queue(struct hf_client *client, const char *name,
                               struct seen *seen, struct hf_op **op)
{
    assert_int_equal(hf_op_start_queue(client, name, strlen(name), on_entry,
                                       on_done, seen, op, NULL),
                     HF_OK);
}

static inline void start_list(struct hf_client *client, const char *prefix,
                              struct seen *seen, struct hf_op **op)
{
    char pattern[100];
    snprintf(pattern, sizeof(pattern), "%s*", prefix);
    assert_int_equal(
        hf_op_start_list(client, pattern, on_name, on_done, seen, op, NULL),
        HF_OK);
}

#endif
