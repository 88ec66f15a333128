/* SPDX-License-Identifier: Apache-2.0 */
/* The state shared by the files of the simulated server.
 *
 *     server.c      a server, its data and its sessions
 *     session.c     parses requests and executes them one by one
 *     commands.c    the table of commands
 *     strings.c hash.c zset.c scan.c info.c pubsub.c eval.c    the commands
 *     script.c      runs scripts, converts their values to replies
 *     lua.c         the functions for scripts */
#ifndef SIM_REDIS_SERVER_H
#define SIM_REDIS_SERVER_H

#include "redis/keyspace.h"
#include "redis/redis.h"
#include "redis/text.h"

struct sim_script;

/* Bytes of a run id, or of a SHA-1: 40 hex digits and a NUL. */
enum { SIM_ID_SIZE = 41 };

/* The subscription of a session to a channel. */
struct sim_listening {
    uint32_t hash;
    struct sim_blob *channel;
    struct sim_session *session;
};

/* The state of the running script that decides what it may do. */
struct sim_running {
    struct sim_session *session; /* NULL: none runs */
    bool is_full;                /* memory was full when the script began */
    bool has_written;
};

struct sim_redis {
    struct sim_redis_hooks hooks;
    struct sim_lua *lua;
    struct sim_keyspace keys;
    int64_t wall_us;
    bool is_full;
    bool is_mute;

    char run_id[SIM_ID_SIZE];
    char replid[SIM_ID_SIZE];
    char replid2[SIM_ID_SIZE];
    int64_t started_us;
    struct sim_redis_sync sync;

    struct sim_session *sessions; /* the last that came first */
    struct sim_listening *listening;
    size_t n_listening;
    size_t cap_listening;
    const struct sim_script **known; /* scripts whose text it has received */
    size_t n_known;
    size_t cap_known;
    struct sim_running running;
    struct sim_session *wrote; /* since the feed began, in order */
    struct sim_session **wrote_end;
};

struct sim_session {
    struct sim_redis *redis;
    void *user;
    struct sim_session *next;
    struct sim_session *next_wrote;
    bool has_wrote;
    bool is_over;
    size_t n_channels;

    struct sim_text in;
    size_t at;        /* read so far */
    int64_t n_wanted; /* arguments to come; 0: a command begins */
    int64_t bulk_len; /* of the next argument; -1: not known yet */
    size_t *offsets;  /* of the arguments in `in` */
    struct sim_arg *argv;
    size_t argc;
    size_t cap_args;

    struct sim_text out;
    size_t taken;
};

struct sim_call {
    struct sim_redis *redis;
    struct sim_session *session; /* whose command, or whose script */
    const struct sim_command *command;
    const struct sim_arg *argv;
    size_t argc;
    struct sim_text *out; /* receives the reply */
};

/* Execute a command, whose arity and flags were checked, and append the one
 * reply to call->out. */
typedef void sim_command_fn(struct sim_call *call);

enum {
    SIM_WRITES = 1,
    SIM_DENY_FULL = 2, /* refused when memory is full */
    SIM_NO_SCRIPT = 4, /* not from a script */
    SIM_CHANNELS = 16, /* refused without the right to channels */
    SIM_LISTENING = 8  /* allowed on a subscribed connection */
};

struct sim_command {
    const char *name; /* "script|load": a subcommand */
    size_t len;       /* of the part before '|' */
    int arity;        /* with the name; negative: at least */
    unsigned flags;
    sim_command_fn *run;
};

/* @return NULL: the command is unknown, or, if `is_container`, its subcommand.
 */
const struct sim_command *sim_command_find(const struct sim_arg *argv,
                                           size_t argc, bool *is_container);

/* Whether so many words, with the name, are a valid call. */
bool sim_command_takes(const struct sim_command *command, size_t argc);

/* ---- Helpers of commands ------------------------------------------------- */

/* Whether it is this word, in any case. */
bool sim_arg_is(const struct sim_arg *arg, const char *word);

/* Reply an error, in the words of Redis. The command must return then. */
void sim_call_wrong_type(struct sim_call *call);
void sim_call_syntax_error(struct sim_call *call);
void sim_call_wrong_arity(struct sim_call *call);

/* @return false: the argument is no number; the error was replied. */
bool sim_call_integer(struct sim_call *call, size_t at, int64_t *out);
bool sim_call_double(struct sim_call *call, size_t at, double *out);

/* The key named by the first argument; NULL: there is none. @return false: it
 * has another type; the error was replied. */
bool sim_call_key(struct sim_call *call, enum sim_type type,
                  struct sim_key **key);

/* The same, for a command that adds to it. @return NULL: another type. */
struct sim_key *sim_call_key_or_new(struct sim_call *call, enum sim_type type);

/* Redis removes a key that has become empty. */
void sim_call_remove_if_empty(struct sim_call *call, struct sim_key *key);

/* The commands, for the table of commands.c. */
sim_command_fn sim_auth;
sim_command_fn sim_config_get;
sim_command_fn sim_dbsize;
sim_command_fn sim_del;
sim_command_fn sim_echo;
sim_command_fn sim_eval;
sim_command_fn sim_evalsha;
sim_command_fn sim_exists;
sim_command_fn sim_flushall;
sim_command_fn sim_get;
sim_command_fn sim_hdel;
sim_command_fn sim_hget;
sim_command_fn sim_hgetall;
sim_command_fn sim_hset;
sim_command_fn sim_info;
sim_command_fn sim_pexpire;
sim_command_fn sim_pexpireat;
sim_command_fn sim_ping;
sim_command_fn sim_pttl;
sim_command_fn sim_publish;
sim_command_fn sim_quit;
sim_command_fn sim_scan;
sim_command_fn sim_script_exists;
sim_command_fn sim_script_flush;
sim_command_fn sim_script_load;
sim_command_fn sim_select;
sim_command_fn sim_set;
sim_command_fn sim_subscribe;
sim_command_fn sim_time;
sim_command_fn sim_type_of;
sim_command_fn sim_unsubscribe;
sim_command_fn sim_zadd;
sim_command_fn sim_zcard;
sim_command_fn sim_zcount;
sim_command_fn sim_zpopmin;
sim_command_fn sim_zrange;
sim_command_fn sim_zrangebyscore;
sim_command_fn sim_zrank;
sim_command_fn sim_zrem;
sim_command_fn sim_zrevrange;
sim_command_fn sim_zscore;

/* ---- Sessions ------------------------------------------------------------ */

/* The output for a push to the session; the `wrote` hook will be called. */
struct sim_text *sim_session_out(struct sim_session *session);

/* Drops all subscriptions of the connection, without a reply. */
void sim_session_unsubscribe_all(struct sim_session *session);

/* ---- Scripts ------------------------------------------------------------- */

struct sim_script {
    struct sim_script *next;
    char sha1[SIM_ID_SIZE];
    const char *name; /* "": not one of ours */
    int function;     /* a reference in Lua's registry */
    size_t len;
    char text[];
};

/* "acquire" …; "": no script of Holdfast has this hash. */
const char *sim_script_name(const char *sha1);

/* Compile the script if it is new to `lua`. @return NULL: `out` has the error.
 */
const struct sim_script *sim_script_compile(struct sim_lua *lua,
                                            const char *text, size_t len,
                                            struct sim_text *out);

/* argv[3] …: n_keys keys, then arguments; the reply goes to call->out. */
void sim_script_run(struct sim_call *call, const struct sim_script *script,
                    size_t n_keys);

#endif
