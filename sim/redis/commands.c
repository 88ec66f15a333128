/* SPDX-License-Identifier: Apache-2.0 */
/* THE TABLE OF COMMANDS, and helpers that their functions share
 *
 * A command is found by its length and its last letter, among some lists that
 * are made once: then few names are compared. A command with subcommands is a
 * container, and the second word is searched for in a table of its own. Arity
 * and flags are those of Redis: a server refuses a call by them before it runs.
 *
 * Cost: O(1) on average to find a command; O(n) for a subcommand. */
#include "redis/server.h"

#include <strings.h>

#define WRITE SIM_WRITES
#define GROW (SIM_WRITES | SIM_DENY_FULL)
#define APART SIM_NO_SCRIPT
#define ANYWHERE (SIM_NO_SCRIPT | SIM_LISTENING)

#define COMMAND(name, arity, flags, run)                                       \
    {                                                                          \
        name, sizeof(name) - 1, arity, flags, run                              \
    }

static const struct sim_command commands[] = {
    COMMAND("hget", 3, 0, sim_hget),
    COMMAND("time", 1, 0, sim_time),
    COMMAND("get", 2, 0, sim_get),
    COMMAND("set", -3, GROW, sim_set),
    COMMAND("exists", -2, 0, sim_exists),
    COMMAND("evalsha", -3, APART, sim_evalsha),
    COMMAND("pttl", 2, 0, sim_pttl),
    COMMAND("del", -2, WRITE, sim_del),
    COMMAND("zpopmin", -2, WRITE, sim_zpopmin),
    COMMAND("zrange", -4, 0, sim_zrange),
    COMMAND("pexpire", -3, WRITE, sim_pexpire),
    COMMAND("hset", -4, GROW, sim_hset),
    COMMAND("hdel", -3, WRITE, sim_hdel),
    COMMAND("zrem", -3, WRITE, sim_zrem),
    COMMAND("publish", 3, SIM_CHANNELS, sim_publish),
    COMMAND("zadd", -4, GROW, sim_zadd),
    COMMAND("zscore", 3, 0, sim_zscore),
    COMMAND("zcount", 4, 0, sim_zcount),
    COMMAND("zrank", 3, 0, sim_zrank),
    COMMAND("zcard", 2, 0, sim_zcard),
    COMMAND("pexpireat", -3, WRITE, sim_pexpireat),
    COMMAND("zrangebyscore", -4, 0, sim_zrangebyscore),
    COMMAND("zrevrange", -4, 0, sim_zrevrange),
    COMMAND("type", 2, 0, sim_type_of),
    COMMAND("auth", -2, APART, sim_auth),
    COMMAND("dbsize", 1, 0, sim_dbsize),
    COMMAND("echo", 2, 0, sim_echo),
    COMMAND("eval", -3, APART, sim_eval),
    COMMAND("flushall", -1, WRITE, sim_flushall),
    COMMAND("hgetall", 2, 0, sim_hgetall),
    COMMAND("info", -1, 0, sim_info),
    COMMAND("ping", -1, SIM_LISTENING, sim_ping),
    COMMAND("quit", -1, ANYWHERE, sim_quit),
    COMMAND("scan", -2, 0, sim_scan),
    COMMAND("select", 2, 0, sim_select),
    COMMAND("subscribe", -2, ANYWHERE | SIM_CHANNELS, sim_subscribe),
    COMMAND("unsubscribe", -1, ANYWHERE, sim_unsubscribe),
    COMMAND("config", -2, APART, NULL),
    COMMAND("script", -2, APART, NULL),
};

