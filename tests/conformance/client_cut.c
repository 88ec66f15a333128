/* SPDX-License-Identifier: Apache-2.0 */
/* A server closes its connection to the client before it has read the request
 * that is there, as a pooler and a proxy may. */
#include "redis_client.h"

#include <poll.h>

struct end {
    bool is_there;
    enum hf_status status;
    char why[sizeof(((struct hf_error *)NULL)->text)];
};

static void note(struct end *end, enum hf_status status,
                 const struct hf_error *error)
{
    end->is_there = true;
    end->status = status;
    snprintf(end->why, sizeof(end->why), "%s", error->text);
}

static void on_info(void *user, struct hf_info *info, enum hf_status status,
                    const struct hf_error *error)
{
    note(user, status, error);
    hf_info_free(info);
}

static void on_broken(void *user, int64_t held_until_ms, enum hf_status status,
                      const struct hf_error *error)
{
    (void)held_until_ms;
    note(user, status, error);
}

static void on_list(void *user, struct hf_lock *lock, enum hf_status status,
                    const struct hf_error *error)
{
    (void)lock;
    note(user, status, error);
}

static bool no_entry(void *user, const void *name, size_t name_len,
                     const struct hf_info *info)
{
    (void)user, (void)name, (void)name_len, (void)info;
    return true;
}

static enum hf_status start_inspect(struct hf_client *client, struct end *end)
{
    return hf_op_start_inspect(client, "n", 1, on_info, end, NULL, NULL);
}

static enum hf_status start_list(struct hf_client *client, struct end *end)
{
    return hf_op_start_list(client, "*", no_entry, on_list, end, NULL, NULL);
}

static enum hf_status start_break(struct hf_client *client, struct end *end)
{
    return hf_op_start_break(client, "n", 1, true, NULL, on_broken, end, NULL,
                             NULL);
}

/* The server reads in the order in which its sockets became readable: this
 * first, then the client's request. */
static void will_cut(struct server *server)
{
    int done = 0;
    kill(server->pid, SIGSTOP);
    redisAppendCommand(server->control, "CLIENT KILL TYPE normal SKIPME yes");
    while (done == 0 && redisBufferWrite(server->control, &done) == REDIS_OK) {
    }
}

/* @return the number of connections that were cut. */
static long long cut(struct server *server)
{
    redisReply *reply = NULL;
    kill(server->pid, SIGCONT);
    redisGetReply(server->control, (void **)&reply);
    long long count = reply == NULL ? -1 : reply->integer;
    freeReplyObject(reply);
    return count;
}

static void await(struct hf_client *client, const struct end *end)
{
    struct pollfd fd = {.fd = hf_client_fd(client), .events = POLLIN};
    while (!end->is_there && poll(&fd, 1, 20000) == 1) {
        hf_client_process(client);
    }
}

/* What was sent before is answered first. */
static bool ping(struct server *server)
{
    redisReply *reply = redisCommand(server->control, "PING");
    bool is_there = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return is_there;
}

typedef enum hf_status start_fn(struct hf_client *client, struct end *end);

/* Starts it on a connection that is cut before its first request is read, or
 * its second. */
static struct end start_and_cut(struct server *server, start_fn *start,
                                bool at_second)
{
    struct hf_client *client =
        open_at(server, HF_THREAD_NONE, "node_timeout=3s");
    struct hf_info *info = NULL;
    struct end end = {.is_there = false};
    ok(hf_client_inspect(client, "n", 1, &info, NULL) == HF_OK, "connected");
    hf_info_free(info);
    if (at_second) {
        kill(server->pid, SIGSTOP);
        ok(start(client, &end) == HF_OK, "begun");
        hf_client_process(client); /* sends it */
        kill(server->pid, SIGCONT);
        ok(ping(server) && ping(server), "its first request is answered");
        will_cut(server);
    } else {
        will_cut(server);
        ok(start(client, &end) == HF_OK, "begun");
    }
    hf_client_process(client);
    ok(!end.is_there && cut(server) == 1, "its connection is cut");
    await(client, &end);
    ok(end.is_there, "ended");
    hf_client_close(client);
    return end;
}

/* What only reads is sent again. */
static void test_reads(struct server *server)
{
    struct end end = start_and_cut(server, start_inspect, false);
    ok(end.status == HF_OK, "an inspection is answered: %s", end.why);
    end = start_and_cut(server, start_list, false);
    ok(end.status == HF_OK, "so is a listing: %s", end.why);
}

static void hold(struct server *server)
{
    freeReplyObject(
        redisCommand(server->control, "SET lock:n another PX 60000"));
}

static bool is_held(struct server *server)
{
    redisReply *reply = redisCommand(server->control, "EXISTS lock:n");
    bool held = reply != NULL && reply->integer == 1;
    freeReplyObject(reply);
    return held;
}

static struct end start_and_await(struct server *server)
{
    struct hf_client *client =
        open_at(server, HF_THREAD_NONE, "node_timeout=3s");
    struct end end = {.is_there = false};
    ok(start_break(client, &end) == HF_OK, "begun, without a cut");
    await(client, &end);
    hf_client_close(client);
    return end;
}

/* What changes something may have been executed: it ends, and names the cause,
 * not the connection that is made since. */
static void test_writes(struct server *server)
{
    hold(server);
    struct end end = start_and_await(server); /* the server has the scripts */
    ok(end.status == HF_OK && !is_held(server), "a break frees it");
    hold(server);
    /* It reads and ends the mark of --once, then takes the name. */
    for (int second = 0; second <= 1; second++) {
        end = start_and_cut(server, start_break, second == 1);
        ok(end.status == HF_UNAVAILABLE, "a break that is cut ends");
        ok(is_held(server), "and is not repeated");
        ok(strstr(end.why, "Connection reset") != NULL ||
               strstr(end.why, "the server closed the connection") != NULL,
           "its cause: %s", end.why);
    }
}

int main(void)
{
    struct server server;
    server_start(&server, NULL);
    test_reads(&server);
    test_writes(&server);
    server_remove(&server);
    return tap_done();
}
