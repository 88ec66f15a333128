/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast break: take a lock from its holder. */
#include "cmd.h"

#include "duration.h"
#include "exit_code.h"
#include "message.h"
#include "opts_wait.h"
#include "store.h"
#include "when.h"

#include <string.h>
#include <unistd.h>

static const struct cli_opt opts[] = {
    {.name = "now",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_now),
     .help = "do not wait until the holder must have\n"
             "stopped: until then two may run"},
    CLI_OPT_NAME,
    {.name = NULL},
};

static int print_json(const struct cli_args *args, int64_t left_ms,
                      struct cli_out *out)
{
    cli_out_json_open(out);
    cli_out_json_text(out, "name", args->name);
    cli_out_json_bool(out, "now", args->is_now);
    cli_out_json_key(out, "two_may_run_ms");
    if (left_ms < 0) {
        cli_out_text(out, "null");
    } else {
        cli_out_int(out, left_ms);
    }
    cli_out_json_close(out);
    return 0;
}

/* Until when the old holder may still believe that it holds. */
static void print_overlap(int64_t left_ms, struct cli_out *out)
{
    char text[CLI_DURATION_TEXT];
    if (left_ms < 0) {
        cli_out_text(out, "; nobody can say until when its holder goes on");
    } else if (left_ms > 0) {
        cli_out_text(out, "; two may run until ");
        cli_when_text(out, (cli_when_wall_ms() + left_ms + 999) / 1000);
        cli_out_text(out, " (");
        cli_out_text(out, cli_duration_text(left_ms, text));
        cli_out_text(out, "), when its holder must have stopped");
    }
}

static int print(const struct cli_args *args, int64_t left_ms)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    /* Having waited, nobody is left. */
    left_ms = args->is_now ? left_ms : 0;
    if (args->is_json) {
        (void)print_json(args, left_ms, &out);
    } else if (!args->is_quiet) {
        (void)cli_out_shown(&out, args->name, strlen(args->name));
        cli_out_text(&out, " is free");
        print_overlap(left_ms, &out);
        cli_out_text(&out, "\n");
    }
    return cli_out_flush(&out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    struct hf_error error = {.text = ""};
    int64_t left_ms = 0;
    int code = cli_store_find(args, &client);
    if (code != 0) {
        return code;
    }
    enum hf_status status = hf_client_break(
        client, args->name, strlen(args->name), args->is_now, &left_ms, &error);
    hf_client_close(client);
    return status == HF_OK ? print(args, left_ms)
                           : cli_store_fail(status, args->name, &error);
}

const struct cli_cmd cli_cmd_break = {
    .name = "break",
    .usage = "[--now] NAME",
    .summary = "take the lock from its holder",
    .text = "Waits until the holder must have stopped, its lease being over; "
            "nobody else gets\nthe lock before. The fence moves on: a store "
            "that checks fences refuses the old\nholder.\n",
    .opts = opts,
    .takes_name = true,
    .run = run,
};
