/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mysql/sigpipe.h"

#include <mysql.h>
#include <stddef.h>
#include <time.h>

void hf_mysql_sigpipe_block(struct hf_mysql_sigpipe *sigpipe)
{
    sigset_t set;
    sigset_t pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &sigpipe->before);
    sigemptyset(&pending);
    sigpending(&pending);
    sigpipe->was_pending = sigismember(&pending, SIGPIPE) == 1;
}

void hf_mysql_sigpipe_restore(const struct hf_mysql_sigpipe *sigpipe)
{
    static const struct timespec at_once = {0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!sigpipe->was_pending) {
        (void)sigtimedwait(&set, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &sigpipe->before, NULL);
}

void hf_mysql_close(struct st_mysql *sql)
{
    struct hf_mysql_sigpipe sigpipe;
    if (sql != NULL) {
        hf_mysql_sigpipe_block(&sigpipe);
        mysql_close(sql);
        hf_mysql_sigpipe_restore(&sigpipe);
    }
}
