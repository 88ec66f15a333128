/* SPDX-License-Identifier: Apache-2.0 */
/* An error of the server as a status, and as one line of text. The number
 * decides: the words follow the server's language. The schema's own signals
 * have one number, and a state each.
 *
 * After an error that is on no list the result is UNKNOWN: it may be of the
 * COMMIT. */
#include "base/fail.h"
#include "store/mysql/node.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <string.h>

static bool is_one_of(const struct hf_mysql_reply *reply, const unsigned *list,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (reply->error == list[i]) {
            return true;
        }
    }
    return false;
}

#define IS_ONE_OF(reply, list)                                                 \
    is_one_of(reply, list, sizeof(list) / sizeof((list)[0]))

static bool is_signal(const struct hf_mysql_reply *reply, const char *sqlstate)
{
    return reply->error == ER_SIGNAL_EXCEPTION &&
           strcmp(reply->sqlstate, sqlstate) == 0;
}

bool hf_mysql_fault_is_undone(const struct hf_mysql_reply *reply)
{
    return reply->error == ER_LOCK_WAIT_TIMEOUT ||
           reply->error == ER_LOCK_DEADLOCK;
}

bool hf_mysql_fault_is_missing(const struct hf_mysql_reply *reply)
{
    static const unsigned errors[] = {ER_SP_DOES_NOT_EXIST, ER_BAD_DB_ERROR,
                                      ER_NO_SUCH_TABLE};
    return IS_ONE_OF(reply, errors);
}

bool hf_mysql_fault_is_denied(const struct hf_mysql_reply *reply)
{
    static const unsigned errors[] = {
        ER_DBACCESS_DENIED_ERROR,        ER_ACCESS_DENIED_ERROR,
        ER_TABLEACCESS_DENIED_ERROR,     ER_COLUMNACCESS_DENIED_ERROR,
        ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR};
    return IS_ONE_OF(reply, errors);
}

bool hf_mysql_fault_is_identity(const struct hf_mysql_reply *reply)
{
    static const unsigned errors[] = {ER_OPTION_PREVENTS_STATEMENT,
                                      ER_READ_ONLY_MODE};
    return is_signal(reply, "25006") || hf_mysql_fault_is_missing(reply) ||
           IS_ONE_OF(reply, errors);
}

bool hf_mysql_fault_is_refusal(const struct hf_mysql_reply *reply)
{
    static const unsigned errors[] = {
        ER_SIGNAL_EXCEPTION,    ER_CANT_CHANGE_TX_CHARACTERISTICS,
        ER_SP_WRONG_NO_OF_ARGS, ER_NO_SUCH_USER, /* of the definer */
        ER_DATA_TOO_LONG,       ER_BINLOG_STMT_MODE_AND_ROW_ENGINE,
        ER_PARSE_ERROR,         ER_NET_PACKET_TOO_LARGE,
        ER_RECORD_FILE_FULL}; /* of a statement, and never of the COMMIT */
    return hf_mysql_fault_is_denied(reply) ||
           hf_mysql_fault_is_identity(reply) || IS_ONE_OF(reply, errors);
}

enum hf_status hf_mysql_fault(const struct hf_mysql_reply *reply, char *out,
                              size_t size)
{
    static const unsigned wrong[] = {ER_BINLOG_STMT_MODE_AND_ROW_ENGINE,
                                     ER_NO_SUCH_USER, ER_SP_WRONG_NO_OF_ARGS};
    if (reply->error == 0) {
        snprintf(out, size, "an answer that makes no sense");
        return HF_UNAVAILABLE;
    }
    snprintf(out, size, "%.120s (error %u)", reply->text, reply->error);
    hf_error_make_plain(out);
    if (hf_mysql_fault_is_denied(reply)) {
        return HF_DENIED;
    }
    if (hf_mysql_fault_is_identity(reply) || is_signal(reply, "HF003") ||
        IS_ONE_OF(reply, wrong)) {
        return HF_CONFIG;
    }
    return HF_UNAVAILABLE;
}
