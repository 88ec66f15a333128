/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mysql/guard.h"

#include <stddef.h>
#include <time.h>

void hf_mysql_guard_enter(struct hf_mysql_guard *guard,
                          const struct hf_tls_ops *tls)
{
    sigset_t set;
    sigset_t pending;
    guard->tls = tls;
    if (tls == NULL) {
        return;
    }
    tls->clear();
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &guard->before);
    sigemptyset(&pending);
    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGPIPE) == 1;
}

void hf_mysql_guard_leave(const struct hf_mysql_guard *guard)
{
    static const struct timespec at_once = {0};
    sigset_t set;
    if (guard->tls == NULL) {
        return;
    }
    guard->tls->clear();
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!guard->was_pending) {
        (void)sigtimedwait(&set, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}
