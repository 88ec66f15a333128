/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the bytes of a connection and executes the commands. The parser
 * resumes an incomplete request where it stopped. */
#include "redis/server.h"

#include <stdlib.h>

/* The limits of Redis, in bytes, for an unterminated line and for an argument;
 * and for the number of arguments. */
#define LINE_MAX_BYTES (64 * 1024)
#define BULK_MAX_BYTES (INT64_C(512) * 1024 * 1024)
#define ARGS_MAX INT32_MAX

enum { MORE, WHOLE, BROKEN };

/* ---- Reading ------------------------------------------------------------- */

static int break_off(struct sim_session *session, const char *why)
{
    sim_reply_error(sim_session_out(session), "ERR Protocol error: %s", why);
    session->is_over = true;
    return BROKEN;
}

/* Read the rest of a line after its first byte. */
static int read_line(struct sim_session *session, const char *what,
                     bool *is_number, int64_t *out)
{
    const char *line = session->in.data + session->at + 1;
    size_t left = session->in.len - session->at - 1;
    const char *end = memchr(line, '\r', left);
    if (end == NULL && left > LINE_MAX_BYTES) {
        return break_off(session, what);
    }
    if (end == NULL || (size_t)(end - line) + 2 > left) {
        return MORE;
    }
    *is_number = sim_integer_parse(line, (size_t)(end - line), out);
    session->at += (size_t)(end - line) + 3;
    return WHOLE;
}

static int read_head(struct sim_session *session)
{
    bool is_number;
    int64_t n;
    if (session->in.data[session->at] != '*') {
        return break_off(session, "inline commands are not simulated");
    }
    int status =
        read_line(session, "too big mbulk count string", &is_number, &n);
    if (status != WHOLE) {
        return status;
    }
    if (!is_number || n > ARGS_MAX) {
        return break_off(session, "invalid multibulk length");
    }
    session->n_wanted = n > 0 ? n : 0;
    session->bulk_len = -1;
    session->argc = 0;
    return WHOLE;
}

static int read_bulk_head(struct sim_session *session)
{
    bool is_number;
    char first = session->in.data[session->at];
    if (first != '$') {
        char why[] = "expected '$', got '?'";
        why[sizeof(why) - 3] = first;
        return break_off(session, why);
    }
    int64_t len;
    int status =
        read_line(session, "too big bulk count string", &is_number, &len);
    if (status != WHOLE) {
        return status;
    }
    if (!is_number || len < 0 || len > BULK_MAX_BYTES) {
        return break_off(session, "invalid bulk length");
    }
    session->bulk_len = len;
    return WHOLE;
}

static void add_arg(struct sim_session *session)
{
    if (session->argc == session->cap_args) {
        session->cap_args = session->cap_args == 0 ? 32 : 2 * session->cap_args;
        session->offsets = sim_realloc(
            session->offsets, session->cap_args * sizeof(*session->offsets));
        session->argv = sim_realloc(session->argv,
                                    session->cap_args * sizeof(*session->argv));
    }
    size_t len = (size_t)session->bulk_len;
    session->offsets[session->argc] = session->at;
    session->argv[session->argc++].len = len;
    session->in.data[session->at + len] = '\0'; /* its line's end is read */
    session->at += len + 2;
    session->bulk_len = -1;
    session->n_wanted--;
}

static int read_arg(struct sim_session *session)
{
    if (session->bulk_len < 0) {
        int status =
            session->at < session->in.len ? read_bulk_head(session) : MORE;
        if (status != WHOLE) {
            return status;
        }
    }
    if (session->in.len - session->at < (size_t)session->bulk_len + 2) {
        return MORE;
    }
    add_arg(session);
    return WHOLE;
}

/* Read to the end of one request; an empty one has no arguments. */
static int read_request(struct sim_session *session)
{
    int status = WHOLE;
    if (session->n_wanted == 0) {
        status = session->at < session->in.len ? read_head(session) : MORE;
    }
    while (status == WHOLE && session->n_wanted > 0) {
        status = read_arg(session);
    }
    for (size_t i = 0; status == WHOLE && i < session->argc; i++) {
        session->argv[i].data = session->in.data + session->offsets[i];
    }
    return status;
}

/* Drop the bytes that were read from the buffer. */
static void shift(struct sim_session *session)
{
    size_t keep = session->n_wanted > 0 && session->argc > 0
                      ? session->offsets[0]
                      : session->at;
    if (keep == 0) {
        return;
    }
    session->in.len -= keep;
    memmove(session->in.data, session->in.data + keep, session->in.len + 1);
    session->at -= keep;
    for (size_t i = 0; session->n_wanted > 0 && i < session->argc; i++) {
        session->offsets[i] -= keep;
    }
}

/* ---- Executing ----------------------------------------------------------- */

