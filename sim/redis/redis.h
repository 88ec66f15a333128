/* SPDX-License-Identifier: Apache-2.0 */
/* A SIMULATED REDIS SERVER: requests in, replies out, in memory, with a clock
 * that the caller sets. It implements RESP2 as Redis 7.0 does and runs the
 * shipped Lua scripts, whose text arrives by EVAL, over a keyspace of strings,
 * hashes and sorted sets. tests/conformance/sim_redis.c compares it with a real
 * server.
 *
 *     struct sim_lua *lua = sim_lua_new();             for all servers
 *     struct sim_redis *redis = sim_redis_new(lua, &hooks);
 *     sim_redis_set_identity(redis, &identity);
 *     sim_redis_set_clock(redis, wall_us);             whenever time advances
 *     struct sim_session *session = sim_redis_connect(redis, user);
 *     sim_redis_feed(session, data, len);              executes requests
 *     len = sim_session_take(session, &data);          replies and pushes
 *
 * Time does not advance within sim_redis_feed(). There are no random numbers
 * and no system calls, and all order is that of insertion, so that the same
 * calls give the same bytes.
 *
 * Differences from a real server: only database 0; only RESP2, no inline
 * commands; the default user has no password; a command that is not listed in
 * commands.c is unknown, and BYLEX is an error. Hashes of any size keep their
 * order; SCAN uses the order of the keys. INFO and CONFIG GET have the fields
 * that the library reads. Scripts have no cjson, no random numbers, and reply
 * with no maps; they could replace Lua's own functions, which a real server
 * prevents. It aborts if memory runs out.
 *
 * Threads: all servers that share a struct sim_lua belong to one thread. */
#ifndef SIM_REDIS_H
#define SIM_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The Lua interpreter and the scripts compiled so far. Servers that share one
 * are still independent: a script cannot leave state in it, and each server
 * replies NOSCRIPT until it has received the script's text itself. */
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

/* Called once per sim_redis_feed() and session if there are bytes to take: a
 * reply, or a push to another session. No hook may call this server, except
 * sim_session_take(), sim_session_user() and functions that only read. */
typedef void sim_redis_wrote_fn(void *user, struct sim_session *session);

/* Called for each executed script, in order. All arguments are borrowed. */
typedef void sim_redis_ran_fn(void *user, struct sim_session *session,
                              const struct sim_run *run);

/* Any may be NULL. */
struct sim_redis_hooks {
    void *user;
    sim_redis_wrote_fn *wrote;
    sim_redis_ran_fn *ran;
    sim_redis_ran_fn *missed; /* EVALSHA of a script that the server does not
                                 know; `script` is its name in Holdfast */
};

/* Fields of INFO. Texts are copied, 40 bytes at most. */
struct sim_redis_identity {
    const char *run_id;
    const char *replid;
    const char *replid2; /* NULL: none */
    int64_t started_us;  /* wall clock */
};

/* Persistence settings, as CONFIG GET returns them. */
struct sim_redis_sync {
    bool appendonly;
    bool fsync_always;
    bool no_fsync_on_rewrite;
};

/* An interpreter, which several servers may share. sim_lua_free(). */
struct sim_lua *sim_lua_new(void);

/* After the servers that use it. NULL is ignored. */
void sim_lua_free(struct sim_lua *lua);

/* Empty, at time 0, without identity. `hooks` is copied; NULL: none. */
struct sim_redis *sim_redis_new(struct sim_lua *lua,
                                const struct sim_redis_hooks *hooks);

/* With its sessions. NULL is ignored. */
void sim_redis_free(struct sim_redis *redis);

/* What INFO reports from now on; NULL texts are empty. */
void sim_redis_set_identity(struct sim_redis *redis,
                            const struct sim_redis_identity *identity);

/* What CONFIG GET reports from now on. Data is never lost for it: that is the
 * caller's to do, with images. */
