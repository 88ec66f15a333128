/* SPDX-License-Identifier: Apache-2.0 */
#include "world/node.h"

#include "redis/redis.h"
#include "world/net.h"

#include "base/assert.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Microseconds, the unit of a server's clock, which begins as the world's
 * does. */
#define WALL_US (SIM_WALL_S * 1000000)

/* The uptime of a server at the begin of the world, or at a promotion: a day,
 * longer than any max_ttl of a story, so that it looks as if it had not lost
 * data. */
#define OLD_US INT64_C(86400000000)

static int64_t scaled(int64_t ns, int ppm)
{
    return ns + ns / 1000000 * ppm + ns % 1000000 * ppm / 1000000;
}

int64_t sim_node_wall(const struct sim_node *node, int64_t at_ns)
{
    const struct sim_story *story = node->world->story;
    int ppm = story->node_rate_ppm[node->index];
    return node->wall_ns + scaled(at_ns - node->since_ns, ppm);
}

static int64_t wall_us(const struct sim_node *node)
{
    return WALL_US + sim_node_wall(node, node->world->now_ns) / 1000;
}

void sim_node_tick(struct sim_node *node)
{
    sim_redis_set_clock(node->redis, wall_us(node));
}

void sim_node_jump(struct sim_node *node, int64_t by_ns)
{
    int64_t now_ns = node->world->now_ns;
    node->wall_ns = sim_node_wall(node, now_ns) + by_ns;
    node->since_ns = now_ns;
}

/* ---- Executing --------------------------------------------------------- */

static void wrote(void *user, struct sim_session *session)
{
    struct sim_node *node = user;
    struct sim_link *link = sim_session_user(session);
    if (link == NULL) {
        return; /* a session of sim_node_ask(), which reads the reply */
    }
    sim_link_reply(link);
    if (link->redis == node->redis) {
        sim_oracle_wrote(node->world->oracle, link);
    }
    if (node->server_trace != NULL) {
        sim_server_trace_sent(node, link);
    }
}

static void ran(void *user, struct sim_session *session,
                const struct sim_run *run)
{
    struct sim_node *node = user;
    struct sim_link *link = sim_session_user(session);
    if (link == NULL) {
        return;
    }
    sim_oracle_executed(node->world->oracle, node->index, run);
    if (link->redis == node->redis) {
        sim_oracle_script(node->world->oracle, link, run);
        sim_oracle_node(node->world->oracle, node->index, run);
    }
    if (node->server_trace != NULL) {
        sim_server_trace_ran(node, link, run);
    }
}

/* The server does not know the script: only noted. The client will send the
 * request again with the script's text. */
static void missed(void *user, struct sim_session *session,
                   const struct sim_run *run)
{
    struct sim_node *node = user;
    struct sim_link *link = sim_session_user(session);
    if (link != NULL && node->server_trace != NULL) {
        sim_server_trace_ran(node, link, run);
    }
}

void sim_node_execute(struct sim_node *node, struct sim_link *link,
                      const struct sim_chunk *chunk)
{
    link->sent_ns = chunk->sent_ns;
    node->asked_ns = chunk->sent_ns;
    node->is_unheard = link->socket == NULL;
    sim_redis_set_clock(link->redis, wall_us(node));
    sim_redis_feed(link->session, chunk->data, chunk->len);
}

void sim_node_ask(struct sim_node *node, const char *command, size_t len,
                  char *reply, size_t size)
{
    const char *data;
    struct sim_session *session = sim_redis_connect(node->redis, NULL);
    sim_redis_set_clock(node->redis, wall_us(node));
    sim_redis_feed(session, command, len);
    size_t n = sim_session_take(session, &data);
    n = n < size - 1 ? n : size - 1;
    memcpy(reply, data, n);
    reply[n] = '\0';
    sim_redis_disconnect(session);
}

/* ---- Lives ------------------------------------------------------------- */

static void write_id(char out[41], const struct sim_node *node, unsigned salt)
{
    snprintf(out, 41, "%08x%032x", node->n_starts,
             (unsigned)node->index + salt);
}

