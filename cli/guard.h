/* SPDX-License-Identifier: Apache-2.0 */
/* Guards: texts that make a database refuse stale fences (cli/guard/). */
#ifndef CLI_GUARD_H
#define CLI_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* The files of cli/guard/, byte for byte (cmake/embed_text.cmake). */
extern const char cli_guard_postgres[];
extern const char cli_guard_postgres_table[];
extern const char cli_guard_postgres_reset[];
extern const char cli_guard_postgres_state[];
extern const char cli_guard_postgres_table_state[];
extern const char cli_guard_mysql[];
extern const char cli_guard_mysql_table[];
extern const char cli_guard_mysql_reset[];
extern const char cli_guard_mysql_state[];
extern const char cli_guard_mysql_table_state[];
extern const char cli_guard_sqlite[];
extern const char cli_guard_sqlite_newer[];
extern const char cli_guard_sqlite_table[];
extern const char cli_guard_sqlite_reset[];
extern const char cli_guard_sqlite_state[];
extern const char cli_guard_sqlite_table_state[];
extern const char cli_guard_redis[];
extern const char cli_guard_redis_reset[];

/* The SHA-1 of the scripts, by which Redis calls them. */
extern const char cli_guard_redis_sha1[];
extern const char cli_guard_redis_reset_sha1[];

enum cli_guard_quoting {
    CLI_GUARD_E_STRINGS,         /* 'it''s', E'back\\slash' */
    CLI_GUARD_PLAIN_STRINGS,     /* 'it''s', 'back\slash' */
    CLI_GUARD_BACKSLASH_STRINGS, /* MySQL: 'it''s', 'back\\slash', X'00FF',
                                  * `identifier` */
    CLI_GUARD_LUA_STRINGS        /* 'it\039s', any bytes */
};

struct cli_guard_program; /* guard_client.h */

struct cli_guard {
    const char *name;    /* of the database, as typed */
    const char *product; /* as written in a sentence */
    const char *base;    /* the guard itself */
    const char *newer;   /* after `base`, if `state` says newer=1; or NULL */
    const char *table;   /* the trigger of one table, with places to fill;
                          * NULL: it has none */
    const char *reset;   /* the reset of one name */
    const char *state;   /* prints the installed version: NAME=VALUE lines */
    const char *table_state; /* the same of a table */
    const struct cli_guard_program *client;
    int version;     /* of these texts, as `state` prints it */
    const char *use; /* one line on how to use it, once installed */
    enum cli_guard_quoting quoting;
    bool is_half_way;    /* each statement is a transaction */
    bool has_schemas;    /* a table may be SCHEMA.TABLE */
    bool has_byte_names; /* a lock's name need not be UTF-8 */
};

/* Ended by one without a name. */
extern const struct cli_guard cli_guards[];

struct cli_args;
struct cli_out;

/* Are the braces of this --lock columns? */
bool cli_guard_is_lock(const char *lock);

/* Write one of the guard's texts, filled in. */
void cli_guard_put(struct cli_out *out, const struct cli_guard *guard,
                   const struct cli_args *args, const char *text);

/* Install the guard, and the trigger of args->table if there is one, with the
 * database's client program. The second word is the server: a password in it
 * is overwritten. @return the exit code. */
int cli_guard_install(const struct cli_guard *guard, struct cli_args *args);

#endif
