/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of holdfast guard, with names, tables and columns filled in.
 *
 * Words between two @ are placeholders: see placeholders[]. */
#include "guard.h"

#include "args.h"
#include "out.h"

#include <string.h>

#define FENCE_COLUMN "fence"

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

/* Letters, digits and marks that cannot end the literal stand for themselves.
 */
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

static void put_backslashed(struct cli_out *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' || text[i] == '\'') {
            cli_out_bytes(out, &text[i], 1);
        }
        cli_out_bytes(out, &text[i], 1);
    }
}

/* X'...' for other bytes than printable ones: they must not depend on the
 * session's character set. */
static void put_bytes(struct cli_out *out, const char *text, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    bool is_plain = true;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        is_plain = is_plain && c >= ' ' && c < 0x7f && c != '\'' && c != '\\';
    }
    if (is_plain) {
        put_quoted(out, text, len, '\'');
        return;
    }
    cli_out_text(out, "X'");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        const char pair[] = {digits[c >> 4], digits[c & 15]};
        cli_out_bytes(out, pair, sizeof(pair));
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
    if (quoting == CLI_GUARD_BACKSLASH_STRINGS) {
        put_bytes(out, text, len);
        return;
    }
    if (quoting != CLI_GUARD_E_STRINGS || memchr(text, '\\', len) == NULL) {
        put_quoted(out, text, len, '\'');
        return;
    }
    cli_out_text(out, "E'");
    put_backslashed(out, text, len);
    cli_out_text(out, "'");
}

/* "accounts", in MySQL `accounts`. */
static void put_identifier(struct cli_out *out, const struct cli_guard *guard,
                           const char *text, size_t len)
{
    put_quoted(out, text, len,
               guard->quoting == CLI_GUARD_BACKSLASH_STRINGS ? '`' : '"');
}

/* ---- The name of a row's lock ------------------------------------------ */

struct part {
    const char *text, *column;
    size_t text_len, column_len; /* no column at the end: 0 */
};

/* `next` is moved past the part. @return false: no part is left, or a brace
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

bool cli_guard_is_lock(const char *lock)
{
    const char *next = lock;
    struct part part;
    while (next_part(&next, &part)) {
    }
    return *next == '\0';
}

/* ---- Placeholders ------------------------------------------------------ */

struct fill {
    struct cli_out *out;
    const struct cli_guard *guard;
    const struct cli_args *args;
};

static const char *fence_column(const struct cli_args *args)
{
    return args->column != NULL ? args->column : FENCE_COLUMN;
}

static void put_name(const struct fill *fill, const char *word)
{
    const char *name = fill->args->reset_name;
    (void)word;
    put_literal(fill->out, fill->guard->quoting, name, strlen(name));
}

/* SQLite's guard takes no SCHEMA.TABLE: there a dot is part of the name.
 * 0: none. */
static size_t schema_len(const struct fill *fill)
{
    const char *table = fill->args->table;
    const char *dot = fill->guard->has_schemas ? strchr(table, '.') : NULL;
    return dot == NULL ? 0 : (size_t)(dot - table);
}

static const char *bare_table(const struct fill *fill)
{
    size_t len = schema_len(fill);
    return fill->args->table + (len > 0 ? len + 1 : 0);
}

static void put_schema(const struct fill *fill)
{
    size_t len = schema_len(fill);
    if (len > 0) {
        put_identifier(fill->out, fill->guard, fill->args->table, len);
        cli_out_text(fill->out, ".");
    }
}

static void put_table(const struct fill *fill, const char *word)
{
    const char *table = bare_table(fill);
    (void)word;
    put_schema(fill);
    put_identifier(fill->out, fill->guard, table, strlen(table));
}

static void put_column(const struct fill *fill, const char *word)
{
    const char *column = fence_column(fill->args);
    (void)word;
    put_identifier(fill->out, fill->guard, column, strlen(column));
}

