/* SPDX-License-Identifier: Apache-2.0 */
/* Around each call of libmariadb that may use TLS.
 *
 * OpenSSL writes with write(2), which raises SIGPIPE in the program if the
 * server has closed the connection (io/signal_hold.h).
 *
 * OpenSSL keeps a queue of errors for each thread, and libmariadb takes what it
 * finds there for the error of its own call, so that each later connection of
 * the thread would end, too. The queue is emptied before, and after, for the
 * program's own use of OpenSSL. */
#ifndef HF_MYSQL_TLS_SCOPE_H
#define HF_MYSQL_TLS_SCOPE_H

#include "io/signal_hold.h"
#include "io/tls.h"

struct st_mysql; /* MYSQL */

/* On the stack of the thread, from begin to end. */
struct hf_mysql_tls_scope {
    const struct hf_tls_ops *tls;
    struct hf_signal_hold hold;
};

/** @param tls  NULL: without TLS, nothing is done. */
void hf_mysql_tls_scope_begin(struct hf_mysql_tls_scope *scope,
                              const struct hf_tls_ops *tls);

/* The end of what hf_mysql_tls_scope_begin() began, in the same thread. */
void hf_mysql_tls_scope_end(const struct hf_mysql_tls_scope *scope);

#endif
