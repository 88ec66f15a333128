/* SPDX-License-Identifier: Apache-2.0 */
/* Contends for a name through the library, until FOLDER/stop exists.
 *
 *     contender URL NAME SECTION FOLDER
 *
 * Writes errors to FOLDER/trouble: a lock that was lost although it was held
 * for some milliseconds of a lease of two seconds, or a failed call. */
#include <holdfast/holdfast.h>

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A lock that is handed over is never free for clients that poll: they get it
 * only when no Holdfast client waits. So these contenders pause, and longer if
 * FOLDER/yield exists. */
#define REST_US 150000
#define REST_YIELDING_US 2000000

/* Of a section of milliseconds: one that took half of it is late. */
#define TTL_MS 2000

extern char **environ;

static const char *folder;

static void trouble(const char *what, const char *text)
{
    FILE *file = fopen("trouble", "a");
    if (file != NULL) {
        fprintf(file, "ours: %s %s\n", what, text);
        fclose(file);
    }
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static int run_section(const char *section, uint64_t fence)
{
    char value[32];
    snprintf(value, sizeof(value), "%llu", (unsigned long long)fence);
    setenv("HOLDFAST_FENCE", value, 1);
    char *argv[] = {strdup(section), strdup(folder), strdup("ours"),
                    strdup("5"), NULL};
    pid_t pid;
    int status = -1;
    if (posix_spawn(&pid, section, NULL, NULL, argv, environ) == 0) {
        waitpid(pid, &status, 0);
    }
    for (size_t i = 0; argv[i] != NULL; i++) {
        free(argv[i]);
    }
    return status;
}

static void contend(struct hf_client *client, const char *name,
                    const char *section)
{
    struct hf_request request;
    struct hf_error error = {0};
    struct hf_lock *lock;
    hf_request_init(&request, name);
    request.ttl_ms = TTL_MS;
    request.wait_ms = 5000;
    int64_t start = now_ms();
    enum hf_status status = hf_lock_acquire(client, &request, &lock, &error);
    if (status == HF_BUSY) {
        return;
    }
    if (status == HF_UNAVAILABLE && now_ms() - start >= 4500) {
        return; /* on a loaded machine a request timed out when the wait
                   ended */
    }
    if (status != HF_OK) {
        trouble(hf_status_name(status), error.text);
        return;
    }
    int64_t taken = now_ms();
    run_section(section, hf_lock_fence(lock));
    bool is_late = now_ms() - taken > TTL_MS / 2; /* this process or the store
                                                     did not run */
    status = hf_lock_release(lock);
    if (status == HF_LOST && !is_late) { /* HF_UNKNOWN: the release continues in
                                            the background */
        trouble("release", hf_status_name(status));
    }
}

int main(int argc, char **argv)
{
    if (argc != 5 || chdir(argv[4]) < 0) {
        fprintf(stderr, "usage: contender URL NAME SECTION FOLDER\n");
        return 64;
    }
    folder = argv[4];
    struct hf_client *client;
    struct hf_error error = {0};
    if (hf_client_open(argv[1], NULL, &client, &error) != HF_OK) {
        trouble("open", error.text);
        return 1;
    }
    while (access("stop", F_OK) != 0) {
        contend(client, argv[2], argv[3]);
        bool is_yielding = access("yield", F_OK) == 0;
        usleep(is_yielding ? REST_YIELDING_US : REST_US); /* sleeps: the load */
    }
    hf_client_close(client);
    return 0;
}
