/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast guard: print what makes a database refuse stale fences.
 *
 * The texts are files of cli/guard/. Words between two @ are filled in: see
 * places[]. */
#include "cmd.h"

#include "exit_code.h"
#include "guard.h"
#include "message.h"
#include "utf8.h"

#include <string.h>
#include <unistd.h>

#define FENCE_COLUMN "fence"

const struct cli_guard cli_guards[] = {
    {
        .name = "postgres",
        .product = "PostgreSQL",
        .pipe = "psql -v ON_ERROR_STOP=1",
        .base = cli_guard_postgres,
        .table = cli_guard_postgres_table,
        .reset = cli_guard_postgres_reset,
        .quoting = CLI_GUARD_E_STRINGS,
        .has_schemas = true,
    },
    {
        .name = "sqlite",
        .product = "SQLite",
        .pipe = "sqlite3 -bail FILE",
        .base = cli_guard_sqlite,
        .table = cli_guard_sqlite_table,
        .reset = cli_guard_sqlite_reset,
        .quoting = CLI_GUARD_PLAIN_STRINGS,
    },
    {
        .name = "redis",
        .product = "Redis",
        .pipe = "redis-cli -x SCRIPT LOAD",
        .base = cli_guard_redis,
        .reset = cli_guard_redis_reset,
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
             "PostgreSQL also SCHEMA.TABLE, as the catalogue\n"
             "spells it"},
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
     .help = "refused in this version: pipe what is printed\n"
             "to the database's own client"},
    {.name = NULL},
};

/* ---- Quoting ----------------------------------------------------------- */

static void put_doubled(struct cli_out *out, const char *text, size_t len,
                        char quote)
{
    for (size_t i = 0; i < len; i++) {
        cli_out_bytes(out, &text[i], 1);
        if (text[i] == quote) {
            cli_out_bytes(out, &quote, 1);
        }
    }
}

static void put_quoted(struct cli_out *out, const char *text, size_t len,
                       char quote)
{
    cli_out_bytes(out, &quote, 1);
    put_doubled(out, text, len, quote);
    cli_out_bytes(out, &quote, 1);
}

/* Letters, digits and what cannot end the literal stand for themselves. */
static void put_lua(struct cli_out *out, const char *text, size_t len)
{
    cli_out_text(out, "'");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c == '\'' || c == '\\' || c >= 0x7f) {
            const char escape[] = {'\\', (char)('0' + c / 100),
                                   (char)('0' + c / 10 % 10),
                                   (char)('0' + c % 10)};
            cli_out_bytes(out, escape, sizeof(escape));
        } else {
            cli_out_bytes(out, &text[i], 1);
        }
    }
    cli_out_text(out, "'");
}

/* In PostgreSQL a backslash means itself only while
 * standard_conforming_strings is on, so it is written as E'\\', which does not
 * depend on that. */
static void put_literal(struct cli_out *out, enum cli_guard_quoting quoting,
                        const char *text, size_t len)
{
    if (quoting == CLI_GUARD_LUA_STRINGS) {
        put_lua(out, text, len);
        return;
    }
    if (quoting != CLI_GUARD_E_STRINGS || memchr(text, '\\', len) == NULL) {
        put_quoted(out, text, len, '\'');
        return;
    }
    cli_out_text(out, "E'");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' || text[i] == '\'') {
            cli_out_bytes(out, &text[i], 1);
        }
        cli_out_bytes(out, &text[i], 1);
    }
    cli_out_text(out, "'");
}

/* ---- The name of a row's lock ------------------------------------------ */

/* The next text and the column behind it. */
struct part {
    const char *text, *column;
    size_t text_len, column_len; /* no column at the end: 0 */
};

/* `next` is moved behind the part. @return false: no part is left, or a brace
 * has no counterpart; then **next is no NUL. */
