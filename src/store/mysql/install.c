/* SPDX-License-Identifier: Apache-2.0 */
/* The schema as statements: the text is for the client program of the server,
 * which takes "DELIMITER //" for itself. A statement ends with the delimiter,
 * which in our text is the end of a line, and each is sent alone. So other
 * programs continue: they wait for the routine that is being replaced.
 *
 *     ──▶ the install lock ──▶ facts() ┬▶ the statements ─┬▶ unlock, handshake
 *                                      └ another client ──┘
 *                                        has made it
 *
 * Clients that use a server for the first time at once all find no schema. Each
 * looks again under the lock, so that one makes it. Else the next would replace
 * the routines that the first uses already, and MySQL drops them before that.
 *
 * The lock is the one that the text takes, too, once more. The end of the
 * session frees it: one that fails half-way is closed, and the next begins
 * anew.
 *
 * Cost: one round trip for each statement, which are about a hundred, and three
 * more: the lock, facts() and the unlock; then a handshake. A client that finds
 * the schema under the lock makes those three. Once for each server. */
#include "store/mysql/node.h"
#include "store/mysql/schema.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <string.h>

/* Timeout of the creation of the schema, in milliseconds: it may wait for
 * another client that creates it, and for verbs. */
#define INSTALL_MS_MAX 30000

/* The server waits for the lock for two thirds of that. */
static const char lock_sql[] = "SELECT GET_LOCK('holdfast.install', 20)";
static const char unlock_sql[] = "DO RELEASE_LOCK('holdfast.install')";

/* MySQL's error for a table of one of its disabled_storage_engines; MariaDB's
 * header has no name for it. */
#define DISABLED_STORAGE_ENGINE 3161

static const char delimiter_word[] = "DELIMITER ";

struct cut {
    const char *at;                /* of the text */
    char delimiter[HF_TEXT_SHORT]; /* of its statements */
    size_t delimiter_len;
};

/* A line without its newline. */
struct script_line {
    const char *at;
    size_t len;
};

static bool next_line(struct cut *cut, struct script_line *out)
{
    out->at = cut->at;
    out->len = strcspn(cut->at, "\n");
    cut->at += out->len + (cut->at[out->len] == '\n');
    return cut->at > out->at;
}

static bool begins(const struct script_line *line, const char *word)
{
    return line->len >= strlen(word) &&
           memcmp(line->at, word, strlen(word)) == 0;
}

static bool read_delimiter(struct cut *cut, const struct script_line *line)
{
    if (!begins(line, delimiter_word)) {
        return false;
    }
    cut->delimiter_len =
        (size_t)snprintf(cut->delimiter, sizeof(cut->delimiter), "%.*s",
                         (int)(line->len - strlen(delimiter_word)),
                         line->at + strlen(delimiter_word));
    return true;
}

/** The next statement, without its delimiter. @return false: the end. */
static bool next_statement(struct cut *cut, struct script_line *out)
{
    struct script_line line;
    out->at = NULL;
    while (next_line(cut, &line)) {
        if (out->at == NULL && (line.len == 0 || begins(&line, "--") ||
                                read_delimiter(cut, &line))) {
            continue; /* between two statements */
        }
        out->at = out->at == NULL ? line.at : out->at;
        size_t len = (size_t)(line.at + line.len - out->at);
        if (line.len >= cut->delimiter_len && !begins(&line, "--") &&
            memcmp(line.at + line.len - cut->delimiter_len, cut->delimiter,
                   cut->delimiter_len) == 0) {
            out->len = len - cut->delimiter_len;
            return true;
        }
    }
    return false;
}

/* ---- The order ----------------------------------------------------------- */

void hf_mysql_install(struct hf_mysql_node *node, struct hf_instant now)
{
    hf_sql_node_install(&node->base, hf_span_ms(INSTALL_MS_MAX), now);
    hf_mysql_push_ours(node, HF_MYSQL_INSTALL_LOCK, lock_sql, strlen(lock_sql));
    hf_mysql_node_arm(node);
}

void hf_mysql_install_judge(struct hf_mysql_node *node)
{
    struct cut cut = {
        .at = hf_mysql_text_schema, .delimiter = ";", .delimiter_len = 1};
    struct script_line statement;
    bool is_made = node->base.schema >= HF_MYSQL_SCHEMA_VERSION;
    while (!is_made && next_statement(&cut, &statement)) {
        hf_mysql_push_ours(node, HF_MYSQL_INSTALL, statement.at, statement.len);
    }
    hf_mysql_push_ours(node, HF_MYSQL_INSTALLED, unlock_sql,
                       strlen(unlock_sql));
}

static void take_lock(struct hf_mysql_node *node,
                      const struct hf_mysql_reply *reply)
{
    char text[HF_TEXT_SHORT] = "";
    struct hf_sql_row row;
    if (hf_mysql_first(reply, &row)) {
        hf_sql_row_text(&row, 0, text, sizeof(text));
    }
    if (strcmp(text, "1") == 0) {
        hf_mysql_push_ours(node, HF_MYSQL_INSTALL_FACTS, hf_mysql_facts_sql,
                           strlen(hf_mysql_facts_sql));
    } else {
        hf_sql_node_refuse(&node->base, HF_UNAVAILABLE,
                           "its database \"holdfast\" is being made by another "
                           "session, for long");
    }
}

static void fail(struct hf_mysql_node *node, const struct hf_mysql_reply *reply)
{
    char words[HF_TEXT_SENTENCE], why[sizeof(node->base.standing.reason)];
    enum hf_status fault = hf_mysql_fault(reply, words, sizeof(words));
    if (reply->error == ER_DBACCESS_DENIED_ERROR) {
        fault = HF_CONFIG;
        snprintf(why, sizeof(why),
                 "has no database \"holdfast\", and %s may not create it: run "
                 "holdfast doctor --init as an account that may",
                 node->role);
    } else if (reply->error == ER_BINLOG_CREATE_ROUTINE_NEED_SUPER) {
        fault = HF_CONFIG;
        snprintf(why, sizeof(why),
                 "has a binary log, and then lets no account without SUPER "
                 "make functions (error %u): SET GLOBAL "
                 "log_bin_trust_function_creators = 1, or --init with SUPER",
                 reply->error);
    } else if (strstr(reply->text, "NO_ENGINE_SUBSTITUTION") != NULL ||
               reply->error == DISABLED_STORAGE_ENGINE) {
        fault = HF_CONFIG;
        snprintf(why, sizeof(why),
                 "lets no table be in memory (error %u), which shows a "
                 "restart: %s",
                 reply->error,
                 node->is_mariadb
                     ? "SET GLOBAL enforce_storage_engine = NULL, and set it "
                       "again after doctor --init"
                     : "take MEMORY out of disabled_storage_engines");
    } else {
        snprintf(why, sizeof(why),
                 "its database \"holdfast\" cannot be made: "
                 "%.140s",
                 words);
    }
    hf_sql_node_refuse(&node->base, fault, why);
}

void hf_mysql_installed(struct hf_mysql_node *node,
                        const struct hf_mysql_request *request,
                        const struct hf_mysql_reply *reply,
                        struct hf_instant now)
{
    if (reply->error != 0) {
        fail(node, reply);
    } else if (request->kind == HF_MYSQL_INSTALL_LOCK) {
        take_lock(node, reply);
    } else if (request->kind == HF_MYSQL_INSTALLED) {
        hf_mysql_handshake(node, now);
    }
}