void sim_node_set_sync(struct sim_node *node)
{
    int64_t now_ns = node->world->now_ns;
    bool is_durable = node->world->story->regime == SIM_RESTART_DURABLE;
    struct sim_redis_sync sync = {
        .appendonly = is_durable,
        .fsync_always = is_durable && now_ns >= node->everysec_ns,
        .no_fsync_on_rewrite = now_ns < node->unsynced_ns,
    };
    sim_redis_set_sync(node->redis, &sync);
}

/* `replid2`: the id of the primary whose replica it was; NULL: none. A replica
 * has a long uptime. */
static void set_identity(struct sim_node *node, const char *replid2)
{
    char run_id[41];
    char replid[41];
    bool is_old = node->n_starts == 0 || replid2 != NULL;
    node->n_starts++;
    write_id(run_id, node, 1);
    write_id(replid, node, 17);
    struct sim_redis_identity identity = {
        .run_id = run_id,
        .replid = replid,
        .replid2 = replid2,
        .started_us = is_old ? wall_us(node) - OLD_US : wall_us(node),
    };
    sim_redis_set_identity(node->redis, &identity);
    sim_node_set_sync(node);
    snprintf(node->replid, sizeof(node->replid), "%s", replid);
}

static struct sim_redis *new_redis(struct sim_node *node)
{
    struct sim_redis_hooks hooks = {
        .user = node, .wrote = wrote, .ran = ran, .missed = missed};
    return sim_redis_new(node->lua, &hooks);
}

/* Write the marker that `doctor --init` writes. Without it every run would
 * begin with a quarantine. */
