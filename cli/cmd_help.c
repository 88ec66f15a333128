/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast help: the commands, one command, or the stores. */
#include "cmd.h"

#include "exit_code.h"
#include "message.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const char stores_text[] =
    "The store is -u URL, else HOLDFAST_URL, else the url of\n"
    "~/.config/holdfast/config or /etc/holdfast/config, else local:\n\n"
    "  local:                          this machine, nothing to set up\n"
    "  local:///DIR                    the same, in folder /DIR\n"
    "  redis://[USER:PASSWORD@]HOST[:PORT][/DB]\n"
    "                                  one Redis or Valkey\n"
    "  redis://A:6379,B:6379,C:6379    a majority of several (Redlock): an\n"
    "                                  odd number of independent servers\n"
    "  rediss://...                    the same with TLS\n"
    "  redis+unix:///PATH.sock         a unix socket\n"
    "  \"rediss://A redis+unix:///B redis://C\"\n"
    "                                  whole URLs, separated by blanks\n"
    "  valkey://, valkeys://, valkey+unix://  the same as redis\n"
    "  postgres://USER@HOST[:PORT]/DATABASE\n"
    "                                  one PostgreSQL, by its module; further\n"
    "                                  parameters are those of libpq\n"
    "  postgres://...?lock=advisory[&key=12345|1,2|rails]\n"
    "                                  the advisory lock of that key, or of\n"
    "                                  the name, as other programs lock it\n"
    "  mysql://USER@HOST[:PORT]/       one MariaDB or MySQL, by its module;\n"
    "                                  also mariadb://\n"
    "  mysqls://..., mariadbs://...    the same with TLS\n"
    "  mysql://...?lock=named[&key=NAME]\n"
    "                                  the lock of GET_LOCK() with that name,\n"
    "                                  or of the name\n"
    "  etcd://[USER:PASSWORD@]HOST[:PORT],HOST,...\n"
    "                                  one etcd cluster, by its module\n"
    "  etcds://...                     the same with TLS\n"
    "  consul://[:TOKEN@]HOST[:PORT],HOST,...\n"
    "                                  one datacenter of Consul, by its "
    "module\n"
    "  consuls://...                   the same with TLS\n"
    "  zookeeper://[USER:PASSWORD@]HOST[:PORT],HOST,...[/CHROOT]\n"
    "                                  one ZooKeeper ensemble, by its module\n"
    "  SCHEME:...                      any other: by module store-SCHEME.so\n\n"
    "Parameters follow ? and are separated by &; in the configuration file\n"
    "they are lines `key = value`:\n"
    "  prefix=TEXT            prefix of every key (lock:)\n"
    "  connect_timeout=DUR    timeout of connect and handshake (1s)\n"
    "  node_timeout=DUR       timeout of a reply (50ms, at most 5% of the\n"
    "                         ttl; databases 500ms)\n"
    "  tls_ca=, tls_cert=, tls_key=   files\n"
    "  quarantine=strict|off  strict: a server that may have lost locks has\n"
    "                         no vote until these have expired (strict)\n"
    "  max_ttl=DUR            longest lease; equal in all clients (60s)\n"
    "  fence_keep=DUR         how long an idle name's counter is kept;\n"
    "                         equal in all clients (1h, at least 10s)\n"
    "  fence_base=N           added to every fence, after a move from a store\n"
    "                         with larger ones; equal in all clients (0)\n\n"
    "The configuration file may also have `url` and `password_file`. If it\n"
    "has a password and all users may read or write it, it is refused. The\n"
    "variable HOLDFAST_PASSWORD_FILE is used with HOLDFAST_URL and -u.\n";

/* ---- Capabilities of the stores ------------------------------------------ */

static const char capabilities_text[] =
    "\nWhat each can do. A lock that is not released ends with its lease,\n"
    "or at once with its holder's process or connection. Where locks are\n"
    "records, --permits, --once, --min-hold, break, extend and ls without a\n"
    "name work, too; on ZooKeeper neither --min-hold nor extend beyond the\n"
    "ttl.\n\n"
    "  store                         ends with   fences queue  shared values "
    "records\n";

