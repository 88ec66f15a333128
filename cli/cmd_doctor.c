/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast doctor: is this deployment fit for locks? */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"
#include "snapshot.h"
#include "store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_opt opts[] = {
    {.name = "init",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_init),
     .help = "declare that the servers are new and hold no\n"
             "locks that matter: ends their quarantine.\n"
             "Refused while any server shows a holder"},
    {.name = "force",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_forced),
     .help = "--init: refuse nothing. The lock of a live\n"
             "holder may then be granted twice"},
    {.name = "quarantine",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_quarantine),
     .help = "declare that the server ADDRESS has lost data,\n"
             "as after a restored backup: it has no vote\n"
             "for max_ttl. \"all\" stops every client so long"},
    {.name = NULL},
};

/* Exit codes: the worst finding decides. */
enum { FIT = 0, WARNINGS = 1, UNFIT = 2 };

struct report {
    struct cli_out out;
    struct hf_client *client;
    bool is_json;
    bool is_quiet;
    int worst;
};

static const char *severity_text(enum hf_severity severity)
{
    switch (severity) {
    case HF_FINDING_OK:
        return "ok";
    case HF_FINDING_WARNING:
        return "warning";
    case HF_FINDING_ERROR:
        return "unfit";
    }
    return "unknown";
}

static void on_finding(void *user, const struct hf_finding *finding)
{
    struct report *report = user;
    enum hf_severity severity = hf_finding_severity(finding);
    int node = hf_finding_node(finding);
    const char *text = hf_finding_text(finding);
    struct cli_out *out = &report->out;
    struct cli_node about = {.address = ""};
    int code = severity == HF_FINDING_OK        ? FIT
               : severity == HF_FINDING_WARNING ? WARNINGS
                                                : UNFIT;
    report->worst = code > report->worst ? code : report->worst;
    if (node >= 0) {
        cli_node(report->client, node, &about);
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
        cli_out_plain(out, about.address);
        cli_out_text(out, ": ");
    }
    cli_out_plain(out, text);
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
        hf_client_diagnose(client, on_finding, &report, &error);
    if (status == HF_OK && !is_json) {
        cli_out_text(&report.out, verdict(report.worst));
    }
    if (!cli_out_flush(&report.out)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "stdout", report.out.error);
    }
    return status == HF_OK ? report.worst
                           : cli_store_fail(status, "doctor", &error);
}

/* ---- --init -------------------------------------------------------------- */

static void on_init_finding(void *user, const struct hf_finding *finding)
{
    const struct report *report = user;
    if (!report->is_quiet) {
        on_finding(user, finding);
    }
}

/* @return false: stdout failed, and `code` says so. */
static bool init_once(struct hf_client *client, const struct cli_args *args,
                      uint32_t flags, enum hf_status *status,
                      struct hf_error *error)
{
    struct report report = {
        .client = client, .is_json = args->is_json, .is_quiet = args->is_quiet};
    cli_out_init(&report.out, STDOUT_FILENO);
    *status =
        hf_client_init_nodes(client, flags, on_init_finding, &report, error);
    if (cli_out_flush(&report.out)) {
        return true;
    }
    (void)cli_message_errno(CLI_EXIT_INTERNAL, "stdout", report.out.error);
    return false;
}

/* On a terminal: has the list been confirmed with a typed yes? */
static bool is_confirmed(void)
{
    struct cli_out out;
    char line[16] = "";
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
        return false;
    }
    cli_out_init(&out, STDOUT_FILENO);
    cli_out_text(&out, "A lock that is still held may then be granted twice. "
                       "Declare all the same? Type yes: ");
    return cli_out_flush(&out) && fgets(line, sizeof(line), stdin) != NULL &&
           strcmp(line, "yes\n") == 0;
}

