/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast get: print a value. */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"
#include "opts_wait.h"
#include "store.h"

#include <string.h>
#include <unistd.h>

static const struct cli_opt opts[] = {
    {.name = "with-version",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_with_version),
     .help = "print the version first, on a line of its own"},
    CLI_OPT_NAME,
    {.name = NULL},
};

static void put_json(struct cli_out *out, const struct cli_args *args,
                     const struct hf_value *value)
{
    size_t len;
    const void *data = hf_value_data(value, &len);
    cli_out_json_open(out);
    cli_out_json_bytes(out, "name", args->name, strlen(args->name));
    cli_out_json_int(out, "version", (int64_t)hf_value_version(value));
    if (data != NULL) {
        cli_out_json_bytes(out, "value", data, len);
    }
    cli_out_json_close(out);
}

static void put_raw(struct cli_out *out, const struct cli_args *args,
                    const struct hf_value *value)
{
    size_t len;
    const void *data = hf_value_data(value, &len);
    if (args->is_with_version) {
        cli_out_uint(out, hf_value_version(value));
        cli_out_text(out, "\n");
    }
    if (data != NULL) {
        cli_out_bytes(out, data, len);
    }
}

static int print(const struct cli_args *args, const struct hf_value *value)
{
    struct cli_out out;
    bool is_there = hf_value_version(value) != 0;
    cli_out_init(&out, STDOUT_FILENO);
    if (args->is_json) {
        put_json(&out, args, value);
    } else {
        put_raw(&out, args, value);
    }
    if (!cli_out_flush(&out)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
    }
    if (!is_there && !args->is_quiet && !args->is_json) {
        return cli_message(CLI_EXIT_NO, args->name, "has no value");
    }
    return is_there ? 0 : CLI_EXIT_NO;
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    struct hf_value *value;
    struct hf_error error = {.text = ""};
    int code = cli_store_find(args, &client);
    if (code != 0) {
        return code;
    }
    enum hf_status status =
        hf_value_get(client, args->name, strlen(args->name), &value, &error);
    hf_client_close(client);
    if (status != HF_OK) {
        return cli_store_fail(status, args->name, &error);
    }
    code = print(args, value);
    hf_value_free(value);
    return code;
}

const struct cli_cmd cli_cmd_get = {
    .name = "get",
    .usage = "[--with-version] NAME",
    .summary = "print a value",
    .text = "Prints the bytes of the value as they are. Exit 1 if there is "
            "none. Values are\nnot locks: a name may have both. --json prints "
            "name, version (0: no value) and\nvalue; a value that is not UTF-8 "
            "has a second member value_hex.\n",
    .opts = opts,
    .words_max = 1,
    .too_many = "one name at a time",
    .takes_name = true,
    .is_of_values = true,
    .run = run,
};