static void reply_unknown(const struct sim_call *call, bool is_container)
{
    struct sim_text args = {0};
    const struct sim_arg *argv = call->argv;
    if (is_container) {
        char name[16] = "";
        for (size_t i = 0; i < argv[0].len && i < sizeof(name) - 1; i++) {
            char c = argv[0].data[i];
            name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        }
        sim_reply_error(call->out,
                        "ERR unknown subcommand '%.128s'. Try %s HELP.",
                        argv[1].data, name);
        return;
    }
    sim_text_add(&args, "", 0);
    for (size_t i = 1; i < call->argc && args.len < 128; i++) {
        sim_text_print(&args, "'%.*s' ", 128 - (int)args.len, argv[i].data);
    }
    sim_reply_error(call->out,
                    "ERR unknown command '%.128s', with args beginning with: "
                    "%s",
                    argv[0].data, args.data);
    sim_text_fini(&args);
}

/* @return false: it may not be executed; the error was replied. */
static bool may_execute(struct sim_call *call)
{
    const struct sim_command *command = call->command;
    if (!sim_command_takes(command, call->argc)) {
        sim_call_wrong_arity(call);
        return false;
    }
    if (call->redis->is_mute && (command->flags & SIM_CHANNELS) != 0) {
        sim_reply_error(call->out, "NOPERM this user has no permissions to "
                                   "access one of the channels used as "
                                   "arguments");
        return false;
    }
    if (call->redis->is_full && (command->flags & SIM_DENY_FULL) != 0) {
        sim_reply_error(call->out, "OOM command not allowed when used memory "
                                   "> 'maxmemory'.");
        return false;
    }
    if (call->session->n_channels > 0 &&
        (command->flags & SIM_LISTENING) == 0) {
        sim_reply_error(
            call->out,
            "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
            "PING / QUIT / RESET are allowed in this context",
            command->name);
        return false;
    }
    return true;
}

static void execute(struct sim_session *session)
{
    bool is_container;
    struct sim_call call = {
        .redis = session->redis,
        .session = session,
        .command =
            sim_command_find(session->argv, session->argc, &is_container),
        .argv = session->argv,
        .argc = session->argc,
        .out = sim_session_out(session),
    };
    if (call.command == NULL) {
        reply_unknown(&call, is_container);
    } else if (may_execute(&call)) {
        call.command->run(&call);
    }
}

/* ---- Writing ------------------------------------------------------------- */

struct sim_text *sim_session_out(struct sim_session *session)
{
    struct sim_redis *redis = session->redis;
    if (session->taken == session->out.len) {
        session->taken = session->out.len = 0;
    }
    if (!session->has_wrote) {
        session->has_wrote = true;
        session->next_wrote = NULL;
        *redis->wrote_end = session;
        redis->wrote_end = &session->next_wrote;
    }
    return &session->out;
}

static void tell(struct sim_redis *redis)
{
    while (redis->wrote != NULL) {
        struct sim_session *session = redis->wrote;
        redis->wrote = session->next_wrote;
        session->has_wrote = false;
        if (redis->hooks.wrote != NULL && session->taken < session->out.len) {
            redis->hooks.wrote(redis->hooks.user, session);
        }
    }
    redis->wrote_end = &redis->wrote;
}

void sim_redis_feed(struct sim_session *session, const char *data, size_t len)
{
    int status = WHOLE;
    if (session->is_over) {
        return;
    }
    sim_text_add(&session->in, data, len);
    while (!session->is_over && status == WHOLE) {
        status = read_request(session);
        if (status == WHOLE && session->argc > 0) {
            execute(session);
            session->argc = 0;
        }
    }
    shift(session);
    tell(session->redis);
}

size_t sim_session_take(struct sim_session *session, const char **data)
{
    size_t len = session->out.len - session->taken;
    *data = len == 0 ? "" : session->out.data + session->taken;
    session->taken = session->out.len;
    return len;
}

bool sim_session_is_over(const struct sim_session *session)
{
    return session->is_over;
}

void *sim_session_user(const struct sim_session *session)
{
    return session->user;
}

/* ---- Connect and disconnect ---------------------------------------------- */

struct sim_session *sim_redis_connect(struct sim_redis *redis, void *user)
{
    struct sim_session *session = sim_alloc(sizeof(*session));
    *session = (struct sim_session){
        .redis = redis, .user = user, .next = redis->sessions, .bulk_len = -1};
    redis->sessions = session;
    return session;
}

void sim_redis_disconnect(struct sim_session *session)
{
    struct sim_session **at = &session->redis->sessions;
    while (*at != session) {
        at = &(*at)->next;
    }
    *at = session->next;
    sim_session_unsubscribe_all(session);
    sim_text_fini(&session->in);
    sim_text_fini(&session->out);
    free(session->offsets);
    free(session->argv);
    free(session);
}
