/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast doctor: is this deployment fit for locks? */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"
#include "store.h"

#include <unistd.h>

static const struct cli_opt opts[] = {
    {.name = "init",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_init),
     .help = "declare that the servers are new and hold no\n"
             "locks that matter: ends their quarantine"},
    {.name = NULL},
};

/* Exit codes: the worst finding decides. */
enum { FIT = 0, WARNINGS = 1, UNFIT = 2 };

struct report {
    struct cli_out out;
    struct hf_client *client;
    bool is_json;
    int worst;
};

static const char *severity_text(enum hf_severity severity)
{
    switch (severity) {
    case HF_FINDING_OK:
        return "ok";
    case HF_FINDING_WARNING:
        return "warning";
    case HF_FINDING_UNFIT:
        return "unfit";
    }
    return "unknown";
}

static void on_finding(void *user, enum hf_severity severity, int node,
                       const char *text)
{
    struct report *report = user;
    struct cli_out *out = &report->out;
    struct hf_node about = {.address = ""};
    int code = severity == HF_FINDING_OK        ? FIT
               : severity == HF_FINDING_WARNING ? WARNINGS
                                                : UNFIT;
    report->worst = code > report->worst ? code : report->worst;
    if (node >= 0) {
        hf_client_node(report->client, node, &about);
    }
    if (report->is_json) {
        cli_out_json_open(out);
        cli_out_json_text(out, "severity", severity_text(severity));
        if (node >= 0) {
            cli_out_json_text(out, "node", about.address);
        }
        cli_out_json_text(out, "text", text);
        cli_out_json_close(out);
        return;
    }
    cli_out_text(out, severity_text(severity));
    cli_out_text(out, ": ");
    if (node >= 0 && about.address[0] != '\0') {
        cli_out_text(out, about.address);
        cli_out_text(out, ": ");
    }
    cli_out_text(out, text);
    cli_out_text(out, "\n");
}

static const char *verdict(int worst)
{
    return worst == FIT        ? "fit for locks\n"
           : worst == WARNINGS ? "fit for locks, with warnings\n"
                               : "NOT fit for locks\n";
}

static int examine(struct hf_client *client, bool is_json)
{
    struct report report = {.client = client, .is_json = is_json};
    struct hf_error error = {.text = ""};
    cli_out_init(&report.out, STDOUT_FILENO);
    enum hf_status status =
        hf_client_examine(client, on_finding, &report, &error);
    if (status == HF_OK && !is_json) {
        cli_out_text(&report.out, verdict(report.worst));
    }
    if (!cli_out_flush(&report.out)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "stdout", report.out.error);
    }
    return status == HF_OK ? report.worst
                           : cli_store_fail(status, "doctor", &error);
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    struct hf_error error = {.text = ""};
    int code = cli_store_find(args, &client);
    if (code != 0) {
        return code;
    }
    if (args->is_init) {
        enum hf_status status = hf_client_init_nodes(client, &error);
        code = status == HF_OK ? 0 : cli_store_fail(status, "doctor", &error);
    } else {
        code = examine(client, args->is_json);
    }
    hf_client_close(client);
    return code;
}

const struct cli_cmd cli_cmd_doctor = {
    .name = "doctor",
    .usage = "[--init]",
    .summary = "is this deployment fit for locks?",
    .text = "Prints every finding with its remedy. Exit 0: fit, 1: warnings, "
            "2: unfit.\n",
    .opts = opts,
    .run = run,
};
