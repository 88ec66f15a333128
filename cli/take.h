/* SPDX-License-Identifier: Apache-2.0 */
/* Take a lock, waiting if asked to, until it is cancelled,
 * with a line on the terminal meanwhile. Used by `run`, whose keeper
 * is told of signals by its wrapper, and by `acquire`, which sees its own. */
#ifndef CLI_TAKE_H
#define CLI_TAKE_H

#include "args.h"
#include "status.h"
#include "wait_line.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <sys/types.h>

/* Look at `stop_fd`, which is readable. @return the signal to stop with, 0 to
 * go on. */
typedef int cli_take_stop_fn(void *user);

struct cli_take {
    struct hf_client *client;
    const struct hf_request *request;
    struct cli_status status;
    int stop_fd;
    cli_take_stop_fn *stop;
    void *user;
    bool is_quiet;
    pid_t foreground; /* the process group for which a line is shown */
    struct cli_line_gate *gate;
    /* what came of it */
    struct hf_lock *lock;
    struct hf_error error;
    enum hf_status outcome;
    int signal; /* HF_CANCELLED: why */
    /* under way */
    struct hf_op *op;
    int64_t ahead; /* as last said; -1: not yet */
    bool is_over;
};

/* Do the options of run and acquire fit together? @return why not, or NULL. */
const char *cli_take_check(const struct cli_args *args);

/* Fill the request from the options. It borrows the names of `args`. Its ttl_ms
 * is 0 unless one was given. */
void cli_take_request(struct hf_request *request, const struct cli_args *args);

/* The shorter of 30 s and what the store allows, unless a ttl was given.
 * @return 0; or the exit code, after a line on stderr. */
int cli_take_ttl(struct hf_request *request, const struct hf_client *client,
                 const struct cli_args *args);

/* @return take->outcome; HF_OK: take->lock is the caller's, for the whole
 * lease; HF_LOST: it was lost again before it had that. */
enum hf_status cli_take(struct cli_take *take);

/* The line and the exit code when a signal ended the wait. */
int cli_take_stopped(const struct cli_args *args, int number);

/* The line and the exit code when it did not succeed. */
int cli_take_failed(const struct cli_take *take, const struct cli_args *args);

#endif