static const struct sim_command subcommands[] = {
    COMMAND("config|get", -3, APART, sim_config_get),
    COMMAND("script|exists", -3, APART, sim_script_exists),
    COMMAND("script|flush", -2, APART, sim_script_flush),
    COMMAND("script|load", 3, APART, sim_script_load),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Finding ------------------------------------------------------------- */

/* The commands by length and last letter: a list for each. About twice as many
 * as commands, so that most lists have one. */
#define LISTS 64
#define END COUNT(commands)

static struct {
    bool is_made;
    size_t first[LISTS];
    size_t next[COUNT(commands)];
} lists;

static size_t list_of(const char *word, size_t len)
{
    unsigned last = len == 0 ? 0 : (unsigned char)word[len - 1] | 0x20U;
    return (last * 7 + len) % LISTS;
}

static void make_lists(void)
{
    for (size_t i = 0; i < LISTS; i++) {
        lists.first[i] = END;
    }
    for (size_t i = END; i-- > 0;) {
        size_t list = list_of(commands[i].name, commands[i].len);
        lists.next[i] = lists.first[list];
        lists.first[list] = i;
    }
    lists.is_made = true;
}

static const struct sim_command *find_sub(const struct sim_command *container,
                                          const struct sim_arg *word)
{
    for (size_t i = 0; i < COUNT(subcommands); i++) {
        const struct sim_command *command = &subcommands[i];
        const char *name = command->name + container->len + 1;
        if (command->len == container->len + 1 + word->len &&
            memcmp(command->name, container->name, container->len) == 0 &&
            strncasecmp(name, word->data, word->len) == 0) {
            return command;
        }
    }
    return NULL;
}

const struct sim_command *sim_command_find(const struct sim_arg *argv,
                                           size_t argc, bool *is_container)
{
    const struct sim_arg *word = &argv[0];
    *is_container = false;
    if (!lists.is_made) {
        make_lists();
    }
    size_t i = lists.first[list_of(word->data, word->len)];
    for (; i != END; i = lists.next[i]) {
        const struct sim_command *command = &commands[i];
        if (command->len != word->len ||
            strncasecmp(command->name, word->data, word->len) != 0) {
            continue;
        }
        if (command->run != NULL || argc == 1) {
            return command;
        }
        *is_container = true;
        return find_sub(command, &argv[1]);
    }
    return NULL;
}

bool sim_command_takes(const struct sim_command *command, size_t argc)
{
    return command->arity > 0 ? argc == (size_t)command->arity
                              : argc >= (size_t)-command->arity;
}

/* ---- Helpers of commands ------------------------------------------------- */

bool sim_arg_is(const struct sim_arg *arg, const char *word)
{
    return strcasecmp(arg->data, word) == 0;
}

void sim_call_wrong_type(struct sim_call *call)
{
    sim_reply_error(call->out, "WRONGTYPE Operation against a key holding the "
                               "wrong kind of value");
}

void sim_call_syntax_error(struct sim_call *call)
{
    sim_reply_error(call->out, "ERR syntax error");
}

void sim_call_wrong_arity(struct sim_call *call)
{
    sim_reply_error(call->out, "ERR wrong number of arguments for '%s' command",
                    call->command->name);
}

bool sim_call_integer(struct sim_call *call, size_t at, int64_t *out)
{
    if (!sim_integer_parse(call->argv[at].data, call->argv[at].len, out)) {
        sim_reply_error(call->out,
                        "ERR value is not an integer or out of range");
        return false;
    }
    return true;
}

bool sim_call_double(struct sim_call *call, size_t at, double *out)
{
    if (!sim_double_parse(call->argv[at].data, call->argv[at].len, out)) {
        sim_reply_error(call->out, "ERR value is not a valid float");
        return false;
    }
    return true;
}

bool sim_call_key(struct sim_call *call, enum sim_type type,
                  struct sim_key **key)
{
    *key = sim_keyspace_find(&call->redis->keys, call->argv[1].data,
                             call->argv[1].len);
    if (*key != NULL && (*key)->type != type) {
        sim_call_wrong_type(call);
        return false;
    }
    return true;
}

struct sim_key *sim_call_key_or_new(struct sim_call *call, enum sim_type type)
{
    struct sim_key *key;
    if (!sim_call_key(call, type, &key)) {
        return NULL;
    }
    return key != NULL
               ? key
               : sim_keyspace_add(&call->redis->keys, call->argv[1].data,
                                  call->argv[1].len, type);
}

void sim_call_remove_if_empty(struct sim_call *call, struct sim_key *key)
{
    if (key->n_items == 0) {
        sim_keyspace_remove(&call->redis->keys, key);
    }
}
