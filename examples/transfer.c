/* SPDX-License-Identifier: Apache-2.0 */
/* Two accounts at once, and at most two transfers at a time: several names, all
 * or none, and a semaphore. A process that names the same accounts in the
 * other order cannot block this one for ever. */
#include <holdfast/holdfast.h>

#include <stdio.h>

static int fail(const char *what, const struct hf_error *error)
{
    fprintf(stderr, "transfer: %s: %s\n", what, error->text);
    return 1;
}

static int transfer(struct hf_client *client)
{
    struct hf_name other = {"account-4711", 12, HF_EXCLUSIVE};
    struct hf_request request;
    struct hf_lock *lock;
    struct hf_error error;
    hf_request_init(&request, "account-17");
    request.wait_ms = 5000;
    request.more = &other;
    request.n_more = 1;
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        return fail("both accounts", &error);
    }
    for (size_t i = 0; i < hf_lock_count(lock); i++) {
        size_t len;
        const char *name = hf_lock_name_at(lock, i, &len);
        printf("%.*s under fence %llu\n", (int)len, name,
               (unsigned long long)hf_lock_fence_at(lock, i));
    }
    hf_lock_release(lock); /* both */
    return 0;
}

int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *permit;
    struct hf_error error;
    if (hf_client_open(argc > 1 ? argv[1] : NULL, NULL, &client, &error) !=
        HF_OK) {
        return fail("open", &error);
    }
    hf_request_init(&request, "transfers");
    request.wait_ms = 5000;
    request.permits = 2; /* the same number in every process */
    int code = 1;
    if (hf_lock_acquire(client, &request, &permit, &error) != HF_OK) {
        fail("a permit", &error);
    } else {
        printf("permit %d of 2\n", hf_lock_slot(permit));
        code = transfer(client);
        hf_lock_release(permit);
    }
    hf_client_close(client);
    return code;
}
