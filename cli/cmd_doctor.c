/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast doctor: is this deployment fit for locks? */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"
#include "schema.h"
#include "snapshot.h"
#include "store.h"
#include "text_size.h"
#include "width.h"

#include <stdio.h>
#include <stdlib.h>
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
     .help = "with --init: skip the checks. The lock of a\n"
             "live holder may then be granted twice"},
    {.name = "quarantine",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, is_quarantine),
     .help = "declare that the server ADDRESS has lost data,\n"
             "as after a restored backup: it has no vote\n"
             "for max_ttl. \"all\" blocks every client for\n"
             "that time"},
    {.name = "print-schema",
     .kind = CLI_OPT_FLAG,
     .offset = offsetof(struct cli_args, wants_schema),
     .help = "print the SQL that makes the store's schema, for\n"
             "the database's own client; needs no server"},
    {.name = NULL},
};

struct report {
    struct cli_out out;
    struct hf_client *client;
    bool is_json;
    bool is_quiet;
    int worst;
    struct shown_finding *first; /* not printed yet */
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

/* Bytes. A finding may precede the addresses of all nodes, which it
 * concerns. */
#define LINE_ROOM 8192

/* Kept until the call is over: the same finding of several nodes becomes one
 * line (fold_finding()). */
struct shown_finding {
    struct shown_finding *next;
    enum hf_severity severity;
    char *nodes; /* addresses; NULL: all of them */
    char text[];
};

/* On a terminal between words; later lines are indented. */
static void put_line(struct cli_out *out, const char *text)
{
    cli_width_fold(out, text, 4, cli_width(STDOUT_FILENO));
    cli_out_text(out, "\n");
}

static void put_finding(struct report *report, enum hf_severity severity,
                        const char *nodes, const char *text)
{
    struct cli_out *out = &report->out;
    if (report->is_json) {
        cli_out_json_open(out);
        cli_out_json_text(out, "severity", severity_text(severity));
        if (nodes != NULL) {
            cli_out_json_text(out, "node", nodes);
        }
        cli_out_json_text(out, "text", text);
        cli_out_json_close(out);
        return;
    }
    struct cli_out line;
    char room[LINE_ROOM];
    cli_out_init_text(&line, room, sizeof(room));
    cli_out_text(&line, severity_text(severity));
    cli_out_text(&line, ": ");
    if (nodes != NULL && nodes[0] != '\0') {
        cli_out_plain(&line, nodes);
        cli_out_text(&line, ": ");
    }
    cli_out_plain(&line, text);
    put_line(out, room);
}

static void note_severity(struct report *report, enum hf_severity severity)
{
    int code = severity == HF_FINDING_OK        ? CLI_EXIT_OK
               : severity == HF_FINDING_WARNING ? CLI_EXIT_WARNINGS
                                                : CLI_EXIT_UNFIT;
    report->worst = code > report->worst ? code : report->worst;
}

static void on_finding(void *user, const struct hf_finding *finding)
{
    struct report *report = user;
    int node = hf_finding_node(finding);
    struct cli_node about = {.address = ""};
    note_severity(report, hf_finding_severity(finding));
    if (node >= 0) {
        cli_node(report->client, node, &about);
    }
    put_finding(report, hf_finding_severity(finding),
                node >= 0 ? about.address : NULL, hf_finding_text(finding));
}

/* ---- The examination ----------------------------------------------------- */

static const char *verdict(int worst)
{
    return worst == CLI_EXIT_OK         ? "fit for locks: "
           : worst == CLI_EXIT_WARNINGS ? "fit for locks, with warnings: "
                                        : "NOT fit for locks: ";
}

static bool add_node(struct shown_finding *finding, const char *address)
{
    size_t len = strlen(finding->nodes);
    size_t size = len + strlen(address) + sizeof(", ");
    char *nodes = realloc(finding->nodes, size);
    if (nodes == NULL) {
        return false;
    }
    finding->nodes = nodes;
    (void)snprintf(nodes + len, size - len, "%s%s", len > 0 ? ", " : "",
                   address);
    return true;
}

/* The same of several servers is one line. @return false: no memory. */
static bool fold_finding(struct report *report, enum hf_severity severity,
                         const char *address, const char *text)
{
    struct shown_finding **at = &report->first;
    while (*at != NULL &&
           ((*at)->severity != severity || strcmp((*at)->text, text) != 0)) {
        at = &(*at)->next;
    }
    struct shown_finding *finding = *at;
    if (finding == NULL) {
        finding = malloc(sizeof(*finding) + strlen(text) + 1);
        if (finding == NULL) {
            return false;
        }
        *finding = (struct shown_finding){
            .severity = severity,
            .nodes = strdup(""),
        };
        memcpy(finding->text, text, strlen(text) + 1);
        *at = finding;
    }
    return finding->nodes != NULL && add_node(finding, address);
}

static void put_folded(struct report *report)
{
    while (report->first != NULL) {
        struct shown_finding *finding = report->first;
        report->first = finding->next;
        if (!report->is_quiet || finding->severity != HF_FINDING_OK) {
            put_finding(report, finding->severity, finding->nodes,
                        finding->text);
        }
        free(finding->nodes);
        free(finding);
    }
}

static void on_examined(void *user, const struct hf_finding *finding)
{
    struct report *report = user;
    enum hf_severity severity = hf_finding_severity(finding);
    int node = hf_finding_node(finding);
    const char *text = hf_finding_text(finding);
    struct cli_node about = {.address = ""};
    if (report->is_json) {
        if (!report->is_quiet || node < 0 || severity != HF_FINDING_OK) {
            on_finding(user, finding);
        }
        return;
    }
    note_severity(report, severity);
    if (node < 0) {
        put_folded(report);
        cli_out_text(&report->out, verdict(report->worst));
        cli_out_text(&report->out, text);
        cli_out_text(&report->out, "\n");
        return;
    }
    cli_node(report->client, node, &about);
    if (!fold_finding(report, severity, about.address, text)) {
        put_finding(report, severity, about.address, text);
    }
}

static int examine(struct hf_client *client, const struct cli_args *args)
{
    struct report report = {
        .client = client, .is_json = args->is_json, .is_quiet = args->is_quiet};
    struct hf_error error = {.text = ""};
    cli_out_init(&report.out, STDOUT_FILENO);
    enum hf_status status =
        hf_client_diagnose(client, on_examined, &report, &error);
    put_folded(&report);
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
static bool ask_to_confirm(void)
{
    struct cli_out out;
    char line[HF_TEXT_SHORT] = "";
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
    if (is_said && status != HF_OK && !args->is_forced && ask_to_confirm()) {
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
        cli_out_plain(&out, node.address);
    }
    cli_out_text(&out, ", or all: then no client can acquire for max_ttl");
    return cli_message_end(&out, CLI_EXIT_USAGE);
}

static bool matches_node(struct hf_client *client, const char *word, int idx)
{
    struct cli_node node;
    cli_node(client, idx, &node);
    return word == NULL || strcmp(word, "all") == 0 ||
           strcmp(word, node.address) == 0;
}

/* Each one that can be reached: one that lost its data must not go on to vote
 * because another is down. @return the exit code of the first failure, or 0. */
static int declare_each(struct report *report, const char *word)
{
    struct hf_client *client = report->client;
    int code = 0;
    for (int i = 0; i < hf_client_nodes(client); i++) {
        struct hf_error error = {.text = ""};
        if (!matches_node(client, word, i)) {
            continue;
        }
        enum hf_status status = hf_client_quarantine_node(
            client, i, on_init_finding, report, &error);
        if (status != HF_OK) {
            int failed = cli_store_fail(status, "doctor", &error);
            code = code == 0 ? failed : code;
        }
    }
    return code;
}

static int quarantine(struct hf_client *client, const struct cli_args *args)
{
    const char *word = args->n_words > 0 ? args->words[0] : NULL;
    struct report report = {
        .client = client, .is_json = args->is_json, .is_quiet = args->is_quiet};
    int meant = 0;
    for (int i = 0; i < hf_client_nodes(client); i++) {
        meant += matches_node(client, word, i) ? 1 : 0;
    }
    if (meant == 0 || (word == NULL && meant > 1)) {
        return say_which(client, word);
    }
    cli_out_init(&report.out, STDOUT_FILENO);
    int code = declare_each(&report, word);
    if (!cli_out_flush(&report.out)) {
        return cli_message_errno(CLI_EXIT_INTERNAL, "stdout", report.out.error);
    }
    return code;
}

/* ---- --print-schema ------------------------------------------------------ */

static bool has_scheme(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);
    return strncmp(url, scheme, len) == 0 && url[len] == ':';
}

/* Only the scheme counts, so "postgres:" is enough. @return NULL: none. */
static const char *schema_of(const char *url)
{
    static const struct {
        const char *scheme, *schema;
    } schemas[] = {
        {"postgres", cli_postgres_schema}, {"postgresql", cli_postgres_schema},
        {"mysql", cli_mysql_schema},       {"mariadb", cli_mysql_schema},
        {"mysqls", cli_mysql_schema},      {"mariadbs", cli_mysql_schema},
    };
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
        if (has_scheme(url, schemas[i].scheme)) {
            return schemas[i].schema;
        }
    }
    return NULL;
}

