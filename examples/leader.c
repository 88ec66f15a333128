/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election: start this on every host. One leads, the others stand in the
 * queue; when the leader resigns, loses the lock or dies, the next one leads.
 * `holdfast ls leader` shows who leads since when, and who stands in line.
 *
 *     leader URL [TERMS]      resigns after each term, and stands again
 *
 * What is done while leading must be guarded by the fence: a leader that was
 * frozen may wake up after its successor has begun. */
#define _POSIX_C_SOURCE 200809L /* nanosleep() */
#include <holdfast/holdfast.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TERM_TICKS 3

static void pause_ms(long ms)
{
    struct timespec span = {.tv_sec = ms / 1000,
                            .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

/* A term ends by itself, or when the lock cannot be kept. */
static void lead(struct hf_lock *lock)
{
    unsigned long long fence = hf_lock_fence(lock);
    printf("leading with fence %llu\n", fence);
    for (int tick = 1; tick <= TERM_TICKS; tick++) {
        if (!hf_lock_valid_for(lock, 100)) { /* time enough for one tick */
            printf("deposed\n");
            return;
        }
        printf("  tick %d of fence %llu\n", tick, fence);
        pause_ms(20);
    }
    printf("resigning\n");
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : NULL;
    int terms = argc > 2 ? atoi(argv[2]) : 1;
    struct hf_client *client;
    struct hf_error error;
    if (hf_client_open(url, NULL, &client, &error) != HF_OK) {
        fprintf(stderr, "leader: %s\n", error.text);
        return 1;
    }
    for (; terms > 0; terms--) {
        struct hf_request request;
        struct hf_lock *lock;
        hf_request_init(&request, "leader");
        request.wait_ms =
            HF_WAIT_FOREVER;    /* in the queue, at next to no cost */
        request.ttl_ms = 10000; /* a dead leader is followed in 10 s */
        if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
            fprintf(stderr, "leader: %s\n", error.text);
            hf_client_close(client);
            return 1;
        }
        lead(lock);
        hf_lock_release(lock); /* the next in line leads before this returns */
    }
    hf_client_close(client);
    return 0;
}