/* The arguments of PostgreSQL's trigger: 'fence', 'account-', 'id'. */
static void put_arguments(const struct fill *fill, const char *word)
{
    enum cli_guard_quoting quoting = fill->guard->quoting;
    const char *next = fill->args->lock_of_row;
    const char *fence = fence_column(fill->args);
    struct part part;
    (void)word;
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

/* NEW."id". In MySQL its bytes in UTF-8: CONCAT() would decide by the session's
 * character set. As bytes: MariaDB 11 does not mix the collation of its UTF-8
 * with the column's. */
static void put_column_of(const struct fill *fill, const char *row,
                          const struct part *part)
{
    bool is_mysql = fill->guard->quoting == CLI_GUARD_BACKSLASH_STRINGS;
    static const char *const before[] = {"IF(CHARSET(", ") = 'binary', ",
                                         ", CAST(CONVERT("};
    for (size_t i = 0; i < (is_mysql ? 3 : 1); i++) {
        cli_out_text(fill->out, is_mysql ? before[i] : "");
        cli_out_bytes(fill->out, row, strcspn(row, "@"));
        cli_out_text(fill->out, ".");
        put_identifier(fill->out, fill->guard, part->column, part->column_len);
    }
    cli_out_text(fill->out, is_mysql ? " USING utf8mb4) AS BINARY))" : "");
}

/* NAME_OF_NEW: 'account-' || NEW."id"; in MySQL CONCAT('account-', ...). */
static void put_name_of(const struct fill *fill, const char *word)
{
    const char *row = word + strlen("NAME_OF_");
    const char *next = fill->args->lock_of_row;
    bool is_mysql = fill->guard->quoting == CLI_GUARD_BACKSLASH_STRINGS;
    const char *joint = is_mysql ? ", " : " || ";
    const char *before = is_mysql ? "CONCAT(" : "";
    struct part part;
    while (next_part(&next, &part)) {
        cli_out_text(fill->out, before);
        put_literal(fill->out, fill->guard->quoting, part.text, part.text_len);
        if (part.column_len > 0) {
            cli_out_text(fill->out, joint);
            put_column_of(fill, row, &part);
        }
        before = joint;
    }
    cli_out_text(fill->out, is_mysql ? ")" : "");
}

/* The words stand inside of a message's literal: they are escaped for it, and
 * get no quotes of their own. */
static void put_text(const struct fill *fill, const char *word)
{
    const char *text = word[0] == 'T'   ? bare_table(fill)
                       : word[0] == 'L' ? fill->args->lock_of_row
                                        : fence_column(fill->args);
    if (fill->guard->quoting == CLI_GUARD_BACKSLASH_STRINGS) {
        put_backslashed(fill->out, text, strlen(text));
    } else {
        put_doubled(fill->out, text, strlen(text), '\'');
    }
}

static void put_at(const struct fill *fill, const char *word)
{
    (void)word;
    cli_out_text(fill->out, "@");
}

/* The table's schema as text: 'SCHEMA', or an expression. */
static void put_schema_text(const struct fill *fill, const char *word)
{
    size_t len = schema_len(fill);
    (void)word;
    bool is_mysql = fill->guard->quoting == CLI_GUARD_BACKSLASH_STRINGS;
    if (len == 0) {
        cli_out_text(fill->out, is_mysql ? "DATABASE()" : "NULL");
        return;
    }
    if (!is_mysql) {
        put_literal(fill->out, fill->guard->quoting, fill->args->table, len);
        return;
    }
    cli_out_text(fill->out, "'");
    put_backslashed(fill->out, fill->args->table, len);
    cli_out_text(fill->out, "'");
}

/* holdfast_insert_: "holdfast_insert_accounts", with the table's schema. */
static void put_prefixed(const struct fill *fill, const char *word)
{
    const char *table = bare_table(fill);
    char quote =
        fill->guard->quoting == CLI_GUARD_BACKSLASH_STRINGS ? '`' : '"';
    put_schema(fill);
    cli_out_bytes(fill->out, &quote, 1);
    cli_out_bytes(fill->out, word, strcspn(word, "@"));
    put_doubled(fill->out, table, strlen(table), quote);
    cli_out_bytes(fill->out, &quote, 1);
}

static const struct {
    const char *start; /* of the word */
    void (*put)(const struct fill *fill, const char *word);
} placeholders[] = {
    {"NAME@", put_name},
    {"NAME_OF_", put_name_of},
    {"TABLE@", put_table},
    {"TABLE_TEXT@", put_text},
    {"COLUMN@", put_column},
    {"COLUMN_TEXT@", put_text},
    {"LOCK_TEXT@", put_text},
    {"ARGUMENTS@", put_arguments},
    {"holdfast_", put_prefixed},
    {"SCHEMA_TEXT@", put_schema_text},
    {"AT@", put_at},
};

static void put_placeholder(const struct fill *fill, const char *word)
{
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]);
         i++) {
        if (strncmp(word, placeholders[i].start,
                    strlen(placeholders[i].start)) == 0) {
            placeholders[i].put(fill, word);
            return;
        }
    }
}

void cli_guard_put(struct cli_out *out, const struct cli_guard *guard,
                   const struct cli_args *args, const char *text)
{
    const struct fill fill = {.out = out, .guard = guard, .args = args};
    for (;;) {
        size_t len = strcspn(text, "@");
        cli_out_bytes(out, text, len);
        if (text[len] == '\0') {
            return;
        }
        const char *word = text + len + 1;
        put_placeholder(&fill, word);
        text = word + strcspn(word, "@") + 1;
    }
}
