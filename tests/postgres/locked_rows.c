/* SPDX-License-Identifier: Apache-2.0 */
/* Other sessions have locked the rows of names that three threads acquire, or
 * hold these names. The lease that the same client holds on another name is
 * renewed meanwhile.
 *
 *   locked_rows URL HELD OTHER OTHER OTHER */
#include <holdfast/holdfast.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define OTHERS 3      /* names with locked rows: a thread waits for each */
#define LEASE_MS 6000 /* short: two of them must pass */

/* How long the others are asked for: two leases would end. */
#define WAIT_MS 14000

struct waiter {
    struct hf_client *client;
    const char *name;
    enum hf_status status;
};

static struct hf_request want(const char *name, int64_t wait_ms)
{
    struct hf_request request;
    hf_request_init(&request, name);
    request.ttl_ms = LEASE_MS;
    request.wait_ms = wait_ms;
    return request;
}

static void *wait_for(void *arg)
{
    struct waiter *waiter = arg;
    struct hf_lock *lock;
    struct hf_request request = want(waiter->name, WAIT_MS);
    waiter->status = hf_lock_acquire(waiter->client, &request, &lock, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_lock *held;
    struct hf_error error = {.text = ""};
    if (argc != 3 + OTHERS ||
        hf_client_open(argv[1], NULL, &client, &error) != HF_OK) {
        printf("no client: %s\n", error.text);
        return 1;
    }
    struct hf_request request = want(argv[2], 0);
    if (hf_lock_acquire(client, &request, &held, &error) != HF_OK) {
        printf("not acquired: %s\n", error.text);
        return 1;
    }
    struct waiter waiters[OTHERS];
    pthread_t threads[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
        waiters[i] = (struct waiter){.client = client, .name = argv[3 + i]};
        pthread_create(&threads[i], NULL, wait_for, &waiters[i]);
    }
    for (int i = 0; i < OTHERS; i++) {
        pthread_join(threads[i], NULL);
        printf("%s: %s\n", waiters[i].name, hf_status_name(waiters[i].status));
    }
    printf("held: %s\n",
           hf_lock_state(held) == HF_STATE_LOST ? "lost" : "kept");
    hf_lock_release(held);
    hf_client_close(client);
    return 0;
}
