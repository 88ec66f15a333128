/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mysql/guard.h"

#include <stddef.h>

void hf_mysql_guard_enter(struct hf_mysql_guard *guard,
                          const struct hf_tls_ops *tls)
{
    sigset_t set;
    guard->tls = tls;
    if (tls == NULL) {
        return;
    }
    tls->clear();
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    hf_signal_hold_begin(&guard->hold, &set, SIGPIPE);
}

void hf_mysql_guard_leave(const struct hf_mysql_guard *guard)
{
    if (guard->tls == NULL) {
        return;
    }
    guard->tls->clear();
    hf_signal_hold_end(&guard->hold);
}
