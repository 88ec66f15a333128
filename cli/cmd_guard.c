/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast guard: print the text that makes a database refuse stale fences, or
 * install it (guard_install.c).
 *
 * The texts are files of cli/guard/; guard_text.c fills them in. */
#include "cmd.h"

#include "exit_code.h"
#include "guard.h"
#include "guard_address.h"
#include "guard_client.h"
#include "message.h"
#include "utf8.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

const struct cli_guard cli_guards[] = {
    {
        .name = "postgres",
        .product = "PostgreSQL",
        .base = cli_guard_postgres,
        .table = cli_guard_postgres_table,
        .reset = cli_guard_postgres_reset,
        .state = cli_guard_postgres_state,
        .table_state = cli_guard_postgres_table_state,
        .client = &cli_guard_psql,
        .version = 3,
        .use = "SELECT holdfast.fence(NAME, FENCE) in the transaction that "
               "writes; its role needs GRANT USAGE ON SCHEMA holdfast",
        .quoting = CLI_GUARD_E_STRINGS,
        .has_schemas = true,
    },
    {
        .name = "mysql",
        .product = "MySQL",
        .base = cli_guard_mysql,
        .table = cli_guard_mysql_table,
        .reset = cli_guard_mysql_reset,
        .state = cli_guard_mysql_state,
        .table_state = cli_guard_mysql_table_state,
        .client = &cli_guard_mariadb,
        .version = 2,
        .use = "CALL holdfast.fence(NAME, FENCE) behind START TRANSACTION; its "
               "user needs GRANT EXECUTE ON PROCEDURE holdfast.fence",
        .quoting = CLI_GUARD_BACKSLASH_STRINGS,
        .is_half_way = true,
        .has_schemas = true,
        .has_byte_names = true,
    },
    {
        .name = "sqlite",
        .product = "SQLite",
        .base = cli_guard_sqlite,
        .newer = cli_guard_sqlite_newer,
        .table = cli_guard_sqlite_table,
        .reset = cli_guard_sqlite_reset,
        .state = cli_guard_sqlite_state,
        .table_state = cli_guard_sqlite_table_state,
        .client = &cli_guard_sqlite3,
        .version = 2,
        .use = "INSERT INTO holdfast_fence (name, fence) VALUES (NAME, FENCE) "
               "behind BEGIN IMMEDIATE",
        .quoting = CLI_GUARD_PLAIN_STRINGS,
    },
    {
        .name = "redis",
        .product = "Redis",
        .base = cli_guard_redis,
        .reset = cli_guard_redis_reset,
        .client = &cli_guard_redis_cli,
        .quoting = CLI_GUARD_LUA_STRINGS,
    },
    {.name = NULL},
};

static const struct cli_opt opts[] = {
    {.name = "table",
     .kind = CLI_OPT_TEXT,
     .offset = offsetof(struct cli_args, table),
     .meta = "TABLE",
     .help = "print the trigger of this table instead: each\n"
             "write of a row must present a fence. TABLE, in\n"
             "PostgreSQL and MySQL also SCHEMA.TABLE, as the\n"
             "catalogue spells it"},
    {.name = "lock",
     .kind = CLI_OPT_TEXT,
     .offset = offsetof(struct cli_args, lock_of_row),
     .meta = "TEXT",
     .help = "with --table: the name of a row's lock; a\n"
             "column stands in braces: 'account-{id}'"},
    {.name = "column",
     .kind = CLI_OPT_TEXT,
     .offset = offsetof(struct cli_args, column),
     .meta = "COLUMN",
     .help = "with --table: the column that hands the fence\n"
             "over; default: fence"},
    {.name = "reset",
     .kind = CLI_OPT_TEXT,
     .offset = offsetof(struct cli_args, reset_name),
     .meta = "NAME",
     .help = "print the reset of this lock instead: after it\n"
             "any fence passes, a former holder's too"},
    {.name = "install",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_install),
     .help = "install it with the database's own client\n"
             "program: in the database SERVER (a URL, for\n"
             "SQLite a file), else in that program's default"},
    {.name = NULL},
};