static void declare(struct sim_node *node)
{
    const struct sim_story *story = node->world->story;
    int64_t keep_ms = 2 * story->max_ttl_ms;
    char text[512];
    if (keep_ms < HF_FENCE_KEEP_MS_DEFAULT) {
        keep_ms = HF_FENCE_KEEP_MS_DEFAULT;
    }
    const char *is_durable = story->regime == SIM_RESTART_DURABLE ? "1" : "0";
    char numbers[3][24];
    snprintf(numbers[0], sizeof(numbers[0]), "%" PRId64, story->max_ttl_ms);
    snprintf(numbers[1], sizeof(numbers[1]), "%u", story->n_nodes);
    snprintf(numbers[2], sizeof(numbers[2]), "%" PRId64, keep_ms);
    char run_id[41];
    write_id(run_id, node, 1);
    const char *const words[] = {"HSET",          "hf:node",    "v",
                                 "declared",      "run_id",     run_id,
                                 "replid",        node->replid, "max_ttl_ms",
                                 numbers[0],      "nodes",      numbers[1],
                                 "fence_keep_ms", numbers[2],   "durable",
                                 is_durable,      "whole",      "1"};
    enum { N = sizeof(words) / sizeof(words[0]) };
    int len = snprintf(text, sizeof(text), "*%d\r\n", N);
    for (int i = 0; i < N; i++) {
        len += snprintf(text + len, sizeof(text) - (size_t)len,
                        "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    }
    struct sim_redis *redis = sim_redis_new(node->lua, NULL);
    struct sim_session *session = sim_redis_connect(redis, NULL);
    sim_redis_feed(session, text, (size_t)len);
    struct sim_image *image = sim_redis_save(redis);
    sim_redis_load(node->redis, image);
    sim_image_free(image);
    sim_redis_free(redis);
}

void sim_node_init(struct sim_node *node, struct sim_lua *lua)
{
    node->lua = lua;
    node->wall_ns = node->world->story->node_wall_ns[node->index];
    node->is_up = true;
    node->server_trace =
        node->world->trace != NULL ? sim_server_trace_new() : NULL;
    node->redis = new_redis(node);
    set_identity(node, NULL);
    declare(node);
    sim_redis_set_clock(node->redis, wall_us(node));
}

void sim_node_fini(struct sim_node *node)
{
    sim_redis_free(node->redis);
    sim_redis_free(node->old);
    sim_image_free(node->kept);
    sim_server_trace_free(node->server_trace);
    for (unsigned i = 0; i < node->n_memories; i++) {
        sim_image_free(node->memories[i].image);
    }
}

void sim_node_remember(struct sim_node *node)
{
    if (node->n_memories < SIM_MEMORIES_MAX && node->is_up) {
        node->memories[node->n_memories++] = (struct sim_memory){
            node->world->now_ns, sim_redis_save(node->redis)};
    }
}

/* The latest image that is at least `age_ns` old; NULL: none. */
static const struct sim_image *memory_of(const struct sim_node *node,
                                         int64_t age_ns)
{
    const struct sim_image *image = NULL;
    for (unsigned i = 0; i < node->n_memories; i++) {
        if (node->memories[i].at_ns <= node->world->now_ns - age_ns) {
            image = node->memories[i].image;
        }
    }
    return image;
}

static void on_back(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_node *node = object;
    char old_id[41];
    if (node->is_up || arg != node->n_starts) {
        return;
    }
    snprintf(old_id, sizeof(old_id), "%s", node->replid);
    node->is_up = true;
    sim_redis_set_clock(node->redis, wall_us(node));
    sim_redis_load(node->redis, node->kept);
    set_identity(node, node->was_replica ? old_id : NULL);
    sim_world_note(world, (struct sim_note){.kind = SIM_NOTE_NODE_UP,
                                            .process = -1,
                                            .node = node->index,
                                            .text = node->comes_with});
}

void sim_node_restart(struct sim_node *node, int64_t back_ns,
                      enum sim_return with, int64_t age_ns)
{
    struct sim_world *world = node->world;
    static const char *const texts[] = {
        [SIM_WITH_ALL] = "with its memory",
        [SIM_WITH_OLDER] = "with an older memory",
        [SIM_WITH_NOTHING] = "empty",
        [SIM_WITH_REPLICA] = "as a replica's",
    };
    bool is_older = with == SIM_WITH_OLDER || with == SIM_WITH_REPLICA;
    if (!node->is_up) {
        return;
    }
    sim_image_free(node->kept);
    node->kept = NULL;
    if (with == SIM_WITH_ALL) {
        node->kept = sim_redis_save(node->redis);
    }
    node->is_up = false;
    sim_links_cut(world, -1, node->index, true);
    sim_redis_load(node->redis, is_older ? memory_of(node, age_ns) : NULL);
    node->was_replica = with == SIM_WITH_REPLICA;
    if (is_older) {
        node->kept = sim_redis_save(node->redis);
    }
    if (with != SIM_WITH_ALL) {
        sim_oracle_node_forgot(world->oracle, node->index);
    }
    node->comes_with = texts[with];
    sim_world_note(world, (struct sim_note){.kind = SIM_NOTE_NODE_DOWN,
                                            .process = -1,
                                            .node = node->index,
                                            .until_ns = back_ns});
    sim_world_at(world, back_ns, on_back, node, node->n_starts);
}

static void on_old_gone(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_node *node = object;
    (void)arg;
    for (struct sim_link *link = world->links; link != NULL;
         link = link->next) {
        if (link->redis == node->old && link->session != NULL) {
            sim_link_cut(link, true);
        }
    }
    sim_redis_free(node->old);
    node->old = NULL;
}

void sim_node_promote(struct sim_node *node, int64_t age_ns, int64_t until_ns)
{
    char old_id[41];
    if (!node->is_up || node->old != NULL) {
        return;
    }
    snprintf(old_id, sizeof(old_id), "%s", node->replid);
    node->old = node->redis;
    node->redis = new_redis(node);
    sim_redis_set_clock(node->redis, wall_us(node));
    sim_redis_load(node->redis, memory_of(node, age_ns));
    set_identity(node, old_id);
    sim_oracle_node_forgot(node->world->oracle, node->index);
    sim_world_at(node->world, until_ns, on_old_gone, node, 0);
}

void sim_node_return(struct sim_node *node)
{
    struct sim_redis *promoted = node->redis;
    if (!node->is_up || node->old == NULL) {
        return;
    }
    node->redis = node->old;
    node->old = promoted;
    sim_redis_set_clock(node->redis, wall_us(node));
    sim_node_set_sync(node);
    sim_oracle_node_forgot(node->world->oracle, node->index);
}
