/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast put: write or delete a value, if it has the expected version. */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"
#include "opts_wait.h"
#include "signals.h"
#include "store.h"
#include "text_size.h"
#include "value_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 2^53 - 1, the greatest version that a store gives: Redis' scripts count in
 * doubles. */
#define VERSION_MAX INT64_C(9007199254740991)

static const struct cli_opt opts[] = {
    {.name = "if-version",
     .kind = CLI_OPT_NUMBER,
     .offset = offsetof(struct cli_args, if_version),
     .meta = "N",
     .max = VERSION_MAX,
     .help = "only if the value has version N; 0: only if\n"
             "there is none. Else exit 75"},
    {.name = "delete",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_delete),
     .help = "delete the value; without VALUE"},
    CLI_OPT_NAME,
    {.name = NULL},
};

static int print(const struct cli_args *args, uint64_t version)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    if (args->is_json) {
        cli_out_json_open(&out);
        cli_out_json_bytes(&out, "name", args->name, strlen(args->name));
        cli_out_json_int(&out, "version", (int64_t)version);
        cli_out_json_close(&out);
    } else if (!args->is_quiet && version != 0) {
        cli_out_uint(&out, version);
        cli_out_text(&out, "\n");
    }
    if (cli_out_flush(&out)) {
        return 0;
    }
    /* The write stays: its version must not be lost with the output. */
    char text[HF_TEXT_REASON], which[HF_TEXT_WORD] = "";
    if (!args->is_delete) {
        snprintf(which, sizeof(which), ", version %" PRIu64, version);
    }
    snprintf(text, sizeof(text), "was %s%s, but not reported: stdout: %.100s",
             args->is_delete ? "deleted" : "written", which,
             cli_message_of(out.error));
    return cli_message(CLI_EXIT_INTERNAL, args->name, text);
}

static int check(const struct cli_args *args)
{
    if (args->is_delete && args->n_words > 1) {
        return cli_message(CLI_EXIT_USAGE, "put",
                           "--delete takes no value (usage: holdfast put "
                           "NAME --delete)");
    }
    if (args->is_delete && args->if_version == 0) {
        return cli_message(CLI_EXIT_USAGE, "put",
                           "--if-version 0 is of no value, so there is nothing "
                           "to --delete");
    }
    if (!args->is_delete && args->n_words < 2) {
        return cli_message(CLI_EXIT_USAGE, "put",
                           "which value? (usage: holdfast put NAME VALUE; - "
                           "reads it from stdin)");
    }
    return 0;
}

/* "-" is for values with a NUL byte, and for those that ps must not show. */
static int read_value(const struct cli_args *args, const void **data,
                      size_t *len)
{
    static struct cli_value_buffer buffer;
    *data = NULL;
    *len = 0;
    if (args->is_delete) {
        return 0;
    }
    *data = args->words[1];
    *len = strlen(args->words[1]);
    if (strcmp(args->words[1], "-") == 0) {
        int error = cli_value_read(&buffer, STDIN_FILENO);
        if (error != 0) {
            return cli_message_errno(CLI_EXIT_INTERNAL, "stdin", error);
        }
        *data = buffer.data;
        *len = buffer.len;
    }
    return *len <= HF_VALUE_MAX ? 0 : cli_value_too_long(args->name);
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    struct hf_error error = {.text = ""};
    const void *data;
    size_t len;
    uint64_t version;
    uint64_t expected = args->if_version == CLI_UNSET
                            ? HF_VERSION_ANY
                            : (uint64_t)args->if_version;
    cli_signals_block_pipe();
    int code = check(args);
    code = code != 0 ? code : read_value(args, &data, &len);
    code = code != 0 ? code : cli_store_find(args, &client);
    if (code != 0) {
        return code;
    }
    enum hf_status status = hf_value_put(client, args->name, strlen(args->name),
                                         data, len, expected, &version, &error);
    hf_client_close(client);
    return status == HF_OK ? print(args, version)
                           : cli_store_fail(status, args->name, &error);
}

const struct cli_cmd cli_cmd_put = {
    .name = "put",
    .usage = "NAME (VALUE | --delete) [--if-version N]",
    .summary = "write a value, if it has an expected version",
    .text = "Prints the new version, unless -q. VALUE has at most 262144 "
            "bytes; - reads it\nfrom stdin. Exit 75 if the value has another "
            "version, 69 if it is not known\nwhether it was written. If stdout "
            "cannot be written, it was, and the message\nhas the version.\n",
    .opts = opts,
    .words_max = 2,
    .too_many = "one name and one value",
    .takes_name = true,
    .is_of_values = true,
    .run = run,
};
