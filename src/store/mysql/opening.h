/* SPDX-License-Identifier: Apache-2.0 */
/* Why a connection was not made, as a status and one line of text. */
#ifndef HF_MYSQL_OPENING_H
#define HF_MYSQL_OPENING_H

#include "store/mysql/target.h"
#include "store/store.h"

#include <stddef.h>

/* Of a plain URL, and of one for TLS. */
#define HF_MYSQL_FILE_WANTS_TLS                                                \
    "the option file asks for TLS: write mysqls://, and leave that out"
#define HF_MYSQL_FILE_SETS_TLS                                                 \
    "the option file has settings of TLS: leave them out, and name tls_ca, "   \
    "tls_cert and tls_key in the URL"

/** Of a connection that has failed. @param out  gets the text; empty: none. */
enum hf_status hf_mysql_target_fault(const struct hf_mysql_target *target,
                                     struct st_mysql *sql, char *out,
                                     size_t size);

#endif
