/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the library, forks a child that stays, and is killed.
 *
 *   forked [-c] URL NAME   acquires NAME, prints the child's pid, and ends as
 * by kill -9. With -c the child closes the client. */
#include <holdfast/holdfast.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes a byte to `ready` when it has closed what it closes. */
static void stay(struct hf_client *client, bool does_close, int ready)
{
    if (does_close) {
        hf_client_close(client);
    }
    if (write(ready, "", 1) != 1) {
        _exit(1);
    }
    close(ready);
    close(STDOUT_FILENO); /* of the test, which reads to its end */
    for (;;) {
        pause();
    }
}

static int leave_child(struct hf_client *client, bool does_close)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        stay(client, does_close, ready[1]);
    }
    close(ready[1]);
    if (child < 0 || read(ready[0], &byte, 1) != 1) {
        return 1;
    }
    printf("%d\n", (int)child);
    fflush(stdout);
    return raise(SIGKILL);
}

int main(int argc, char **argv)
{
    struct hf_client *client = NULL;
    struct hf_lock *lock = NULL;
    struct hf_request request;
    struct hf_error error;
    bool does_close = argc == 4 && strcmp(argv[1], "-c") == 0;
    if (argc != 3 && !does_close) {
        return 2;
    }
    hf_request_init(&request, argv[argc - 1]);
    /* A thread that changes the client at the fork would leave the child's copy
     * as it is: closing it closed no connection. */
    struct hf_client_options options;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (hf_client_open(argv[argc - 2], &options, &client, &error) != HF_OK ||
        hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        fprintf(stderr, "forked: %s\n", error.text);
        return 1;
    }
    return leave_child(client, does_close);
}
