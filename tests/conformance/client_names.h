/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of several names in one request. */
#ifndef CLIENT_NAMES_H
#define CLIENT_NAMES_H

#include "client_world.h"

/* Names that sort as a < b < c, of this test alone. */
struct trio {
    char a[80], b[80], c[80];
};

static inline struct trio fresh_trio(void)
{
    struct trio trio;
    const char *name = fresh_name();
    snprintf(trio.a, sizeof(trio.a), "%s.a", name);
    snprintf(trio.b, sizeof(trio.b), "%s.b", name);
    snprintf(trio.c, sizeof(trio.c), "%s.c", name);
    return trio;
}

static inline struct hf_name named(const char *name)
{
    return (struct hf_name){name, strlen(name), HF_EXCLUSIVE};
}

/* A request for up to three names; NULL: no more. */
struct wish {
    struct hf_request request;
    struct hf_name more[2];
};

static inline const struct hf_request *
wish(struct wish *wish, const char *first, const char *second,
     const char *third, int64_t ttl_ms, int64_t wait_ms)
{
    wish->request = want(first, ttl_ms, wait_ms);
    wish->more[0] = named(second);
    wish->more[1] = named(third == NULL ? "" : third);
    wish->request.more = wish->more;
    wish->request.n_more = third == NULL ? 1 : 2;
    return &wish->request;
}

static inline struct hf_lock *take_all(struct hf_client *client,
                                       const char *first, const char *second,
                                       const char *third, int64_t ttl_ms)
{
    struct wish all;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    if (hf_lock_acquire(client,
                        wish(&all, first, second, third, ttl_ms, PATIENCE_MS),
                        &lock, &error) != HF_OK) {
        fail_msg("acquire %s, %s: %s", first, second, error.text);
    }
    return lock;
}

static inline enum hf_status try_all(struct hf_client *client,
                                     const char *first, const char *second,
                                     const char *third, struct hf_error *error)
{
    struct wish all;
    struct hf_lock *lock = NULL;
    enum hf_status status = hf_lock_acquire(
        client, wish(&all, first, second, third, LEASE_MS, 0), &lock, error);
    if (status == HF_OK) {
        hf_lock_release(lock);
    }
    return status;
}

static inline void assert_all_free(struct hf_client *client,
                                   const struct trio *names)
{
    assert_free(client, names->a);
    assert_free(client, names->b);
    assert_free(client, names->c);
}

static inline void run_until_all_free(struct hf_client *client,
                                      struct hf_client *other,
                                      const struct trio *names)
{
    run_until_free(client, other, names->a);
    run_until_free(client, other, names->b);
    run_until_free(client, other, names->c);
}

static inline bool is_taken(struct hf_client *client, const char *name)
{
    struct hf_info *info = inspect(client, name);
    bool is = hf_holder_kind(hf_info_holder(info)) != HF_HOLDER_NONE;
    hf_info_free(info);
    return is;
}

/* ---- Asking ------------------------------------------------------------ */

struct seen {
    int count;
    enum hf_status status;
    struct hf_lock *lock;
    char text[1000];
};

static inline void on_done(void *user, struct hf_lock *lock,
                           enum hf_status status, const struct hf_error *error)
{
    struct seen *seen = user;
    seen->count++;
    seen->status = status;
    seen->lock = lock;
    snprintf(seen->text, sizeof(seen->text), "%s", error->text);
}

/* The names are not in byte order, and the caller's copies are gone. */
static inline struct hf_op *start_all(struct hf_client *client,
                                      const struct trio *names, int64_t ttl_ms,
                                      int64_t wait_ms, struct seen *seen)
{
    struct trio copy = *names;
    struct wish all;
    struct hf_op *op = NULL;
    struct hf_error error;
    if (hf_op_start_acquire(client,
                            wish(&all, copy.c, copy.a, copy.b, ttl_ms, wait_ms),
                            on_done, seen, &op, &error) != HF_OK) {
        fail_msg("%s", error.text);
    }
    memset(&copy, 'X', sizeof(copy));
    memset(&all, 0, sizeof(all));
    return op;
}

/* Run `client` until `name` is held. */
static inline void run_until_taken(struct hf_client *client,
                                   struct hf_client *other, const char *name)
{
    int never = 0;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!is_taken(other, name)) {
        assert_true(now_ms() < end_ms);
        run_loop(client, &never, 1, 2);
    }
}

/* Wait until the store shows a renewal of `name`. */
static inline void run_until_renewed(struct hf_client *client,
                                     struct hf_client *other, const char *name)
{
    int never = 0;
    int64_t left_ms = INT64_MAX;
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (!is_seen_renewed(other, name, &left_ms)) {
        assert_true(now_ms() < end_ms);
        run_loop(client, &never, 1, 20);
    }
}

#endif
