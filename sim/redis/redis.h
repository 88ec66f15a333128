/* SPDX-License-Identifier: Apache-2.0 */
/* A SIMULATED REDIS SERVER: bytes in, bytes out, in memory, at a time that is
 * told. It speaks RESP2 as Redis 7.0 does and runs the shipped Lua scripts
 * themselves, whose text arrives by EVAL, over a keyspace of strings, hashes
 * and sorted sets. tests/conformance/sim_redis.c holds it against a real one.
 *
 *     struct sim_lua *lua = sim_lua_new();             for all servers
 *     struct sim_redis *redis = sim_redis_new(lua, &hooks);
 *     sim_redis_set_identity(redis, &identity);
 *     sim_redis_set_clock(redis, wall_us);             as often as time moves
 *     struct sim_session *session = sim_redis_connect(redis, user);
 *     sim_redis_feed(session, data, len);              executes what is whole
 *     len = sim_session_take(session, &data);          replies and pushes
 *
 * Time stands still within sim_redis_feed(). Nothing is random, nothing asks
 * the system, and all order is that of insertion, so that the same calls give
 * the same bytes.
 *
 * Differences from a real server: there is database 0 alone; RESP2 alone, no
 * inline commands; the default user has no password; what is not listed in
 * commands.c is an unknown command, and BYLEX an error. Hashes of any
 * size keep their order, SCAN's is that of the keys. INFO and CONFIG GET know
 * what the library asks. Scripts have no cjson, no random numbers, and reply
 * with no maps; nothing keeps them from replacing Lua's own functions, which
 * a real server does. Memory that runs out is an abort.
 *
 * Threads: whatever shares a struct sim_lua belongs to one thread. */
#ifndef SIM_REDIS_H
#define SIM_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The Lua interpreter and the scripts compiled so far. Servers that share one
 * are still apart: a script can leave nothing behind in it, and each server
 * answers NOSCRIPT until it was sent the text itself. */
struct sim_lua;

/* One server: its memory, its identity, its clock. */
struct sim_redis;

/* One connection. */
struct sim_session;

/* A copy of a server's memory. */
struct sim_image;

struct sim_arg {
    const char *data; /* followed by a NUL */
    size_t len;
};

/* A script was executed. */
struct sim_run {
    const char *script; /* "acquire" …; "": not one of ours */
    size_t argc;
    const struct sim_arg *argv; /* as received: EVALSHA, sha1, 7, key … */
    const char *reply;          /* RESP */
    size_t reply_len;
    bool has_written; /* it ran a command that may write */
};

/* Told once per sim_redis_feed() and session that there are bytes to take: a
 * reply, or a push to another session. Neither hook may call this server,
 * except for sim_session_take(), sim_session_user() and what only looks. */
typedef void sim_redis_wrote_fn(void *user, struct sim_session *session);

/* Told of each executed script, in order, for traces. All is borrowed. */
typedef void sim_redis_ran_fn(void *user, struct sim_session *session,
                              const struct sim_run *run);

/* Any may be NULL. */
struct sim_redis_hooks {
    void *user;
    sim_redis_wrote_fn *wrote;
    sim_redis_ran_fn *ran;
    sim_redis_ran_fn *missed; /* EVALSHA of a script that it does not know; the
                                 name is that of ours with this hash */
};

/* What INFO and CONFIG GET tell. Texts are copied, 40 bytes at most. */
struct sim_redis_identity {
    const char *run_id;
    const char *replid;
    const char *replid2; /* NULL: none */
    int64_t started_us;  /* wall clock */
};

/* How it keeps what it writes, by CONFIG GET. */
struct sim_redis_sync {
    bool appendonly;
    bool fsync_always;
    bool no_fsync_on_rewrite;
};

struct sim_lua *sim_lua_new(void);

/* After the servers that use it. NULL is ignored. */
void sim_lua_free(struct sim_lua *lua);

/* Empty, at time 0, without identity. `hooks` is copied; NULL: none. */
struct sim_redis *sim_redis_new(struct sim_lua *lua,
                                const struct sim_redis_hooks *hooks);

