/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mysql/tls_scope.h"

#include <stddef.h>

void hf_mysql_tls_scope_begin(struct hf_mysql_tls_scope *scope,
                              const struct hf_tls_ops *tls)
{
    sigset_t set;
    scope->tls = tls;
    if (tls == NULL) {
        return;
    }
    tls->clear();
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    hf_signal_hold_begin(&scope->hold, &set, SIGPIPE);
}

void hf_mysql_tls_scope_end(const struct hf_mysql_tls_scope *scope)
{
    if (scope->tls == NULL) {
        return;
    }
    scope->tls->clear();
    hf_signal_hold_end(&scope->hold);
}
