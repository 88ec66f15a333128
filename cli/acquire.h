/* SPDX-License-Identifier: Apache-2.0 */
/* Acquire a lock, with a status line on the terminal while it waits. A signal
 * cancels the wait. Used by the keeper of `run`, which gets signals from its
 * wrapper, and by `acquire`, which gets its own.
 *
 *     cli_acquire_request(&request, args);
 *     code = cli_acquire_ttl(&request, client, args);       0: go on
 *     struct cli_acquire take = {.client = client, .request = &request, …};
 *     if (cli_acquire(&take) != HF_OK) {
 *         return cli_acquire_failed(&take, args);           the exit code
 *     }
 *     … take.lock …
 *
 * The caller sets the fields above "the result". All that they point to must
 * stay until cli_acquire() returns. */
#ifndef CLI_ACQUIRE_H
#define CLI_ACQUIRE_H

#include "args.h"
#include "status.h"
#include "wait_line.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <sys/types.h>

/* Read `stop_fd`, which is readable. @return the signal that cancels the wait,
 * or 0 to continue. */
typedef int cli_acquire_stop_fn(void *user);

/* The lease without --ttl, if the store's max_ttl allows it. */
#define CLI_TTL_MS 30000

struct cli_acquire {
    struct hf_client *client;
    const struct hf_request *request;
    struct cli_status *status;
    int stop_fd;
    cli_acquire_stop_fn *stop;
    void *user;
    bool is_quiet;
    pid_t foreground; /* the process group for which a line is shown */
    struct cli_line_gate *gate;
    /* the result */
    struct hf_lock *lock;
    struct hf_error error;
    enum hf_status outcome;
    int signal; /* HF_CANCELLED: why */
    /* while it runs */
    struct hf_op *op;
    int64_t ahead; /* as last reported; -1: not yet */
    bool is_over;
};

/* Check the combination of options of run and acquire. @return the error, or
 * NULL. */
const char *cli_acquire_check(const struct cli_args *args);

/* Fill the request from the options. It borrows the names of `args`. Its ttl_ms
 * is 0 unless one was given. */
void cli_acquire_request(struct hf_request *request,
                         const struct cli_args *args);

/* Set the ttl: as given, else the shorter of 30 s and the store's max_ttl.
 * @return 0; or the exit code, after a line on stderr. */
int cli_acquire_ttl(struct hf_request *request, const struct hf_client *client,
                    const struct cli_args *args);

/* Acquire the lock. @return take->outcome; HF_OK: take->lock is the caller's,
 * for the whole lease; HF_LOST: granted, but lost before the full lease. */
enum hf_status cli_acquire(struct cli_acquire *take);

/* Print the line of a wait that a signal cancelled. @return the exit code. */
int cli_acquire_stopped(const struct cli_args *args, int number);

/* Print the error of an acquisition that failed. @return the exit code. */
int cli_acquire_failed(const struct cli_acquire *take,
                       const struct cli_args *args);

#endif
