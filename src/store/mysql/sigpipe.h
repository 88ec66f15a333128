/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL, below libmariadb, writes with write(2), which raises SIGPIPE in the
 * program if the server has closed the connection. The handling of signals is
 * the program's, so the signal is blocked in this thread for the call, and one
 * that the call has raised is removed. */
#ifndef HF_MYSQL_SIGPIPE_H
#define HF_MYSQL_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct st_mysql; /* MYSQL */

struct hf_mysql_sigpipe {
    sigset_t before;
    bool was_pending;
};

/* Block it; and go back to what was before. */
void hf_mysql_sigpipe_block(struct hf_mysql_sigpipe *sigpipe);
void hf_mysql_sigpipe_restore(const struct hf_mysql_sigpipe *sigpipe);

/* mysql_close(), so guarded: it says good-bye. NULL is fine. */
void hf_mysql_close(struct st_mysql *sql);

#endif
