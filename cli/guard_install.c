/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast guard --install: run the guard's texts with the database's own
 * client program.
 *
 * First it reads the installed version (cli/guard/DATABASE_state.sql), and
 * refuses a newer guard. It runs the text unless this version is whole there,
 * then that of the table, and asks again: it reports the version in the
 * database.
 *
 * A text ends whole or changes nothing, in PostgreSQL and SQLite by its own
 * transaction. In MySQL each statement is one, so the texts leave a mark, and
 * close the table, until their last statements.
 *
 * Cost: a run of the client program, and so a connection, for each of these:
 * the version before, the texts, the version after. Nothing is left running. */
#include "guard_install.h"

#include "exit_code.h"
#include "message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a text with its places filled in: the longest in cli/guard/, with
 * the one of the table, has 20 KiB, and each place is a name of some words. */
#define TEXT_ROOM 65536

/* In place of a version: the database has no guard. 0: one without a number. */
#define NOT_INSTALLED (-1)

/* Lines of NAME=VALUE: pointers into `text`. */
struct state {
    char *text; /* of malloc(); NULL: no memory */
    int version;
    bool is_whole;
    bool is_newer;           /* the program can run guard->newer */
    const char *note;        /* what the guard there also means, or "" */
    const char *missing;     /* the GRANT without which it would fail, or "" */
    const char *grant;       /* that may have been missing, or "" */
    const char *table_grant; /* the same for the table */
    const char *triggers;
    const char *taken; /* the table that has triggers of these names, or "" */
};

void cli_guard_install_begin(struct cli_out *out, const struct cli_guard *guard)
{
    cli_message_begin(out);
    cli_out_text(out, "guard: ");
    cli_out_text(out, guard->product);
    cli_out_text(out, ": ");
}

int cli_guard_install_fail(const struct cli_guard_client *client,
                           const char *remedy)
{
    struct cli_out out;
    cli_guard_install_begin(&out, client->guard);
    cli_out_plain(&out, client->error);
    remedy = remedy != NULL ? remedy : client->remedy;
    if (remedy != NULL && remedy[0] != '\0') {
        cli_out_text(&out, "; ");
        cli_out_plain(&out, remedy);
    }
    return cli_message_end(&out, client->code);
}

/* ---- Texts ------------------------------------------------------------- */

/* In one call of the client program: either text may be NULL. */
static bool run_texts(struct cli_guard_client *client,
                      const struct cli_args *args, const char *plain,
                      const char *filled)
{
    static char text[TEXT_ROOM];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    if (plain != NULL) {
        cli_out_text(&out, plain);
    }
    if (filled != NULL) {
        cli_guard_put(&out, client->guard, args, filled);
    }
    if (strlen(text) + 1 >= sizeof(text)) {
        (void)strcpy(client->error, "the names are too long");
        client->code = CLI_EXIT_USAGE;
        client->remedy = NULL;
        return false;
    }
    return cli_guard_client_run(client, text, strlen(text));
}

/* ---- The installed version --------------------------------------------- */

static const char *value_of(char *line, const char *name)
{
    size_t len = strlen(name);
    bool is_it = strncmp(line, name, len) == 0 && line[len] == '=';
    return is_it ? line + len + 1 : NULL;
}

static void read_line(struct state *state, char *line)
{
    const struct {
        const char *name;
        const char **value;
    } texts[] = {
        {"note", &state->note},         {"missing", &state->missing},
        {"grant", &state->grant},       {"table_grant", &state->table_grant},
        {"triggers", &state->triggers}, {"taken", &state->taken},
    };
    const char *value = value_of(line, "version");
    if (value != NULL && value[0] != '\0') {
        state->version = (int)strtol(value, NULL, 10);
    }
    value = value_of(line, "whole");
    state->is_whole |= value != NULL && value[0] == '1';
    value = value_of(line, "newer");
    state->is_newer |= value != NULL && value[0] == '1';
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        value = value_of(line, texts[i].name);
        *texts[i].value = value != NULL ? value : *texts[i].value;
    }
}

/* @return 0 or the exit code. */
static int read_state(struct cli_guard_client *client,
                      const struct cli_args *args, struct state *state)
{
    const struct cli_guard *guard = client->guard;
    *state = (struct state){.version = NOT_INSTALLED,
                            .note = "",
                            .missing = "",
                            .grant = "",
                            .table_grant = "",
                            .triggers = "",
                            .taken = ""};
    if (!run_texts(client, args, guard->state,
                   args->table != NULL ? guard->table_state : NULL)) {
        return cli_guard_install_fail(client, NULL);
    }
    state->text = strdup(client->out);
    if (state->text == NULL) {
        return cli_message(CLI_EXIT_INTERNAL, "guard", "out of memory");
    }
    char *rest = NULL;
    for (char *line = strtok_r(state->text, "\r\n", &rest); line != NULL;
         line = strtok_r(NULL, "\r\n", &rest)) {
        read_line(state, line);
    }
    return 0;
}

/* ---- Messages ---------------------------------------------------------- */

static int refuse_newer(const struct cli_guard *guard, int version)
{
    struct cli_out out;
    cli_guard_install_begin(&out, guard);
    cli_out_text(&out, "has version ");
    cli_out_int(&out, version);
    cli_out_text(&out, " of the guard, and this holdfast version ");
    cli_out_int(&out, guard->version);
    cli_out_text(&out, ": nothing was changed; use a newer holdfast");
    return cli_message_end(&out, CLI_EXIT_CONFIG);
}