static int print_schema(const struct cli_args *args)
{
    struct cli_config config;
    struct cli_out out;
    int code = cli_config_find(&config, args);
    if (code != 0) {
        return code;
    }
    const char *schema = schema_of(config.url);
    cli_config_forget(&config);
    if (schema == NULL) {
        return cli_message(CLI_EXIT_USAGE, "doctor",
                           "--print-schema: only PostgreSQL and MySQL have "
                           "one: add -u postgres: or -u mysql:");
    }
    cli_out_init(&out, STDOUT_FILENO);
    cli_out_text(&out, schema);
    return cli_out_flush(&out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
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
    if (args->wants_schema &&
        (args->is_init || args->is_quarantine || args->is_forced)) {
        return cli_message(CLI_EXIT_USAGE, "doctor",
                           "--print-schema takes no other option of doctor");
    }
    if (args->is_forced && !args->is_init) {
        return cli_message(CLI_EXIT_USAGE, "doctor", "--force is for --init");
    }
    return 0;
}

static int run(struct cli_args *args)
{
    struct hf_client *client;
    int code = check_words(args);
    args->is_for_setup = true;
    if (code == 0 && args->wants_schema) {
        return print_schema(args);
    }
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
        code = examine(client, args);
    }
    hf_client_close(client);
    return code;
}

const struct cli_cmd cli_cmd_doctor = {
    .name = "doctor",
    .usage = "[--init | --quarantine [ADDRESS | all] | --print-schema]",
    .summary = "check whether the servers are fit for locks",
    .text = "Prints every finding with its remedy, and last the number of "
            "servers that may\nvote. With -q only warnings, errors and that "
            "line. Exit 0: fit, 1: warnings, 2:\nunfit: no lock could be "
            "acquired, or one could be lost.\n",
    .opts = opts,
    .words_max = 1,
    .too_many = "one address at a time",
    .offers = CLI_OFFER_NOTHING,
    .run = run,
};