static int init(struct hf_client *client, const struct cli_args *args)
{
    enum hf_status status;
    struct hf_error error = {.text = ""};
    bool is_said = init_once(client, args, args->is_forced ? HF_INIT_FORCE : 0,
                             &status, &error);
    if (is_said && status != HF_OK && !args->is_forced && is_confirmed()) {
        is_said = init_once(client, args, HF_INIT_FORCE, &status, &error);
    }
    if (!is_said) {
        return CLI_EXIT_INTERNAL;
    }
    return status == HF_OK ? 0 : cli_store_fail(status, "doctor", &error);
}

/* ---- --quarantine -------------------------------------------------------- */

static int say_which(struct hf_client *client, const char *word)
{
    struct cli_out out;
    struct cli_node node;
    cli_message_begin(&out);
    cli_out_text(&out, "doctor: --quarantine: ");
    if (word != NULL) {
        cli_out_text(&out, "no server ");
        (void)cli_out_shown(&out, word, strlen(word));
        cli_out_text(&out, " in this store");
    } else {
        cli_out_text(&out, "which server");
    }
    cli_out_text(&out, "? name one of");
    for (int i = 0; i < hf_client_nodes(client); i++) {
        cli_node(client, i, &node);
        cli_out_text(&out, i == 0 ? " " : ", ");
        cli_out_text(&out, node.address);
    }
    cli_out_text(&out, ", or all: then no client can acquire for max_ttl");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

/* @return whether the word means this node. */
static bool is_meant(struct hf_client *client, const char *word, int idx)
{
    struct cli_node node;
    cli_node(client, idx, &node);
    return word == NULL || strcmp(word, "all") == 0 ||
           strcmp(word, node.address) == 0;
}

static int quarantine(struct hf_client *client, const struct cli_args *args)
{
    const char *word = args->n_words > 0 ? args->words[0] : NULL;
    struct report report = {
        .client = client, .is_json = args->is_json, .is_quiet = args->is_quiet};
    int code = 0;
    int meant = 0;
    for (int i = 0; i < hf_client_nodes(client); i++) {
        meant += is_meant(client, word, i) ? 1 : 0;
    }
    if (meant == 0 || (word == NULL && meant > 1)) {
        return say_which(client, word);
    }
    cli_out_init(&report.out, STDOUT_FILENO);
    for (int i = 0; i < hf_client_nodes(client) && code == 0; i++) {
        struct hf_error error = {.text = ""};
        if (is_meant(client, word, i)) {
            enum hf_status status = hf_client_quarantine_node(
                client, i, on_init_finding, &report, &error);
            code =
                status == HF_OK ? 0 : cli_store_fail(status, "doctor", &error);
        }
    }
    if (!cli_out_flush(&report.out)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "stdout", report.out.error);
    }
    return code;
}

static int check_words(const struct cli_args *args)
{
    if (args->n_words > 0 && !args->is_quarantine) {
        return cli_message(CLI_EXIT_USAGE, "doctor",
                           "takes an address with --quarantine only");
    }
    if (args->is_quarantine && args->is_init) {
        return cli_message(CLI_EXIT_USAGE, "doctor",
                           "--init and --quarantine exclude each other");
    }
    return 0;
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    int code = check_words(args);
    args->is_for_setup = true;
    if (code == 0) {
        code = cli_store_find(args, &client);
    }
    if (code != 0) {
        return code;
    }
    if (args->is_init) {
        code = init(client, args);
    } else if (args->is_quarantine) {
        code = quarantine(client, args);
    } else {
        code = examine(client, args->is_json);
    }
    hf_client_close(client);
    return code;
}

const struct cli_cmd cli_cmd_doctor = {
    .name = "doctor",
    .usage = "[--init [--force] | --quarantine [ADDRESS|all]]",
    .summary = "is this deployment fit for locks?",
    .text = "Prints every finding with its remedy. Exit 0: fit, 1: warnings, "
            "2: unfit.\n",
    .opts = opts,
    .words_max = 1,
    .run = run,
};