/* ---- Arguments --------------------------------------------------------- */

static bool is_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);
    while (left > 0) {
        size_t n = cli_utf8_len(p, left);
        if (n == 0) {
            return false;
        }
        p += n;
        left -= n;
    }
    return true;
}

static int refuse(const char *option, const char *value, const char *reason)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "guard: ");
    (void)cli_out_shown(&out, option, strlen(option));
    if (value != NULL) {
        cli_out_text(&out, " ");
        (void)cli_out_shown(&out, value, strlen(value));
    }
    cli_out_text(&out, ": ");
    cli_out_text(&out, reason);
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* Names of MySQL's guard are bytes, all else that goes into SQL is text. */
static bool must_be_text(const struct cli_guard *guard,
                         const struct cli_args *args, const char *value)
{
    return guard->quoting != CLI_GUARD_LUA_STRINGS &&
           !(guard->has_byte_names && value == args->reset_name);
}

/* NULL, which is none given, is well. */
static int check_text(const char *option, const char *value, bool is_bytes)
{
    if (value != NULL && value[0] == '\0') {
        return refuse(option, NULL, "must not be empty");
    }
    if (value != NULL && !is_bytes && !is_utf8(value)) {
        return refuse(option, value,
                      "must be UTF-8, since the database holds it as text");
    }
    return 0;
}

static int check_table(const struct cli_guard *guard, const char *table)
{
    const char *dot = strchr(table, '.');
    if (!guard->has_schemas) {
        return dot == NULL ? 0
                           : refuse("--table", table,
                                    "must be TABLE: the guard covers the main "
                                    "database of the file");
    }
    bool is_whole = dot == NULL || (dot != table && dot[1] != '\0' &&
                                    strchr(dot + 1, '.') == NULL);
    return is_whole ? 0
                    : refuse("--table", table, "must be TABLE or SCHEMA.TABLE");
}

static int check_lock(const char *lock)
{
    return cli_guard_is_lock(lock)
               ? 0
               : refuse("--lock", lock,
                        "braces must hold a column, as in account-{id}");
}

static int check_name(const char *name)
{
    size_t len = strlen(name);
    return len <= HF_NAME_MAX + strlen("#255")
               ? 0
               : refuse("--reset", NULL,
                        "a name has 1 to 1024 bytes, that of a permit #N "
                        "behind it");
}

static int check_install(const struct cli_args *args)
{
    if (!args->is_install && args->n_words > 1) {
        cli_guard_hide((char *)(uintptr_t)args->words[1]);
        return refuse(args->words[1], NULL, "only with --install");
    }
    if (args->is_install && args->reset_name != NULL) {
        return refuse("--install", NULL,
                      "excludes --reset: stop all writers, then pipe the "
                      "output of --reset to the database's client");
    }
    return 0;
}

/* --lock or --column without a table would protect nothing: refused, not
 * ignored. */
static int check_tables(const struct cli_guard *guard,
                        const struct cli_args *args)
{
    const char *first = args->table != NULL         ? "--table"
                        : args->lock_of_row != NULL ? "--lock"
                        : args->column != NULL      ? "--column"
                                                    : NULL;
    if (first == NULL) {
        return 0;
    }
    if (guard->table == NULL) {
        return refuse(first, NULL, "Redis has no tables: write by the script");
    }
    if (args->table == NULL) {
        return refuse(first, NULL, "needs --table");
    }
    if (args->reset_name != NULL) {
        return refuse("--table", NULL, "excludes --reset");
    }
    return args->lock_of_row != NULL
               ? 0
               : refuse("--table", NULL,
                        "needs --lock, the name of a row's lock: --lock "
                        "'account-{id}'");
}