static const struct {
    const char *shown, *url;
} listed[] = {
    {"local:", "local:"},
    {"redis://A", "redis://a"},
    {"redis://A,B,C", "redis://a,b,c"},
    {"postgres://", "postgres://u@h/d"},
    {"postgres://...?lock=advisory", "postgres://u@h/d?lock=advisory"},
    {"mysql://", "mysql://u@h/"},
    {"mysql://...?lock=named", "mysql://u@h/?lock=named"},
    {"etcd://", "etcd://h"},
    {"consul://", "consul://h"},
    {"zookeeper://", "zookeeper://h"},
};

static const char *ending(unsigned can)
{
    if ((can & HF_CAP_LIVENESS) != 0) {
        return "process";
    }
    return (can & HF_CAP_FENCES) != 0 ? "lease" : "connection";
}

static void print_store(struct cli_out *out, const char *shown, const char *url)
{
    static const unsigned columns[] = {HF_CAP_FENCES, HF_CAP_QUEUE,
                                       HF_CAP_SHARED, HF_CAP_VALUES,
                                       HF_CAP_RECORDS};
    unsigned can;
    cli_out_text(out, "  ");
    cli_out_text(out, shown);
    cli_out_pad(out, 30 - strlen(shown));
    if (hf_store_capabilities(url, &can, NULL) != HF_OK) {
        cli_out_text(out, "not installed\n");
        return;
    }
    cli_out_text(out, ending(can));
    cli_out_pad(out, 12 - strlen(ending(can)));
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        bool is_last = i + 1 == sizeof(columns) / sizeof(columns[0]);
        bool has = (can & columns[i]) != 0;
        cli_out_text(out, has ? "yes" : "no");
        cli_out_text(out, is_last ? "\n" : has ? "    " : "     ");
    }
}

static void print_capabilities(struct cli_out *out)
{
    cli_out_text(out, capabilities_text);
    for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
        print_store(out, listed[i].shown, listed[i].url);
    }
}

static int print_end(struct cli_out *out)
{
    return cli_out_flush(out)
               ? 0
               : cli_message_errno(CLI_EXIT_INTERNAL, "stdout", out->error);
}

int cli_cmd_help_print(const struct cli_cmd *cmd)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    cli_out_text(&out, "usage: holdfast ");
    cli_out_text(&out, cmd->name);
    cli_out_text(&out, " ");
    cli_out_text(&out, cmd->usage);
    cli_out_text(&out, "\n\n");
    cli_out_text(&out, cmd->text);
    if (cmd->opts != NULL) {
        cli_out_text(&out, "\nOptions:\n");
        cli_opt_help(&out, cmd->opts);
    }
    cli_out_text(&out, "\nOptions of every command:\n");
    cli_opt_help(&out, cli_opts_common);
    return print_end(&out);
}

static int print_all(void)
{
    struct cli_out out;
    cli_out_init(&out, STDOUT_FILENO);
    cli_out_text(&out, "holdfast: distributed locks that hold\n\n"
                       "usage: holdfast COMMAND [OPTIONS] ...\n\n");
    for (size_t i = 0; cli_cmds[i] != NULL; i++) {
        const struct cli_cmd *cmd = cli_cmds[i];
        if (cmd->summary == NULL) {
            continue;
        }
        cli_out_text(&out, "  ");
        cli_out_text(&out, cmd->name);
        cli_out_pad(&out, 10 - strlen(cmd->name));
        cli_out_text(&out, cmd->summary);
        cli_out_text(&out, "\n");
    }
    cli_out_text(&out, "\n"
                       "See also holdfast help COMMAND, holdfast help stores "
                       "(URLs) and\nholdfast --version. Options of every "
                       "command:\n");
    cli_opt_help(&out, cli_opts_common);
    return print_end(&out);
}

static int run(struct cli_args *args)
{
    struct cli_out out;
    if (args->n_words == 0) {
        return print_all();
    }
    if (strcmp(args->words[0], "stores") == 0) {
        cli_out_init(&out, STDOUT_FILENO);
        cli_out_text(&out, stores_text);
        print_capabilities(&out);
        return print_end(&out);
    }
    const struct cli_cmd *cmd = cli_cmd_find(args->words[0]);
    if (cmd == NULL) {
        return cli_cmd_unknown(args->words[0]);
    }
    return cli_cmd_help_print(cmd);
}

const struct cli_cmd cli_cmd_help = {
    .name = "help",
    .usage = "[COMMAND | stores]",
    .summary = "print help on a command, or on store URLs",
    .text = "Prints the description and the options of a command.\n",
    .words_max = 1,
    .too_many = "one command at a time",
    .offers = CLI_OFFER_COMMANDS,
    .run = run,
};
