/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast update: pass a value through a command, and write its output. */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"
#include "opts_wait.h"
#include "pipe_child.h"
#include "store.h"
#include "text_size.h"
#include "value_io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const struct cli_opt opts[] = {
    CLI_OPT_TRY,
    CLI_OPT_WAIT,
    CLI_OPT_NAME,
    {.name = NULL},
};

struct command_update {
    const struct cli_args *args;
    int code; /* not 0: the command failed, or its output is no value */
    struct cli_value_buffer out;
};

/* HOLDFAST_NAME stays that of a lock, with its fence: no lock is held here. */
static void export_version(const struct cli_args *args, uint64_t version)
{
    char text[HF_TEXT_NUMBER];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_uint(&out, version);
    (void)setenv("HOLDFAST_VALUE_NAME", args->name, 1);
    (void)setenv("HOLDFAST_VERSION", text, 1);
}

static int code_of(const struct cli_args *args,
                   const struct cli_pipe_child *child)
{
    if (child->error != 0) {
        int code = cli_pipe_child_error_code(child);
        const char *name = args->command[0];
        return code == CLI_EXIT_NOT_FOUND && strchr(name, '/') == NULL
                   ? cli_message(code, name, "command not found")
                   : cli_message_errno(code, name, child->error);
    }
    if (child->out.len > HF_VALUE_MAX) {
        return cli_value_too_long(args->name);
    }
    return WIFSIGNALED(child->status)
               ? CLI_EXIT_SIGNAL + WTERMSIG(child->status)
               : WEXITSTATUS(child->status);
}

static enum hf_status change(void *user, const struct hf_value *value,
                             const void **data, size_t *len)
{
    struct command_update *update = user;
    struct cli_pipe_child child = {
        .command = update->args->command,
        .out = {.data = update->out.data, .room = sizeof(update->out.data)},
    };
    child.input = hf_value_data(value, &child.input_len);
    export_version(update->args, hf_value_version(value));
    (void)cli_pipe_child_run(&child);
    update->code = code_of(update->args, &child);
    *data = child.out.data;
    *len = child.out.len;
    return update->code == 0 ? HF_OK : HF_CANCELLED;
}

static int run(struct cli_args *args)
{
    static struct command_update update;
    struct hf_client *client;
    struct hf_error error = {.text = ""};
    if (args->is_try && args->wait_ms != CLI_UNSET) {
        return cli_message(CLI_EXIT_USAGE, "update",
                           "--try does not wait: leave out --wait");
    }
    int code = cli_store_find(args, &client);
    if (code != 0) {
        return code;
    }
    int64_t wait_ms = args->is_try                 ? 0
                      : args->wait_ms == CLI_UNSET ? HF_WAIT_FOREVER
                                                   : args->wait_ms;
    update.args = args;
    enum hf_status status =
        hf_value_update(client, args->name, strlen(args->name), wait_ms, change,
                        &update, NULL, &error);
    hf_client_close(client);
    if (update.code != 0) {
        return update.code;
    }
    return status == HF_OK ? 0 : cli_store_fail(status, args->name, &error);
}

const struct cli_cmd cli_cmd_update = {
    .name = "update",
    .usage = "[-n | -w DUR] NAME -- COMMAND [ARG ...]",
    .summary = "pass a value through a command, and write the result",
    .text = "COMMAND gets the value on stdin and prints the new one on stdout. "
            "It has\nHOLDFAST_VALUE_NAME and HOLDFAST_VERSION (0: there is no "
            "value). If another\nclient has written since, COMMAND runs again "
            "after a random pause, so it must\nhave no other effect. If it "
            "fails, nothing is written, and its exit code is\nreturned. "
            "Exit 75 if others have written at each try, 69 if it is not\n"
            "known whether the new value was written: COMMAND is not run "
            "again.\n",
    .opts = opts,
    .words_max = 1,
    .too_many = "one name at a time",
    .takes_name = true,
    .takes_command = true,
    .is_of_values = true,
    .run = run,
};
