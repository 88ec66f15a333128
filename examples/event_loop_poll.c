/* SPDX-License-Identifier: Apache-2.0 */
/* Many locks in flight from one thread: one descriptor in poll(), and
 * hf_client_process() when it is readable. No thread is started.
 *
 *     ./event_loop_poll [URL]     takes and gives back 100 locks, at once */
#include <holdfast/holdfast.h>

#include <poll.h>
#include <stdio.h>

enum { JOBS = 100 };

struct job {
    char name[32];
    int *open; /* how many are not over yet */
};

static void on_released(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct job *job = user;
    (void)lock;
    (void)error;
    printf("%s: %s\n", job->name, hf_status_text(status));
    (*job->open)--;
}

static void on_acquired(void *user, struct hf_lock *lock, enum hf_status status,
                        const struct hf_error *error)
{
    struct job *job = user;
    if (status != HF_OK) {
        printf("%s: %s\n", job->name, error->text);
        (*job->open)--;
        return;
    }
    printf("%s: fence %llu\n", job->name,
           (unsigned long long)hf_lock_fence(lock));
    hf_op_start_release(lock, on_released, job);
}

static bool start(struct hf_client *client, struct job *job)
{
    struct hf_request request;
    struct hf_error error;
    hf_request_init(&request, job->name);
    if (hf_op_start_acquire(client, &request, on_acquired, job, NULL, &error) !=
        HF_OK) {
        fprintf(stderr, "event_loop_poll: %s\n", error.text);
        return false;
    }
    (*job->open)++;
    return true;
}

int main(int argc, char **argv)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_error error;
    struct job jobs[JOBS];
    int open = 0;

    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(argc > 1 ? argv[1] : NULL, &options, &client, &error) !=
        HF_OK) {
        fprintf(stderr, "event_loop_poll: %s\n", error.text);
        return 1;
    }
    for (int i = 0; i < JOBS; i++) {
        snprintf(jobs[i].name, sizeof(jobs[i].name), "job-%d", i);
        jobs[i].open = &open;
        if (!start(client, &jobs[i])) {
            return 1;
        }
    }
    struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
    while (open > 0) {
        poll(&fd, 1, -1);
        hf_client_process(client);
    }
    hf_client_close(client);
    return 0;
}