static bool next_part(const char **next, struct part *part)
{
    const char *at = *next;
    size_t len = strcspn(at, "{}");
    *part = (struct part){.text = at, .text_len = len};
    if (at[len] == '\0') {
        *next = at + len;
        return len > 0;
    }
    part->column = at + len + 1;
    part->column_len = at[len] == '{' ? strcspn(part->column, "{}") : 0;
    if (part->column_len == 0 || part->column[part->column_len] != '}') {
        return false;
    }
    *next = part->column + part->column_len + 1;
    return true;
}

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

/* "guard: --table NAME: REASON". */
static int refuse(const char *option, const char *value, const char *reason)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out, "guard: ");
    cli_out_text(&out, option);
    if (value != NULL) {
        cli_out_text(&out, " ");
        (void)cli_out_shown(&out, value, strlen(value));
    }
    cli_out_text(&out, ": ");
    cli_out_text(&out, reason);
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* A text that goes into SQL: characters, and not empty. NULL: not given. */
static int check_text(const struct cli_guard *guard, const char *option,
                      const char *value)
{
    if (value != NULL && value[0] == '\0') {
        return refuse(option, NULL, "must not be empty");
    }
    if (value != NULL && guard->quoting != CLI_GUARD_LUA_STRINGS &&
        !is_utf8(value)) {
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
    const char *next = lock;
    struct part part;
    while (next_part(&next, &part)) {
    }
    return *next == '\0'
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

static int refuse_install(const struct cli_guard *guard)
{
    struct cli_out out;
    cli_message_begin(&out);
    cli_out_text(&out,
                 "guard: --install: not in this version: holdfast guard ");
    cli_out_text(&out, guard->name);
    cli_out_text(&out, " | ");
    cli_out_text(&out, guard->pipe);
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* The options that stand for a table. */
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
        code = check_text(guard, texts[i].option, texts[i].value);
    }
    if (code == 0) {
        code = args->is_install ? refuse_install(guard)
                                : check_tables(guard, args);
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

/* ---- Places ------------------------------------------------------------ */

struct fill {
    struct cli_out *out;
    const struct cli_guard *guard;
    const struct cli_args *args;
};

static const char *fence_column(const struct cli_args *args)
{
    return args->column != NULL ? args->column : FENCE_COLUMN;
}

static void put_name(const struct fill *fill, const char *place)
{
    const char *name = fill->args->reset_name;
    (void)place;
    put_literal(fill->out, fill->guard->quoting, name, strlen(name));
}

/* "TABLE", or "SCHEMA"."TABLE". */
static void put_table(const struct fill *fill, const char *place)
{
    const char *table = fill->args->table;
    size_t len = strcspn(table, fill->guard->has_schemas ? "." : "");
    (void)place;
    put_quoted(fill->out, table, len, '"');
    if (table[len] == '.') {
        cli_out_text(fill->out, ".");
        put_quoted(fill->out, table + len + 1, strlen(table + len + 1), '"');
    }
}

static void put_column(const struct fill *fill, const char *place)
{
    const char *column = fence_column(fill->args);
    (void)place;
    put_quoted(fill->out, column, strlen(column), '"');
}

/* The arguments of PostgreSQL's trigger: 'fence', 'account-', 'id'. */
static void put_arguments(const struct fill *fill, const char *place)
{
    enum cli_guard_quoting quoting = fill->guard->quoting;
    const char *next = fill->args->lock_of_row;
    const char *fence = fence_column(fill->args);
    struct part part;
    (void)place;
    put_literal(fill->out, quoting, fence, strlen(fence));
    while (next_part(&next, &part)) {
        cli_out_text(fill->out, ", ");
        put_literal(fill->out, quoting, part.text, part.text_len);
        if (part.column_len > 0) {
            cli_out_text(fill->out, ", ");
            put_literal(fill->out, quoting, part.column, part.column_len);
        }
    }
}

/* NAME_OF_NEW: 'account-' || NEW."id". */
static void put_name_of(const struct fill *fill, const char *place)
{
    const char *row = place + strlen("NAME_OF_");
    const char *next = fill->args->lock_of_row;
    bool is_first = true;
    struct part part;
    while (next_part(&next, &part)) {
        cli_out_text(fill->out, is_first ? "" : " || ");
        put_literal(fill->out, fill->guard->quoting, part.text, part.text_len);
        if (part.column_len > 0) {
            cli_out_text(fill->out, " || ");
            cli_out_bytes(fill->out, row, strcspn(row, "@"));
            cli_out_text(fill->out, ".");
            put_quoted(fill->out, part.column, part.column_len, '"');
        }
        is_first = false;
    }
}

/* Inside of a literal: the parts of a message. */
static void put_text(const struct fill *fill, const char *place)
{
    const char *text = place[0] == 'T'   ? fill->args->table
                       : place[0] == 'L' ? fill->args->lock_of_row
                                         : fence_column(fill->args);
    put_doubled(fill->out, text, strlen(text), '\'');
}

/* holdfast_insert_: "holdfast_insert_accounts". */
static void put_prefixed(const struct fill *fill, const char *place)
{
    const char *table = fill->args->table;
    cli_out_text(fill->out, "\"");
    cli_out_bytes(fill->out, place, strcspn(place, "@"));
    put_doubled(fill->out, table, strlen(table), '"');
    cli_out_text(fill->out, "\"");
}

static const struct {
    const char *start; /* of the word */
    void (*put)(const struct fill *fill, const char *place);
} places[] = {
    {"NAME@", put_name},         {"NAME_OF_", put_name_of},
    {"TABLE@", put_table},       {"TABLE_TEXT@", put_text},
    {"COLUMN@", put_column},     {"COLUMN_TEXT@", put_text},
    {"LOCK_TEXT@", put_text},    {"ARGUMENTS@", put_arguments},
    {"holdfast_", put_prefixed},
};

static void put_place(const struct fill *fill, const char *place)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (strncmp(place, places[i].start, strlen(places[i].start)) == 0) {
            places[i].put(fill, place);
            return;
        }
    }
}

static void put_filled(const struct fill *fill, const char *text)
{
    for (;;) {
        size_t len = strcspn(text, "@");
        cli_out_bytes(fill->out, text, len);
        if (text[len] == '\0') {
            return;
        }
        const char *place = text + len + 1;
        put_place(fill, place);
        text = place + strcspn(place, "@") + 1;
    }
}

/* ---- Output ------------------------------------------------------------ */

static int print(const struct cli_guard *guard, const struct cli_args *args)
{
    struct cli_out out;
    const struct fill fill = {.out = &out, .guard = guard, .args = args};
    cli_out_init(&out, STDOUT_FILENO);
    if (args->reset_name != NULL) {
        put_filled(&fill, guard->reset);
    } else if (args->table != NULL) {
        put_filled(&fill, guard->table);
    } else {
        cli_out_text(&out, guard->base);
    }
    return cli_out_flush(&out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
}

/* Behind the text, so that it is the last line on a terminal. */
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
    .usage = "DATABASE [--table TABLE --lock TEXT | --reset NAME]",
    .summary = "print what makes a database refuse stale fences",
    .text = "Prints SQL, for Redis Lua. Install it with the database's own "
            "client:\n\n"
            "  holdfast guard postgres | psql -v ON_ERROR_STOP=1 DATABASE\n"
            "  holdfast guard sqlite | sqlite3 -bail FILE\n"
            "  SHA=$(holdfast guard redis | redis-cli -x SCRIPT LOAD)\n\n"
            "Then a transaction that begins with SELECT holdfast.fence(NAME, "
            "FENCE), or in\nSQLite with INSERT INTO holdfast_fence (name, "
            "fence) VALUES (NAME, FENCE), fails\nif a larger fence of that "
            "name was presented before. In Redis\nthe script itself writes:\n\n"
            "  redis-cli EVALSHA $SHA 1 KEY NAME FENCE SET VALUE\n\n"
            "A table can demand it:\n\n"
            "  holdfast guard postgres --table accounts --lock 'account-{id}' "
            "|\n      psql -v ON_ERROR_STOP=1 DATABASE\n",
    .opts = opts,
    .words_max = 1,
    .too_many = "one database at a time",
    .offers = CLI_OFFER_DATABASES,
    .run = run,
};
