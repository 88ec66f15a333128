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

/* Starts it on a connection that is cut before its request is read. */
static struct end
start_and_cut(struct server *server,
              enum hf_status (*start)(struct hf_client *, struct end *))
{
    struct hf_client *client =
        open_at(server, HF_THREAD_NONE, "node_timeout=3s");
    struct hf_info *info = NULL;
    struct end end = {.is_there = false};
    ok(hf_client_inspect(client, "n", 1, &info, NULL) == HF_OK, "connected");
    hf_info_free(info);
    will_cut(server);
    ok(start(client, &end) == HF_OK, "begun");
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
    struct end end = start_and_cut(server, start_inspect);
    ok(end.status == HF_OK, "an inspection is answered: %s", end.why);
    end = start_and_cut(server, start_list);
    ok(end.status == HF_OK, "so is a listing: %s", end.why);
}

/* What changes something may have been executed: it ends, and names the cause,
 * not the connection that is made since. */
static void test_writes(struct server *server)
{
    struct end end = start_and_cut(server, start_break);
    ok(end.status == HF_UNAVAILABLE, "a break is not repeated");
    ok(strstr(end.why, "Connection reset") != NULL ||
           strstr(end.why, "the server closed the connection") != NULL,
       "its cause: %s", end.why);
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