static int check(const struct cli_guard *guard, const struct cli_args *args)
{
    const struct {
        const char *option, *value;
    } texts[] = {
        {"--table", args->table},
        {"--lock", args->lock_of_row},
        {"--column", args->column},
        {"--reset", args->reset_name},
    };
    int code = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && code == 0; i++) {
        code = check_text(texts[i].option, texts[i].value,
                          !must_be_text(guard, args, texts[i].value));
    }
    if (code == 0) {
        code = check_install(args);
    }
    if (code == 0) {
        code = check_tables(guard, args);
    }
    if (code == 0 && args->table != NULL) {
        code = check_table(guard, args->table);
    }
    if (code == 0 && args->lock_of_row != NULL) {
        code = check_lock(args->lock_of_row);
    }
    if (code == 0 && args->reset_name != NULL) {
        code = check_name(args->reset_name);
    }
    return code;
}

/* ---- Output ------------------------------------------------------------ */

static int print(const struct cli_guard *guard, const struct cli_args *args)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    if (args->reset_name != NULL) {
        cli_guard_put(&out, guard, args, guard->reset);
    } else if (args->table != NULL) {
        cli_guard_put(&out, guard, args, guard->table);
    } else {
        cli_out_text(&out, guard->base);
    }
    return cli_out_flush(&out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
}

/* After the text, so that it is the last line on a terminal. */
static void warn_of_reset(const struct cli_guard *guard,
                          const struct cli_args *args)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "guard: after this reset ");
    cli_out_text(&out, guard->product);
    cli_out_text(&out, " accepts any fence of ");
    (void)cli_out_shown(&out, args->reset_name, strlen(args->reset_name));
    cli_out_text(&out, ", a former holder's too: stop all its writers before");
    (void)cli_message_end(&out, 0);
}

static int say_which(const char *word)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "guard: ");
    if (word == NULL) {
        cli_out_text(&out, "which database? This version has: ");
    } else {
        cli_guard_hide((char *)(uintptr_t)word);
        cli_out_text(&out, "no guard for ");
        (void)cli_out_shown(&out, word, strlen(word));
        cli_out_text(&out, " in this version; it has: ");
    }
    for (size_t i = 0; cli_guards[i].name != NULL; i++) {
        cli_out_text(&out, i > 0 ? ", " : "");
        cli_out_text(&out, cli_guards[i].name);
    }
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

static int run(struct cli_args *args)
{
    const struct cli_guard *guard = cli_guards;
    if (args->n_words == 0) {
        return say_which(NULL);
    }
    while (guard->name != NULL && strcmp(guard->name, args->words[0]) != 0) {
        guard++;
    }
    if (guard->name == NULL) {
        return say_which(args->words[0]);
    }
    int code = check(guard, args);
    if (code == 0 && args->is_install) {
        return cli_guard_install(guard, args);
    }
    if (code == 0) {
        code = print(guard, args);
    }
    if (code == 0 && args->reset_name != NULL && !args->is_quiet) {
        warn_of_reset(guard, args);
    }
    return code;
}

const struct cli_cmd cli_cmd_guard = {
    .name = "guard",
    .usage = "DATABASE [--install [SERVER]] [OPTIONS]",
    .summary = "make a database refuse stale fences",
    .text =
        "Prints SQL, for Redis Lua, to read it or to pipe it to the "
        "database's client.\n--install installs it:\n\n"
        "  holdfast guard postgres --install postgres://USER@HOST/DATABASE\n"
        "  holdfast guard mysql --install mysql://USER@HOST\n"
        "  holdfast guard sqlite --install FILE\n"
        "  SHA=$(holdfast guard redis --install redis://HOST)\n\n"
        "Then a transaction that begins with SELECT holdfast.fence(NAME, "
        "FENCE), in\nMariaDB and MySQL with CALL holdfast.fence(NAME, FENCE), "
        "or in SQLite with\nINSERT INTO holdfast_fence (name, fence) VALUES "
        "(NAME, FENCE), fails if a larger\nfence of that name was presented "
        "before. In Redis the script itself writes:\n\n"
        "  redis-cli EVALSHA $SHA 1 KEY NAME FENCE SET VALUE\n\n"
        "A table can demand it:\n\n"
        "  holdfast guard postgres --install DATABASE \\\n"
        "      --table accounts --lock 'account-{id}'\n",
    .opts = opts,
    .words_max = 2,
    .too_many = "one database at a time",
    .offers = CLI_OFFER_DATABASES,
    .run = run,
};
