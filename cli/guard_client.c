/* SPDX-License-Identifier: Apache-2.0 */
#include "guard_client.h"

#include "exit_code.h"
#include "message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

void cli_guard_client_add(struct cli_guard_client *client, const char *word)
{
    if (client->n_words < CLI_GUARD_WORDS_MAX) {
        client->words[client->n_words++] = (char *)(uintptr_t)word;
    }
}

int cli_guard_client_init(struct cli_guard_client *client,
                          const struct cli_guard *guard, char *target)
{
    const struct cli_guard_program *program = guard->client;
    client->guard = guard;
    client->n_words = 0;
    client->used = 0;
    client->relay = (struct cli_guard_relay){.tls = NULL};
    cli_guard_client_add(client, program->names[0]);
    if (target != NULL && program->file_options != NULL &&
        strstr(target, "://") != NULL) {
        cli_guard_client_add(client, program->file_options);
    }
    for (size_t i = 0; program->options[i] != NULL; i++) {
        cli_guard_client_add(client, program->options[i]);
    }
    return program->address(client, target);
}

void cli_guard_client_fini(struct cli_guard_client *client)
{
    cli_guard_relay_stop(&client->relay);
}

/* ---- Errors ------------------------------------------------------------ */

static bool is_notice(const char *line, size_t len)
{
    static const char *const notices[] = {"WARNING", "Warning", "NOTICE"};
    for (size_t i = 0; i < sizeof(notices) / sizeof(notices[0]); i++) {
        if (memmem(line, len, notices[i], strlen(notices[i])) != NULL) {
            return true;
        }
    }
    return len == 0;
}

/* After "psql:<stdin>:7: ERROR:  " and the like. */
static const char *without_prefix(const char *line)
{
    static const char *const prefixes[] = {
        "psql:<stdin>:", "psql: error: ", "ERROR:  ", "FATAL:  ",
        "P0001: holdfast: "};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(line, prefixes[i], strlen(prefixes[i])) == 0) {
            line += strlen(prefixes[i]);
            const char *space = i == 0 ? strchr(line, ' ') : NULL;
            line = space != NULL ? space + 1 : line;
        }
    }
    return line;
}

static void keep_error(struct cli_guard_client *client, const char *line)
{
    struct cli_out out;
    cli_out_init_text(&out, client->error, sizeof(client->error));
    line = without_prefix(line);
    cli_out_bytes(&out, line, strcspn(line, "\r\n"));
}

/* The first line that begins with ERROR, as mariadb's does after the statement
 * that it repeats; else the first that is no notice. @return false: none. */
static bool find_error(struct cli_guard_client *client, const char *text)
{
    const char *first = NULL;
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        bool is_error = strncmp(line, "ERROR ", strlen("ERROR ")) == 0;
        if (is_error || (first == NULL && !is_notice(line, len))) {
            first = line;
        }
        line += is_error ? strlen(line) : len + (line[len] == '\n');
    }
    if (first != NULL) {
        keep_error(client, first);
    }
    return first != NULL;
}

/* Redis replies with its errors. */
static bool find_reply_error(struct cli_guard_client *client)
{
    static const char *const errors[] = {"ERR ",   "NOAUTH ",  "NOPERM ",
                                         "BUSY ",  "LOADING ", "WRONGPASS ",
                                         "DENIED "};
    for (const char *line = client->out; *line != '\0';) {
        for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
            if (strncmp(line, errors[i], strlen(errors[i])) == 0) {
                keep_error(client, line);
                return true;
            }
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return false;
}

static void find_code(struct cli_guard_client *client)
{
    const struct cli_guard_error *error = client->guard->client->errors;
    const struct cli_guard_remedy *one = client->guard->client->remedies;
    while (error->part != NULL && strstr(client->error, error->part) == NULL) {
        error++;
    }
    client->code = error->code;
    while (one != NULL && one->part != NULL &&
           strstr(client->error, one->part) == NULL) {
        one++;
    }
    client->remedy = one != NULL ? one->text : NULL;
}

static bool fail(struct cli_guard_client *client, int code, const char *subject,
                 const char *text, const char *more)
{
    struct cli_out out;
    cli_out_init_text(&out, client->error, sizeof(client->error));
    cli_out_text(&out, subject);
    cli_out_text(&out, text);
    cli_out_text(&out, more);
    client->code = code;
    client->remedy = NULL;
    return false;
}

static bool fail_start(struct cli_guard_client *client)
{
    const struct cli_guard_program *program = client->guard->client;
    int code = cli_pipe_child_error_code(&client->child);
    if (code == CLI_EXIT_NOT_FOUND) {
        return fail(client, code, program->names[0],
                    ": command not found; Debian has it in the package ",
                    program->package);
    }
    return fail(client, code, client->words[0], ": ",
                cli_message_of(client->child.error));
}

/* ---- Running ----------------------------------------------------------- */

/* Only a program that is not there is tried under its next name: any other
 * error of exec would be hidden by "not found". */
static bool run_first(struct cli_guard_client *client)
{
    const struct cli_guard_program *program = client->guard->client;
    struct cli_pipe_child *child = &client->child;
    for (size_t i = 0; program->names[i] != NULL; i++) {
        client->words[0] = (char *)(uintptr_t)program->names[i];
        if (cli_pipe_child_run(child)) {
            return true;
        }
        if (!child->is_exec_error || child->error != ENOENT) {
            return false;
        }
    }
    return false;
}

bool cli_guard_client_run(struct cli_guard_client *client, const char *text,
                          size_t len)
{
    struct cli_pipe_child *child = &client->child;
    client->words[client->n_words] = NULL;
    *child = (struct cli_pipe_child){
        .command = client->words,
        .input = text,
        .input_len = len,
        .out = {.data = client->out, .room = CLI_GUARD_OUT_ROOM},
        .err = {.data = client->err, .room = CLI_GUARD_ERR_ROOM},
    };
    bool is_run = run_first(client);
    client->out[child->out.len] = '\0';
    client->err[child->err.len] = '\0';
    if (!is_run) {
        return fail_start(client);
    }
    bool has_failed = child->status != 0;
    bool has_replies = client->guard->client->has_replies;
    const char *reason = cli_guard_relay_reason(&client->relay);
    if (reason[0] != '\0' && !find_reply_error(client)) {
        return fail(client, CLI_EXIT_UNREACHABLE, reason, "", "");
    }
    bool is_known = (has_failed || has_replies) &&
                    (find_error(client, client->err) ||
                     (has_replies && find_reply_error(client)));
    if (is_known) {
        find_code(client);
        return false;
    }
    if (WIFSIGNALED(child->status)) {
        return fail(
            client, CLI_EXIT_INTERNAL, client->words[0],
            " was ended by a signal: ", strsignal(WTERMSIG(child->status)));
    }
    return !has_failed || fail(client, CLI_EXIT_INTERNAL, client->words[0],
                               " failed", " and did not say why");
}
