/* SPDX-License-Identifier: Apache-2.0 */
/* The client has no thread (HF_THREAD_NONE): a command waits, and a keeper
 * renews, in a loop of its own. The configuration's passwords are wiped as
 * soon as the client has its copy. A login callback reads the password file at
 * each connection, so a password may be replaced under a lock that is held for
 * days. */
#include "store.h"

#include "exit_code.h"
#include "io/home.h"
#include "message.h"
#include "snapshot.h"
#include "text_size.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* -v: print the library's log, with -vv each request; with a prefix, so that it
 * cannot be mistaken for an error of the command. */
static void log_line(void *user, enum hf_log_level level, const char *text)
{
    static const char *const names[] = {
        [HF_LOG_ERROR] = "error",
        [HF_LOG_WARN] = "warning",
        [HF_LOG_INFO] = "info",
        [HF_LOG_DEBUG] = "debug",
    };
    struct cli_out out;
    const int *n_verbose = user;
    if (level == HF_LOG_DEBUG && *n_verbose < 2) {
        return;
    }
    if (!cli_message_fits(STDERR_FILENO)) {
        return;
    }
    cli_out_init_brief(&out, STDERR_FILENO);
    cli_out_text(&out, "holdfast[");
    cli_out_text(&out, names[level]);
    cli_out_text(&out, "]: ");
    cli_out_plain(&out, text);
    (void)cli_message_end(&out, 0);
}

/* An error in a URL of the command line is a usage error, else an error of
 * configuration. */
static int open_code(enum hf_status status, enum cli_config_source source)
{
    int code = cli_exit_code(status);
    if (code != CLI_EXIT_USAGE && code != CLI_EXIT_CONFIG) {
        return code;
    }
    if (status == HF_CONFIG) {
        return CLI_EXIT_CONFIG;
    }
    return source == CLI_FROM_OPTION ? CLI_EXIT_USAGE : CLI_EXIT_CONFIG;
}

static int failed_in_file(int code, const struct cli_config *config,
                          const char *text)
{
    struct cli_out out;
    cli_message_begin(&out);
    (void)cli_out_shown(&out, config->path, strlen(config->path));
    cli_out_text(&out, ":");
    cli_out_int(&out, cli_config_line(config, text));
    cli_out_text(&out, ": ");
    cli_out_plain(&out, text);
    return cli_message_end(&out, code);
}

/* An error in the embedded store, or the build has none (HF_WITHOUT_LOCAL):
 * nothing that was written names it then. */
static int failed_by_default(int code, const char *text)
{
    unsigned ignored;
    bool has_local =
        hf_store_capabilities("local:", &ignored, NULL) != HF_UNSUPPORTED;
    return cli_message(code, NULL,
                       has_local ? text
                                 : "no store configured, and this build has no "
                                   "embedded one: set HOLDFAST_URL or "
                                   "/etc/holdfast/config, or add -u URL");
}

int cli_store_open_failed(const struct cli_config *config,
                          enum hf_status status, const struct hf_error *error)
{
    int code = open_code(status, config->source);
    switch (config->source) {
    case CLI_FROM_OPTION:
        return cli_message(code, "-u", error->text);
    case CLI_FROM_ENVIRONMENT:
        return cli_message(code, "HOLDFAST_URL", error->text);
    case CLI_FROM_FILE:
        return failed_in_file(code, config, error->text);
    case CLI_FROM_NOWHERE:
        break;
    }
    return failed_by_default(code, error->text);
}

/* The password that was read last; a process opens one store. */
static struct {
    char file[sizeof(((struct cli_config *)0)->password_file)];
    char password[CLI_PASSWORD_MAX];
} login_secret;

/* Called at each connection, so that a password may change while a command
 * runs. If the file cannot be read, the last password is used: the file may be
 * about to be replaced. */
static void on_login(void *user, struct hf_login *login)
{
    char password[CLI_PASSWORD_MAX];
    (void)user;
    if (cli_config_password(login_secret.file, password) == NULL) {
        memcpy(login_secret.password, password, sizeof(password));
    }
    explicit_bzero(password, sizeof(password));
    hf_login_set(login, NULL, login_secret.password);
}

static const char *url_of(const struct cli_config *config)
{
    return config->source == CLI_FROM_NOWHERE ? "local:" : config->url;
}

