/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest useful program: one at a time, everywhere.
 *
 *     cc blocking.c -lholdfast && ./a.out redis://10.0.0.1,10.0.0.2,10.0.0.3 */
#include <holdfast/holdfast.h>

#include <stdio.h>

static void work(uint64_t fence)
{
    printf("working under fence %llu\n", (unsigned long long)fence);
}

int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_error error;
    struct hf_request request;
    const char *url = argc > 1 ? argv[1] : NULL; /* NULL: this machine only */

    if (hf_client_open(url, NULL, &client, &error) != HF_OK) {
        fprintf(stderr, "blocking: %s\n", error.text);
        return 1;
    }
    hf_request_init(&request, "invoice-42");
    request.ttl_ms = 10000; /* how soon others may go on if this host dies */
    request.wait_ms = 2000;

    enum hf_status status = hf_lock_acquire(client, &request, &lock, &error);
    if (status == HF_OK) {
        work(hf_lock_fence(lock));
        status = hf_lock_release(lock);
        printf("given back: %s\n", hf_status_text(status));
    } else {
        fprintf(stderr, "blocking: %s\n", error.text); /* HF_BUSY says who */
    }
    hf_client_close(client);
    return status == HF_OK ? 0 : 1;
}
