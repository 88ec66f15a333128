/* SPDX-License-Identifier: Apache-2.0 */
/* A lock says which process should write. The fence keeps all others out.
 *
 * Any process can be paused between "do I hold the lock?" and its write: by the
 * scheduler, a slow disk, a suspended machine. If that takes longer than the
 * lease, another process holds the lock by then. So the store that is written
 * to keeps the largest fence that it has seen, and refuses a smaller one.
 *
 * The store here is a few lines of C; `holdfast guard` prints the same for a
 * database (docs/fencing.md). */
#include <holdfast/holdfast.h>

#include <stdio.h>

struct store {
    uint64_t fence; /* the largest seen */
    int balance;
};

static bool store_write(struct store *store, uint64_t fence, int balance)
{
    if (fence < store->fence) {
        printf("  refused: fence %llu is older than %llu\n",
               (unsigned long long)fence, (unsigned long long)store->fence);
        return false;
    }
    store->fence = fence;
    store->balance = balance;
    printf("  written: %d\n", balance);
    return true;
}

static struct hf_lock *take(struct hf_client *client)
{
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_error error;
    hf_request_init(&request, "account-7");
    request.ttl_ms = 200; /* short, so that the pause below is short, too */
    request.wait_ms = 5000;
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        fprintf(stderr, "guarded_update: %s\n", error.text);
    }
    return lock;
}

static struct hf_client *open_client(const char *url)
{
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_error error;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE; /* nothing renews: as if it were paused */
    if (hf_client_open(url, &options, &client, &error) != HF_OK) {
        fprintf(stderr, "guarded_update: %s\n", error.text);
    }
    return client;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : NULL;
    struct store store = {0, 100};
    struct hf_client *a = open_client(url);
    struct hf_client *b = open_client(url);
    struct hf_lock *mine = a != NULL ? take(a) : NULL;
    if (mine == NULL || b == NULL) {
        return 1;
    }
    int seen = store.balance;
    printf("A holds the lock, has read %d, and is paused\n", seen);

    struct hf_lock *theirs = take(b); /* gets it when A's lease is over */
    if (theirs == NULL) {
        return 1;
    }
    printf("B holds the lock and writes\n");
    store_write(&store, hf_lock_fence(theirs), store.balance + 50);

    printf("A goes on, without asking whether it still may\n");
    bool is_safe = !store_write(&store, hf_lock_fence(mine), seen - 30);
    printf("A asks: the lock is %s\n",
           hf_lock_valid_for(mine, 0) ? "still its own" : "lost");

    hf_lock_release(theirs);
    hf_lock_release(mine);
    hf_client_close(a);
    hf_client_close(b);
    return is_safe && store.balance == 150 ? 0 : 1;
}
