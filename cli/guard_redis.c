/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast guard redis --install: load the script, and print its SHA-1.
 *
 * A script is known by its hash, so versions are beside each other and share
 * the memory of fences. A server that cannot be guarded is refused here too,
 * not only at each write. */
#include "guard_install.h"

#include "exit_code.h"
#include "message.h"
#include "text_size.h"

#include <string.h>
#include <unistd.h>

/* Each byte of the script may become four. */
#define COMMAND_ROOM 32768

#define STATE "INFO memory\nINFO replication\nINFO cluster\nSCRIPT EXISTS "

/* A field that the server does not report reads as "", which passes no test for
 * a good value. */
static void info_of(const char *text, const char *name, char out[HF_TEXT_WORD])
{
    const char *at = strstr(text, name);
    size_t len = 0;
    if (at != NULL) {
        at += strlen(name);
        len = strcspn(at, "\r\n");
        len = len < 31 ? len : 31;
        memcpy(out, at, len);
    }
    out[len] = '\0';
}

static bool is_loaded(const char *text)
{
    size_t len = strlen(text);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r')) {
        len--;
    }
    return len > 0 && text[len - 1] == '1';
}

static int refuse(const struct cli_guard_client *client, const char *reason,
                  const char *value, const char *remedy)
{
    struct cli_out out;
    cli_guard_install_begin(&out, client->guard);
    cli_out_text(&out, reason);
    cli_out_plain(&out, value);
    cli_out_text(&out, remedy);
    return cli_message_end(&out, CLI_EXIT_CONFIG);
}

static int check_server(const struct cli_guard_client *client)
{
    char policy[HF_TEXT_WORD];
    char role[HF_TEXT_WORD];
    info_of(client->out, "maxmemory_policy:", policy);
    info_of(client->out, "\nrole:", role);
    if (strcmp(policy, "noeviction") != 0) {
        return refuse(client, "may evict the largest fence (maxmemory-policy ",
                      policy[0] != '\0' ? policy : "unknown",
                      "): set maxmemory-policy noeviction");
    }
    if (strcmp(role, "master") != 0) {
        return refuse(client, "is a replica (role ", role,
                      "): install on its primary");
    }
    return 0;
}

/* In quotes, one line: redis-cli reads it as one argument. */
static size_t put_load(char *text, size_t room, const char *script)
{
    static const char digits[] = "0123456789abcdef";
    struct cli_out out;
    cli_out_init_text(&out, text, room);
    cli_out_text(&out, "SCRIPT LOAD \"");
    for (; *script != '\0'; script++) {
        unsigned char c = (unsigned char)*script;
        if (c < ' ' || c == '"' || c == '\\') {
            const char escape[] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
            cli_out_bytes(&out, escape, sizeof(escape));
        } else {
            cli_out_bytes(&out, script, 1);
        }
    }
    cli_out_text(&out, "\"\n");
    return strlen(text);
}

static bool ask(struct cli_guard_client *client)
{
    char text[sizeof(STATE) + 64];
    struct cli_out out;
    cli_out_init_text(&out, text, sizeof(text));
    cli_out_text(&out, STATE);
    cli_out_text(&out, cli_guard_redis_sha1);
    cli_out_text(&out, "\n");
    return cli_guard_client_run(client, text, strlen(text));
}

static void report(const struct cli_guard_client *client, bool was_loaded)
{
    char cluster[HF_TEXT_WORD];
    struct cli_out out;
    info_of(client->out, "cluster_enabled:", cluster);
    cli_guard_install_begin(&out, client->guard);
    cli_out_text(&out, was_loaded ? "the script was loaded already"
                                  : "the script is loaded");
    cli_out_text(&out, ": EVALSHA ");
    cli_out_text(&out, cli_guard_redis_sha1);
    cli_out_text(&out, " 1 KEY NAME FENCE COMMAND");
    if (strcmp(cluster, "1") == 0) {
        cli_out_text(&out, "; on this node of the cluster alone: install it on "
                           "each of its primaries");
    }
    (void)cli_message_end(&out, 0);
}

static int print_sha1(void)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    cli_out_text(&out, cli_guard_redis_sha1);
    cli_out_text(&out, "\n");
    return cli_out_flush(&out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out.error);
}

static const char *remedy_of(const struct cli_guard_client *client)
{
    return strstr(client->error, "NOPERM") != NULL
               ? "ACL SETUSER USER +info +script|load +script|exists"
               : NULL;
}

int cli_guard_install_redis(struct cli_guard_client *client,
                            const struct cli_args *args)
{
    static char text[COMMAND_ROOM];
    if (!ask(client)) {
        return cli_guard_install_fail(client, remedy_of(client));
    }
    int code = check_server(client);
    if (code != 0) {
        return code;
    }
    bool was_loaded = is_loaded(client->out);
    size_t len = put_load(text, sizeof(text), cli_guard_redis);
    if (!was_loaded &&
        !(cli_guard_client_run(client, text, len) && ask(client))) {
        return cli_guard_install_fail(client, remedy_of(client));
    }
    if (!is_loaded(client->out)) {
        return refuse(client, "the script was loaded, and is not there", "",
                      ": repeat the installation");
    }
    code = print_sha1();
    if (code == 0 && !args->is_quiet) {
        report(client, was_loaded);
    }
    return code;
}