void sim_redis_set_sync(struct sim_redis *redis,
                        const struct sim_redis_sync *sync);

/* Set its wall clock, microseconds since 1970. Back only as a fault. */
void sim_redis_set_clock(struct sim_redis *redis, int64_t wall_us);

/* What was set last. */
int64_t sim_redis_clock(const struct sim_redis *redis);

/* Out of memory: commands that may need more are refused, as with maxmemory
 * and noeviction. */
void sim_redis_set_full(struct sim_redis *redis, bool is_full);

/* No connection may publish or subscribe, as a user without rights to channels.
 * A real server closes the connections that have subscribed: disconnect them.
 */
void sim_redis_set_mute(struct sim_redis *redis, bool is_mute);

/* ---- Sessions ------------------------------------------------------------ */

/* A client has connected. `user` is passed to the hooks.
 * sim_redis_disconnect(), or freed with the server. */
struct sim_session *sim_redis_connect(struct sim_redis *redis, void *user);

/* Drops its subscriptions and frees the session. */
void sim_redis_disconnect(struct sim_session *session);

/* Bytes have arrived, cut anywhere. Executes all complete requests. */
void sim_redis_feed(struct sim_session *session, const char *data, size_t len);

/* The bytes written since the last call. Borrowed until the next
 * sim_redis_feed() of any session of this server. */
size_t sim_session_take(struct sim_session *session, const char **data);

/* The client has sent QUIT, or bytes that are no RESP: its further bytes are
 * ignored. A real server would close the connection after the last reply. */
bool sim_session_is_over(const struct sim_session *session);

/* What sim_redis_connect() was given. */
void *sim_session_user(const struct sim_session *session);

/* ---- Images of its data -------------------------------------------------- */

/* Save its data, for a restart or a failover. Owner: caller, sim_image_free().
 */
struct sim_image *sim_redis_save(const struct sim_redis *redis);
void sim_image_free(struct sim_image *image);

/* The server has restarted with this data (NULL: none), and without scripts.
 * Disconnect its sessions first. The image may be used again, and by other
 * servers. */
void sim_redis_load(struct sim_redis *redis, const struct sim_image *image);

/* FLUSHALL. */
void sim_redis_flush(struct sim_redis *redis);

/* SCRIPT FLUSH. */
void sim_redis_script_flush(struct sim_redis *redis);

/* Remove one key, chosen by `random`. @return false: there was none. */
bool sim_redis_evict(struct sim_redis *redis, uint64_t random);

/* ---- For oracles --------------------------------------------------------- */

/* Keys that have not expired. */
size_t sim_redis_count(const struct sim_redis *redis);

/* The text of a string key; NULL: there is none. Borrowed until the next call
 * that is not in this section. */
const char *sim_redis_get(const struct sim_redis *redis, const char *key,
                          size_t key_len, size_t *len);

/* The expiry of a key, in milliseconds since 1970; INT64_MAX: it does not
 * expire; -1: there is no such key. */
int64_t sim_redis_end_ms(const struct sim_redis *redis, const char *key,
                         size_t key_len);

/* A field of a hash; NULL: there is none. Borrowed like a text. */
const char *sim_redis_field(const struct sim_redis *redis, const char *key,
                            size_t key_len, const char *field, size_t field_len,
                            size_t *len);

/* A member's score in a sorted set; -1: there is none. */
double sim_redis_score(const struct sim_redis *redis, const char *key,
                       size_t key_len, const char *member, size_t member_len);

/* The number of members of a sorted set. */
size_t sim_redis_members(const struct sim_redis *redis, const char *key,
                         size_t key_len);

/* Print all keys, sorted: "key type left-ms value …", one line each. left-ms is
 * -1 without expiry. A value is text in Redis' own quotes; for hashes field and
 * text by field, for sorted sets member and score by rank. */
void sim_redis_dump(const struct sim_redis *redis, FILE *out);

#endif