static int refuse_missing(const struct cli_guard *guard, const char *grant)
{
    struct cli_out out;
    cli_guard_install_begin(&out, guard);
    cli_out_text(&out, "this role may not install the guard: ");
    cli_out_plain(&out, grant);
    return cli_message_end(&out, CLI_EXIT_DENIED);
}

/* To replace these triggers would take the guard from the other table. */
static int refuse_taken(const struct cli_guard *guard, const char *table,
                        const char *taken)
{
    struct cli_out out;
    cli_guard_install_begin(&out, guard);
    cli_out_text(&out, "the table ");
    (void)cli_out_shown(&out, taken, strlen(taken));
    cli_out_text(&out, " has the triggers that are named after ");
    (void)cli_out_shown(&out, table, strlen(table));
    cli_out_text(&out, ", as it was renamed: nothing was changed; install "
                       "with --table ");
    (void)cli_out_shown(&out, taken, strlen(taken));
    cli_out_text(&out, ", then drop those triggers, and repeat this");
    return cli_message_end(&out, CLI_EXIT_CONFIG);
}

static void put_version(struct cli_out *out, const struct cli_guard *guard,
                        const struct state *before)
{
    bool is_same = before->version == guard->version && before->is_whole;
    cli_out_text(out, "guard version ");
    cli_out_int(out, guard->version);
    cli_out_text(out, is_same ? " was installed already" : " is installed");
    if (!is_same && before->version >= 0) {
        cli_out_text(out, before->version < guard->version
                              ? ", in place of version "
                              : ", in place of an incomplete version ");
        cli_out_int(out, before->version);
        cli_out_text(out, "; the fences that were presented are kept");
    }
}

static void report(const struct cli_guard *guard, const struct cli_args *args,
                   const struct state *before, const struct state *after)
{
    struct cli_out out;
    bool is_same = before->version == guard->version && before->is_whole;
    if (args->is_quiet) {
        return;
    }
    cli_guard_install_begin(&out, guard);
    put_version(&out, guard, before);
    if (!is_same && after->note[0] != '\0') {
        cli_out_text(&out, "; ");
        cli_out_plain(&out, after->note);
    }
    if (args->table != NULL) {
        cli_out_text(&out, "; the triggers of ");
        (void)cli_out_shown(&out, args->table, strlen(args->table));
        cli_out_text(&out, strcmp(before->triggers, after->triggers) == 0
                               ? " were as they are"
                               : " are installed: each write of a row must "
                                 "present a fence");
    } else if (is_same) {
        cli_out_text(&out, "; nothing was changed");
    } else {
        cli_out_text(&out, ": ");
        cli_out_text(&out, guard->use);
    }
    (void)cli_message_end(&out, 0);
}

/* ---- Installing -------------------------------------------------------- */

/* The database refused the guard itself, or the table. NULL: the error has a
 * remedy of its own. */
static const char *remedy_of(const struct cli_guard_client *client,
                             const struct state *state, bool is_table)
{
    if (client->remedy != NULL) {
        return NULL;
    }
    if (client->code != CLI_EXIT_DENIED) {
        return client->guard->is_half_way
                   ? "it may be half-way: mend this and repeat it"
                   : "nothing was changed";
    }
    bool is_own = !is_table || strstr(client->error, "holdfast") != NULL;
    return is_own ? state->grant : state->table_grant;
}

static int run_install(struct cli_guard_client *client,
                       const struct cli_args *args, const struct state *before)
{
    const struct cli_guard *guard = client->guard;
    struct state after;
    bool is_there = before->version == guard->version && before->is_whole;
    if (before->version > guard->version) {
        return refuse_newer(guard, before->version);
    }
    if (!is_there && before->missing[0] != '\0') {
        return refuse_missing(guard, before->missing);
    }
    if (before->taken[0] != '\0') {
        return refuse_taken(guard, args->table, before->taken);
    }
    if (!is_there && !run_texts(client, args, guard->base,
                                before->is_newer ? guard->newer : NULL)) {
        return cli_guard_install_fail(client, remedy_of(client, before, false));
    }
    if (args->table != NULL && !run_texts(client, args, NULL, guard->table)) {
        return cli_guard_install_fail(client, remedy_of(client, before, true));
    }
    int code = read_state(client, args, &after);
    if (code == 0 && (after.version != guard->version || !after.is_whole)) {
        (void)strcpy(client->error,
                     "was installed, and is not whole: does another program "
                     "change it? Repeat the installation");
        client->code = CLI_EXIT_INTERNAL;
        client->remedy = NULL;
        code = cli_guard_install_fail(client, NULL);
    }
    if (code == 0) {
        report(guard, args, before, &after);
    }
    free(after.text);
    return code;
}

static int install(struct cli_guard_client *client, const struct cli_args *args)
{
    struct state before;
    int code = read_state(client, args, &before);
    if (code == 0) {
        code = run_install(client, args, &before);
    }
    free(before.text);
    return code;
}

int cli_guard_install(const struct cli_guard *guard, struct cli_args *args)
{
    static struct cli_guard_client client;
    char *target = args->n_words > 1 ? (char *)(uintptr_t)args->words[1] : NULL;
    int code = cli_guard_client_init(&client, guard, target);
    if (code == 0) {
        code = guard->state == NULL ? cli_guard_install_redis(&client, args)
                                    : install(&client, args);
    }
    cli_guard_client_fini(&client);
    return code;
}
