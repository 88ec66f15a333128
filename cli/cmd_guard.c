/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast guard: print what makes a database refuse stale fences.
 *
 * The texts are files of cli/guard/. Words in capitals between two @ are
 * filled in: a table, a name, and the parts of a row's lock name. */
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
    },
    {.name = NULL},
};

static const struct cli_opt opts[] = {
    {.name = "table",
     .kind = CLI_OPT_TEXT,
     .offset = offsetof(struct cli_args, table),
     .meta = "TABLE",
     .help = "print the trigger of this table instead: each\n"
             "write of a row must present a fence. TABLE or\n"
             "SCHEMA.TABLE, as the catalogue spells it"},
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
    cli_out_bytes(out, &quote, 1);
    for (size_t i = 0; i < len; i++) {
        cli_out_bytes(out, &text[i], 1);
        if (text[i] == quote) {
            cli_out_bytes(out, &quote, 1);
        }
    }
    cli_out_bytes(out, &quote, 1);
}

/* A backslash means itself only while standard_conforming_strings is on, so it
 * is written as E'\\', which does not depend on that. */
static void put_literal(struct cli_out *out, const char *text, size_t len)
{
    if (memchr(text, '\\', len) == NULL) {
        put_doubled(out, text, len, '\'');
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

/* "TABLE", or "SCHEMA"."TABLE". */
static void put_table(struct cli_out *out, const char *table)
{
    size_t len = strcspn(table, ".");
    put_doubled(out, table, len, '"');
    if (table[len] == '.') {
        cli_out_text(out, ".");
        put_doubled(out, table + len + 1, strlen(table + len + 1), '"');
    }
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

/* The arguments of the trigger: 'fence', 'account-', 'id'. */
static void put_arguments(struct cli_out *out, const struct cli_args *args)
{
    const char *next = args->lock_of_row;
    const char *fence = args->column != NULL ? args->column : FENCE_COLUMN;
    struct part part;
    put_literal(out, fence, strlen(fence));
    while (next_part(&next, &part)) {
        cli_out_text(out, ", ");
        put_literal(out, part.text, part.text_len);
        if (part.column_len > 0) {
            cli_out_text(out, ", ");
            put_literal(out, part.column, part.column_len);
        }
    }
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
static int check_text(const char *option, const char *value)
{
    if (value != NULL && value[0] == '\0') {
        return refuse(option, NULL, "must not be empty");
    }
    if (value != NULL && !is_utf8(value)) {
        return refuse(option, value,
                      "must be UTF-8, since the database holds it as text");
    }
    return 0;
}

static int check_table(const char *table)
{
    const char *dot = strchr(table, '.');
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

static int check_together(const struct cli_args *args)
{
    if (args->is_install) {
        return refuse("--install", NULL,
                      "not in this version: holdfast guard postgres | psql -v "
                      "ON_ERROR_STOP=1");
    }
    if (args->table != NULL && args->reset_name != NULL) {
        return refuse("--table", NULL, "excludes --reset");
    }
    if (args->table != NULL && args->lock_of_row == NULL) {
        return refuse("--table", NULL,
                      "needs --lock, the name of a row's lock: --lock "
                      "'account-{id}'");
    }
    if (args->table == NULL &&
        (args->lock_of_row != NULL || args->column != NULL)) {
        return refuse(args->lock_of_row != NULL ? "--lock" : "--column", NULL,
                      "needs --table");
    }
    return 0;
}

static int check(const struct cli_args *args)
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
        code = check_text(texts[i].option, texts[i].value);
    }
    if (code == 0) {
        code = check_together(args);
    }
    if (code == 0 && args->table != NULL) {
        code = check_table(args->table);
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

static void put_place(struct cli_out *out, const char *place, size_t len,
                      const struct cli_args *args)
{
    if (args->reset_name != NULL) {
        put_literal(out, args->reset_name, strlen(args->reset_name));
    } else if (strncmp(place, "TABLE", len) == 0) {
        put_table(out, args->table);
    } else {
        put_arguments(out, args);
    }
}

static void put_filled(struct cli_out *out, const char *text,
                       const struct cli_args *args)
{
    for (;;) {
        size_t len = strcspn(text, "@");
        cli_out_bytes(out, text, len);
        if (text[len] == '\0') {
            return;
        }
        const char *place = text + len + 1;
        len = strcspn(place, "@");
        put_place(out, place, len, args);
        text = place + len + 1;
    }
}

static int print(const struct cli_guard *guard, const struct cli_args *args)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    if (args->reset_name != NULL) {
        put_filled(&out, guard->reset, args);
    } else if (args->table != NULL) {
        put_filled(&out, guard->table, args);
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
    int code = check(args);
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
    .usage = "postgres [--table TABLE --lock TEXT | --reset NAME]",
    .summary = "print what makes a database refuse stale fences",
    .text = "Prints SQL. Install it with the database's own client:\n\n"
            "  holdfast guard postgres | psql -v ON_ERROR_STOP=1 DATABASE\n\n"
            "Then a transaction that begins with SELECT holdfast.fence(NAME, "
            "FENCE) fails if\na larger fence of that name was presented "
            "before. A table can demand it:\n\n"
            "  holdfast guard postgres --table accounts --lock 'account-{id}' "
            "|\n      psql -v ON_ERROR_STOP=1 DATABASE\n",
    .opts = opts,
    .words_max = 1,
    .too_many = "one database at a time",
    .offers = CLI_OFFER_DATABASES,
    .run = run,
};