bool cli_store_frees_at_end(const struct cli_config *config)
{
    unsigned can;
    return hf_store_capabilities(url_of(config), &can, NULL) == HF_OK &&
           (can & HF_CAP_LIVENESS) != 0;
}

enum hf_status cli_store_try(struct cli_config *config,
                             const struct cli_args *args,
                             struct hf_client **out, struct hf_error *error)
{
    struct hf_client_options options;
    hf_client_options_init(&options);
    options.thread = HF_THREAD_NONE;
    if (config->password[0] != '\0') {
        options.login = on_login;
        memcpy(login_secret.file, config->password_file,
               sizeof(login_secret.file));
        memcpy(login_secret.password, config->password,
               sizeof(login_secret.password));
    }
    options.log = args->n_verbose > 0 ? log_line : NULL;
    options.log_user = (void *)(uintptr_t)&args->n_verbose;
    options.is_for_setup = args->is_for_setup;
    enum hf_status status =
        hf_client_open(url_of(config), &options, out, error);
    cli_config_wipe(config);
    return status;
}

int cli_store_open(struct cli_config *config, const struct cli_args *args,
                   struct hf_client **out)
{
    struct hf_error error = {.text = ""};
    enum hf_status status = cli_store_try(config, args, out, &error);
    return status == HF_OK ? 0 : cli_store_open_failed(config, status, &error);
}

/* True if the notice must be printed: the file that records it was not there,
 * or could not be created. It is in the store's folder, in the home folder of
 * the password database. */
static bool mark_first_notice(void)
{
    char home[CLI_HOME_MAX], path[sizeof(home) + HF_TEXT_NAME];
    struct cli_out out;
    if (hf_home_find(home, sizeof(home)) != 0) {
        return true;
    }
    cli_out_init_text(&out, path, sizeof(path));
    cli_out_text(&out, home);
    cli_out_text(&out, "/.local/state/holdfast/told-of-default-store");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0 || error != EEXIST;
}

void cli_store_notice(const struct cli_config *config,
                      const struct cli_args *args)
{
    struct cli_out out;
    if (config->source != CLI_FROM_NOWHERE || args->is_quiet ||
        !mark_first_notice()) {
        return;
    }
    cli_out_init(&out, STDERR_FILENO);
    cli_out_text(&out, "no store configured: this lock covers only this user "
                       "on this machine (set HOLDFAST_URL or "
                       "/etc/holdfast/config; -u local: silences this)");
    (void)cli_message_end(&out, 0);
}

int cli_store_find(const struct cli_args *args, struct hf_client **out)
{
    struct cli_config config;
    int code = cli_config_find(&config, args);
    if (code == 0) {
        code = cli_store_open(&config, args, out);
    }
    if (code == 0) {
        cli_store_notice(&config, args);
    }
    return code;
}

int cli_store_fail(enum hf_status status, const char *name,
                   const struct hf_error *error)
{
    const char *text =
        error->text[0] != '\0' ? error->text : hf_status_text(status);
    return cli_message(cli_exit_code(status), name, text);
}

/* A node that is up and has no reason did renew: it is left out. */
void cli_store_put_nodes(struct cli_out *out, struct hf_client *client)
{
    struct cli_node node;
    bool is_first = true;
    for (int i = 0; i < hf_client_nodes(client); i++) {
        cli_node(client, i, &node);
        if (node.health == HF_NODE_UP && node.reason[0] == '\0') {
            continue;
        }
        cli_out_text(out, is_first ? " (" : "; ");
        cli_out_plain(out, node.address);
        cli_out_text(out, ": ");
        cli_out_plain(out, node.reason[0] != '\0' ? node.reason : "no answer");
        is_first = false;
    }
    cli_out_text(out, is_first ? "" : ")");
}

bool cli_store_check_complete(struct hf_client *client,
                              const struct cli_info *info)
{
    struct cli_node node;
    int n_nodes = hf_client_nodes(client);
    int n_counting = 0;
    for (int i = 0; i < n_nodes; i++) {
        cli_node(client, i, &node);
        n_counting += node.health == HF_NODE_UP &&
                      (info == NULL || info->nodes[i].answered);
    }
    return 2 * n_counting > n_nodes;
}
