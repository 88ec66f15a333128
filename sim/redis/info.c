/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the server as a whole, and its connection commands. */
#include "redis/server.h"

#include <inttypes.h>

static const char no_id[] = "0000000000000000000000000000000000000000";

static void print_server(const struct sim_redis *redis, struct sim_text *text)
{
    int64_t up_s = redis->wall_us / 1000000 - redis->started_us / 1000000;
    sim_text_print(text,
                   "# Server\r\nredis_version:7.0.15\r\n"
                   "redis_mode:standalone\r\nos:simulated\r\narch_bits:64\r\n"
                   "run_id:%s\r\ntcp_port:6379\r\n"
                   "server_time_usec:%" PRId64 "\r\n"
                   "uptime_in_seconds:%" PRId64 "\r\n"
                   "uptime_in_days:%" PRId64 "\r\n",
                   redis->run_id, redis->wall_us, up_s, up_s / 86400);
}

static void print_replication(const struct sim_redis *redis,
                              struct sim_text *text)
{
    sim_text_print(text,
                   "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
                   "master_failover_state:no-failover\r\n"
                   "master_replid:%s\r\nmaster_replid2:%s\r\n"
                   "master_repl_offset:0\r\nsecond_repl_offset:-1\r\n",
                   redis->replid,
                   redis->replid2[0] == '\0' ? no_id : redis->replid2);
}

static const struct section {
    const char *name;
    /* Append the section's lines. */
    void (*print)(const struct sim_redis *redis, struct sim_text *text);
} sections[] = {{"server", print_server}, {"replication", print_replication}};

static bool is_wanted(const struct sim_call *call, const char *name)
{
    if (call->argc == 1) {
        return true;
    }
    for (size_t i = 1; i < call->argc; i++) {
        const struct sim_arg *word = &call->argv[i];
        if (sim_arg_is(word, name) || sim_arg_is(word, "all") ||
            sim_arg_is(word, "default") || sim_arg_is(word, "everything")) {
            return true;
        }
    }
    return false;
}

void sim_info(struct sim_call *call)
{
    struct sim_text text = {0};
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (is_wanted(call, sections[i].name)) {
            sim_text_add(&text, "\r\n", text.len == 0 ? 0 : 2);
            sections[i].print(call->redis, &text);
        }
    }
    sim_reply_bulk(call->out, text.data == NULL ? "" : text.data, text.len);
    sim_text_fini(&text);
}

/* Takes whole names, no patterns. */
void sim_config_get(struct sim_call *call)
{
    const struct sim_redis *redis = call->redis;
    const char *const settings[][2] = {
        {"appendonly", redis->sync.appendonly ? "yes" : "no"},
        {"appendfsync", redis->sync.fsync_always ? "always" : "everysec"},
        {"no-appendfsync-on-rewrite",
         redis->sync.no_fsync_on_rewrite ? "yes" : "no"},
        {"maxmemory", "0"},
        {"maxmemory-policy", "noeviction"},
        {"min-replicas-to-write", "0"},
    };
    enum { N = sizeof(settings) / sizeof(settings[0]) };
    size_t found[N];
    size_t n = 0;
    for (size_t i = 0; i < N; i++) {
        bool is_asked = false;
        for (size_t j = 2; j < call->argc; j++) {
            is_asked |= sim_arg_is(&call->argv[j], settings[i][0]);
        }
        if (is_asked) {
            found[n++] = i;
        }
    }
    sim_reply_array(call->out, 2 * n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 2; j++) {
            const char *text = settings[found[i]][j];
            sim_reply_bulk(call->out, text, strlen(text));
        }
    }
}

/* The default user has no password, and there is no other user. */
void sim_auth(struct sim_call *call)
{
    if (call->argc > 3) {
        sim_call_syntax_error(call);
    } else if (call->argc == 2) {
        sim_reply_error(
            call->out,
            "ERR AUTH <password> called without any password configured for "
            "the default user. Are you sure your configuration is correct?");
    } else if (strcmp(call->argv[1].data, "default") == 0) {
        sim_reply_status(call->out, "OK");
    } else {
        sim_reply_error(call->out, "WRONGPASS invalid username-password pair "
                                   "or user is disabled.");
    }
}

void sim_select(struct sim_call *call)
{
    int64_t db;
    if (!sim_integer_parse(call->argv[1].data, call->argv[1].len, &db)) {
        sim_reply_error(call->out,
                        "ERR value is not an integer or out of range");
    } else if (db < INT32_MIN || db > INT32_MAX) {
        sim_reply_error(call->out,
                        "ERR value is out of range, value must between %d and "
                        "%d",
                        INT32_MIN, INT32_MAX);
    } else if (db != 0) {
        sim_reply_error(call->out, "ERR DB index is out of range");
    } else {
        sim_reply_status(call->out, "OK");
    }
}

void sim_echo(struct sim_call *call)
{
    sim_reply_bulk(call->out, call->argv[1].data, call->argv[1].len);
}

void sim_dbsize(struct sim_call *call)
{
    sim_reply_integer(call->out, (int64_t)call->redis->keys.n_keys);
}

void sim_flushall(struct sim_call *call)
{
    if (call->argc > 2 ||
        (call->argc == 2 && !sim_arg_is(&call->argv[1], "sync") &&
         !sim_arg_is(&call->argv[1], "async"))) {
        sim_call_syntax_error(call);
        return;
    }
    sim_keyspace_clear(&call->redis->keys);
    sim_reply_status(call->out, "OK");
}

void sim_quit(struct sim_call *call)
{
    call->session->is_over = true;
    sim_reply_status(call->out, "OK");
}