/* With its sessions. NULL is ignored. */
void sim_redis_free(struct sim_redis *redis);

void sim_redis_set_identity(struct sim_redis *redis,
                            const struct sim_redis_identity *identity);

void sim_redis_set_sync(struct sim_redis *redis,
                        const struct sim_redis_sync *sync);

/* Its wall clock, microseconds since 1970. Backwards only as a fault. */
void sim_redis_set_clock(struct sim_redis *redis, int64_t wall_us);
int64_t sim_redis_clock(const struct sim_redis *redis);

/* Out of memory: commands that may need more are refused, as with maxmemory
 * and noeviction. */
void sim_redis_set_full(struct sim_redis *redis, bool is_full);

/* No connection may publish or subscribe, as a user without rights to channels.
 * A real server closes the connections that have subscribed: disconnect them.
 */
void sim_redis_set_mute(struct sim_redis *redis, bool is_mute);

/* ---- Sessions ------------------------------------------------------------ */

struct sim_session *sim_redis_connect(struct sim_redis *redis, void *user);

/* Drops its subscriptions; the session is gone. */
void sim_redis_disconnect(struct sim_session *session);

/* Bytes came, cut anywhere. What is complete is executed. */
void sim_redis_feed(struct sim_session *session, const char *data, size_t len);

/* What was written since the last take. Borrowed until the next
 * sim_redis_feed() of any session of this server. */
size_t sim_session_take(struct sim_session *session, const char **data);

/* It said QUIT, or spoke no RESP: nothing that it sends is read any more, and
 * a real server would close the connection once the bytes are taken. */
bool sim_session_is_over(const struct sim_session *session);

void *sim_session_user(const struct sim_session *session);

/* ---- Its memory as a whole ----------------------------------------------- */

/* To restart from, or to fail over to. Owner: caller, sim_image_free(). */
struct sim_image *sim_redis_save(const struct sim_redis *redis);
void sim_image_free(struct sim_image *image);

/* It was started again with this memory (NULL: none): its scripts are
 * forgotten. Disconnect its sessions first. The image may be used again, and
 * by other servers. */
void sim_redis_load(struct sim_redis *redis, const struct sim_image *image);

/* FLUSHALL. */
void sim_redis_flush(struct sim_redis *redis);

/* SCRIPT FLUSH. */
void sim_redis_script_flush(struct sim_redis *redis);

/* Forget one key, any. @return false: there was none. */
bool sim_redis_evict(struct sim_redis *redis, uint64_t random);

/* ---- What oracles look at -------------------------------------------------
 */

/* Keys that have not expired. */
size_t sim_redis_count(const struct sim_redis *redis);

/* The text of a string key; NULL: there is none. Borrowed until the next call
 * that is not a look. */
const char *sim_redis_get(const struct sim_redis *redis, const char *key,
                          size_t key_len, size_t *len);

/* Until when a key lives, in milliseconds since 1970; INT64_MAX: it does not
 * expire; -1: there is none. */
int64_t sim_redis_end_ms(const struct sim_redis *redis, const char *key,
                         size_t key_len);

/* A field of a hash; NULL: there is none. Borrowed like a text. */
const char *sim_redis_field(const struct sim_redis *redis, const char *key,
                            size_t key_len, const char *field, size_t field_len,
                            size_t *len);

/* A member's score in a sorted set; -1: there is none. */
double sim_redis_score(const struct sim_redis *redis, const char *key,
                       size_t key_len, const char *member, size_t member_len);

/* How many members a sorted set has. */
size_t sim_redis_members(const struct sim_redis *redis, const char *key,
                         size_t key_len);

/* Everything, sorted by key: "key type left-ms value …", one line each; left
 * is -1 without expiry; a value is text in Redis' own quotes, of hashes field
 * and text by field, of sorted sets member and score by rank. */
void sim_redis_dump(const struct sim_redis *redis, FILE *out);

#endif
