/* SPDX-License-Identifier: Apache-2.0 */
/* CHANNELS: SUBSCRIBE, UNSUBSCRIBE, PUBLISH, and PING, which a session that
 * listens gets another reply to
 *
 * All subscriptions of a server are one array in order of subscribing, so a
 * message reaches its sessions in that order: the same calls give the same
 * bytes. A message is appended to the output of each session at once, before
 * the reply to PUBLISH.
 *
 * Cost: O(n) of all subscriptions for each channel; a client has one. */
#include "redis/keyspace.h"
#include "redis/server.h"

static size_t find(const struct sim_redis *redis,
                   const struct sim_session *session,
                   const struct sim_arg *channel)
{
    uint32_t hash = sim_hash_of(channel->data, channel->len);
    size_t i = 0;
    for (; i < redis->n_listening; i++) {
        const struct sim_listening *one = &redis->listening[i];
        if (one->hash == hash && one->session == session &&
            sim_blob_is(one->channel, channel->data, channel->len)) {
            break;
        }
    }
    return i;
}

static void drop(struct sim_redis *redis, size_t at)
{
    struct sim_listening *one = &redis->listening[at];
    one->session->n_channels--;
    sim_blob_free(&redis->keys, one->channel);
    redis->n_listening--;
    memmove(one, one + 1, (redis->n_listening - at) * sizeof(*one));
}

static void add(struct sim_redis *redis, struct sim_session *session,
                const struct sim_arg *channel)
{
    if (redis->n_listening == redis->cap_listening) {
        redis->cap_listening =
            redis->cap_listening == 0 ? 16 : 2 * redis->cap_listening;
        redis->listening = sim_realloc(
            redis->listening, redis->cap_listening * sizeof(*redis->listening));
    }
    redis->listening[redis->n_listening++] = (struct sim_listening){
        .hash = sim_hash_of(channel->data, channel->len),
        .channel = sim_blob_new(&redis->keys, channel->data, channel->len),
        .session = session,
    };
    session->n_channels++;
}

static void reply_change(struct sim_call *call, const char *what,
                         const struct sim_arg *channel)
{
    sim_reply_array(call->out, 3);
    sim_reply_bulk(call->out, what, strlen(what));
    if (channel == NULL) {
        sim_reply_null(call->out);
    } else {
        sim_reply_bulk(call->out, channel->data, channel->len);
    }
    sim_reply_integer(call->out, (int64_t)call->session->n_channels);
}

void sim_subscribe(struct sim_call *call)
{
    struct sim_redis *redis = call->redis;
    for (size_t i = 1; i < call->argc; i++) {
        const struct sim_arg *channel = &call->argv[i];
        if (find(redis, call->session, channel) == redis->n_listening) {
            add(redis, call->session, channel);
        }
        reply_change(call, "subscribe", channel);
    }
}

static void unsubscribe_all(struct sim_call *call)
{
    struct sim_redis *redis = call->redis;
    if (call->session->n_channels == 0) {
        reply_change(call, "unsubscribe", NULL);
    }
    for (size_t i = 0; i < redis->n_listening;) {
        struct sim_listening *one = &redis->listening[i];
        if (one->session != call->session) {
            i++;
            continue;
        }
        struct sim_blob *name =
            sim_blob_new(&redis->keys, one->channel->data, one->channel->len);
        struct sim_arg channel = {name->data, name->len};
        drop(redis, i);
        reply_change(call, "unsubscribe", &channel);
        sim_blob_free(&redis->keys, name);
    }
}

void sim_unsubscribe(struct sim_call *call)
{
    if (call->argc == 1) {
        unsubscribe_all(call);
    }
    for (size_t i = 1; i < call->argc; i++) {
        size_t at = find(call->redis, call->session, &call->argv[i]);
        if (at < call->redis->n_listening) {
            drop(call->redis, at);
        }
        reply_change(call, "unsubscribe", &call->argv[i]);
    }
}

void sim_session_unsubscribe_all(struct sim_session *session)
{
    struct sim_redis *redis = session->redis;
    for (size_t i = redis->n_listening; i > 0; i--) {
        if (redis->listening[i - 1].session == session) {
            drop(redis, i - 1);
        }
    }
}

void sim_publish(struct sim_call *call)
{
    struct sim_redis *redis = call->redis;
    const struct sim_arg *channel = &call->argv[1];
    uint32_t hash = sim_hash_of(channel->data, channel->len);
    int64_t n_receivers = 0;
    for (size_t i = 0; i < redis->n_listening; i++) {
        const struct sim_listening *one = &redis->listening[i];
        if (one->hash != hash ||
            !sim_blob_is(one->channel, channel->data, channel->len)) {
            continue;
        }
        struct sim_text *out = sim_session_out(one->session);
        sim_reply_array(out, 3);
        sim_reply_bulk(out, "message", 7);
        sim_reply_bulk(out, channel->data, channel->len);
        sim_reply_bulk(out, call->argv[2].data, call->argv[2].len);
        n_receivers++;
    }
    sim_reply_integer(call->out, n_receivers);
}

void sim_ping(struct sim_call *call)
{
    struct sim_arg text = {"", 0};
    if (call->argc > 2) {
        sim_call_wrong_arity(call);
        return;
    }
    if (call->argc == 2) {
        text = call->argv[1];
    }
    bool is_listening =
        call->session->n_channels > 0 && call->redis->running.session == NULL;
    if (is_listening) {
        sim_reply_array(call->out, 2);
        sim_reply_bulk(call->out, "pong", 4);
    } else if (call->argc == 1) {
        sim_reply_status(call->out, "PONG");
        return;
    }
    sim_reply_bulk(call->out, text.data, text.len);
}
