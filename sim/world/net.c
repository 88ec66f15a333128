/* SPDX-License-Identifier: Apache-2.0 */
/* THE NETWORK
 *
 * A link is one TCP connection: two byte streams that keep their order, delay
 * and stall; it ends on one side before it ends on the other. TCP retransmits
 * lost packets, so a silent network is a delay: bytes wait until it is over.
 * The bytes that arrive are a prefix of the bytes sent: no byte arrives after
 * the end, and no reply arrives if an earlier one was lost. The network does
 * not duplicate bytes; a client may, by a retry on another connection.
 *
 * When a connection ends, the simulator draws how many of the bytes in flight
 * still arrive. A request that is executed after its sender has closed the
 * connection is a ghost; it may arrive long after the same request on the next
 * connection (sim_links_delay_after_close()).
 *
 * Cost: for each write one block on the heap and up to two events of the world,
 * twice that if it is shattered; an event is O(log n) of all. A silence adds an
 * event for each way of a link. A link that is made looks at all others, to
 * free those that are over. */
#include "world/net.h"

#include "redis/redis.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* The longest delay of a retransmission after a silence: the shortest timeout
 * that Linux uses for TCP, 200 ms. */
#define RETRANSMIT_NS INT64_C(200000000)

/* A server closes a connection whose peer sends nothing, not even an end.
 * Longer than any ttl that is drawn (30 s): the old connection outlives the
 * leases. */
#define VANISHED_NS INT64_C(40000000000)

#define PPM 1000000 /* parts of a whole */

/* ---- Delays ------------------------------------------------------------ */

static struct sim_passage *passage_of(const struct sim_link *link)
{
    return &link->world->passages[link->peer][link->node->index];
}

static int64_t draw_delay(struct sim_link *link, struct sim_pipe *pipe)
{
    const struct sim_world *world = link->world;
    const struct sim_story *story = world->story;
    struct sim_passage *passage = passage_of(link);
    int64_t ns = story->delay_ns;
    if (world->now_ns < passage->slow_until_ns) {
        ns += passage->slow_ns;
    }
    if (world->is_calm) {
        return ns;
    }
    ns += sim_draw_below(&pipe->random, 2 * story->jitter_ns);
    if (sim_chance_ppm(&pipe->random, story->late_ppm)) {
        ns += sim_draw_below(&pipe->random, story->late_ns);
        passage->late_ns = passage->late_ns < world->now_ns + ns
                               ? world->now_ns + ns
                               : passage->late_ns;
    }
    return ns;
}

static bool is_up(const struct sim_link *link, const struct sim_pipe *pipe)
{
    return pipe == &link->up;
}

/* Requests wait for a paused node too, which reads nothing. In the past: the
 * way is open. */
static int64_t blocked_until(const struct sim_link *link,
                             const struct sim_pipe *pipe)
{
    const struct sim_passage *passage = passage_of(link);
    if (!is_up(link, pipe)) {
        return passage->down_ns;
    }
    int64_t until_ns = passage->up_ns;
    until_ns = until_ns < link->held_ns ? link->held_ns : until_ns;
    return until_ns < link->node->resumes_ns ? link->node->resumes_ns
                                             : until_ns;
}

/* ---- Links ------------------------------------------------------------- */

static void on_arrival(struct sim_world *world, void *object, uint64_t arg);

static void expect(struct sim_link *link, struct sim_pipe *pipe, int64_t at_ns)
{
    link->n_events++;
    sim_world_at(link->world, at_ns, on_arrival, link, is_up(link, pipe));
}

static void drop_chunks(struct sim_pipe *pipe)
{
    while (pipe->first != NULL) {
        struct sim_chunk *chunk = pipe->first;
        pipe->first = chunk->next;
        free(chunk);
    }
    pipe->last = NULL;
}

static void free_link(struct sim_link *link)
{
    if (link->session != NULL) {
        sim_redis_disconnect(link->session);
    }
    drop_chunks(&link->up);
    drop_chunks(&link->down);
    free(link->inbox);
    free(link);
}

/* Events in the heap point to their links, so a link outlives its last
 * event. */
static void sweep(struct sim_world *world)
{
    struct sim_link **at = &world->links;
    while (*at != NULL) {
        struct sim_link *link = *at;
        if (link->socket == NULL && link->session == NULL &&
            link->n_events == 0) {
            *at = link->next;
            free_link(link);
        } else {
            at = &link->next;
        }
    }
}

void sim_links_free(struct sim_world *world)
{
    while (world->links != NULL) {
        struct sim_link *link = world->links;
        world->links = link->next;
        free_link(link);
    }
}

static struct sim_chunk *new_chunk(const char *data, size_t len)
{
    struct sim_chunk *chunk = malloc(sizeof(*chunk) + len);
    HF_ASSERT(chunk != NULL);
    memset(chunk, 0, sizeof(*chunk));
    chunk->len = len;
    if (len > 0) {
        memcpy(chunk->data, data, len);
    }
    return chunk;
}

static void append(struct sim_link *link, struct sim_pipe *pipe,
                   struct sim_chunk *chunk)
{
    int64_t at_ns = link->world->now_ns + draw_delay(link, pipe);
    if (at_ns < pipe->last_at_ns) {
        at_ns = pipe->last_at_ns;
    }
    chunk->sent_ns = link->world->now_ns;
    chunk->at_ns = pipe->last_at_ns = at_ns;
    if (pipe->last != NULL) {
        pipe->last->next = chunk;
    } else {
        pipe->first = chunk;
    }
    pipe->last = chunk;
    expect(link, pipe, at_ns);
}

static void send_bytes(struct sim_link *link, struct sim_pipe *pipe,
                       const char *data, size_t len)
{
    if (pipe->has_end) {
        return; /* the end has not reached the writer yet */
    }
    unsigned ppm = link->world->is_calm ? 0 : link->world->story->shatter_ppm;
    size_t first = len;
    if (len > 1 && sim_chance_ppm(&pipe->random, ppm)) {
        first = (size_t)sim_draw_between(&pipe->random, 1, (int64_t)len - 1);
    }
    append(link, pipe, new_chunk(data, first));
    if (first < len) {
        append(link, pipe, new_chunk(data + first, len - first));
    }
}

static void send_end(struct sim_link *link, struct sim_pipe *pipe)
{
    struct sim_chunk *chunk = new_chunk(NULL, 0);
    chunk->ends = true;
    pipe->has_end = true;
    append(link, pipe, chunk);
}

struct sim_link *sim_link_connect(struct sim_process *process, int node,
                                  struct hf_socket *socket)
{
    struct sim_world *world = process->world;
    struct sim_link *link = calloc(1, sizeof(*link));
    HF_ASSERT(link != NULL);
    sweep(world);
    link->world = world;
    link->process = process;
    link->peer = process->index;
    link->node = &world->nodes[node];
    link->socket = socket;
    uint64_t stream = (uint64_t)process->index << 40 | (uint64_t)node << 32 |
                      ++process->n_links;
    link->number = process->n_links;
    link->up.random = sim_random_of(world->story->seed, stream << 1 | 1);
    link->down.random = sim_random_of(world->story->seed, stream << 1);
    link->next = world->links;
    world->links = link;
    link->is_connecting = true;
    append(link, &link->up, new_chunk(NULL, 0)); /* SYN */
    return link;
}

void sim_link_write(struct sim_link *link, const char *data, size_t len)
{
    send_bytes(link, &link->up, data, len);
}

void sim_link_reply(struct sim_link *link)
{
    const char *data;
    size_t len = sim_session_take(link->session, &data);
    if (len > 0) {
        link->down_sent += link->down.has_end ? 0 : len;
        send_bytes(link, &link->down, data, len);
    }
}

/* ---- Arrivals ---------------------------------------------------------- */

static void tell_process(struct sim_link *link)
{
    if (link->socket != NULL) {
        link->has_news = true;
        sim_process_wake(link->process);
    }
}

/* The server's kernel replies, even if the server is paused; it refuses the
 * connection if the server is down. */
static void arrive_syn(struct sim_link *link)
{
    struct sim_node *node = link->node;
    link->is_connecting = false;
    link->is_refused = !node->is_up;
    if (node->is_up) {
        link->redis = node->redis;
        link->session = sim_redis_connect(node->redis, link);
    }
    append(link, &link->down, new_chunk(NULL, 0));
}

static void disconnect(struct sim_link *link)
{
    if (link->session != NULL) {
        sim_redis_disconnect(link->session);
        link->session = NULL;
    }
}

static void arrive_up(struct sim_link *link, const struct sim_chunk *chunk)
{
    if (link->is_connecting) {
        arrive_syn(link);
    } else if (chunk->ends) {
        disconnect(link);
    } else if (link->session != NULL) {
        sim_node_execute(link->node, link, chunk);
    } else if (!link->is_refused) {
        send_end(link, &link->down); /* no such connection any more: reset */
    }
}

static void arrive_down(struct sim_link *link, const struct sim_chunk *chunk)
{
    if (link->socket == NULL) {
        return;
    }
    HF_ASSERT(!link->is_ended || chunk->ends);
    if (link->inbox_len + chunk->len > link->inbox_cap) {
        link->inbox_cap = 2 * (link->inbox_len + chunk->len);
        link->inbox = realloc(link->inbox, link->inbox_cap);
        HF_ASSERT(link->inbox != NULL);
    }
    if (chunk->len > 0) {
        memcpy(link->inbox + link->inbox_len, chunk->data, chunk->len);
        link->inbox_len += chunk->len;
    }
    link->is_open = true; /* the first chunk is the reply to SYN */
    link->is_ended |= chunk->ends;
    tell_process(link);
}

/* The pipe is blocked: its first chunk arrives after that, and none overtakes
 * it. */
static void put_off(struct sim_link *link, struct sim_pipe *pipe,
                    int64_t until_ns)
{
    struct sim_chunk *chunk = pipe->first;
    chunk->at_ns = until_ns;
    if (!link->world->is_calm) {
        chunk->at_ns += sim_draw_below(&pipe->random, RETRANSMIT_NS);
    }
    for (struct sim_chunk *c = chunk->next; c != NULL; c = c->next) {
        c->at_ns = c->at_ns < chunk->at_ns ? chunk->at_ns : c->at_ns;
    }
    pipe->last_at_ns = pipe->last->at_ns;
    expect(link, pipe, chunk->at_ns);
}

static void on_arrival(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_link *link = object;
    struct sim_pipe *pipe = arg != 0 ? &link->up : &link->down;
    struct sim_chunk *chunk = pipe->first;
    link->n_events--;
    if (chunk == NULL || chunk->at_ns > world->now_ns) {
        return; /* lost with its connection, or delayed behind another */
    }
    int64_t until_ns = blocked_until(link, pipe);
    if (until_ns > world->now_ns) {
        put_off(link, pipe, until_ns);
        return;
    }
    pipe->first = chunk->next;
    pipe->last = pipe->first == NULL ? NULL : pipe->last;
    if (pipe->first != NULL) { /* its own event may be gone already */
        int64_t next_ns = pipe->first->at_ns;
        expect(link, pipe, next_ns < world->now_ns ? world->now_ns : next_ns);
    }
    if (arg != 0) {
        arrive_up(link, chunk);
    } else {
        arrive_down(link, chunk);
    }
    free(chunk);
}

/* ---- Ends -------------------------------------------------------------- */

/* Drop a suffix of the bytes in flight; the cut may be at any byte. */
static void lose_some(struct sim_pipe *pipe)
{
    struct sim_chunk **at = &pipe->first;
    struct sim_chunk *last = NULL;
    while (*at != NULL && (sim_draw(&pipe->random) & 1) == 0) {
        last = *at;
        at = &last->next;
    }
    struct sim_chunk *cut = *at;
    if (cut != NULL && cut->len > 1 && (sim_draw(&pipe->random) & 3) == 0) {
        cut->len =
            (size_t)sim_draw_between(&pipe->random, 1, (int64_t)cut->len - 1);
        last = cut;
        at = &cut->next;
    }
    struct sim_chunk *gone = *at;
    *at = NULL;
    pipe->last = last;
    while (gone != NULL) {
        struct sim_chunk *next = gone->next;
        free(gone);
        gone = next;
    }
}

static void on_vanished(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_link *link = object;
    (void)world;
    (void)arg;
    link->n_events--;
    disconnect(link);
}

/* The process has closed the link: the bytes that it wrote before still arrive,
 * and then the end. If the way is blocked, the kernel may give up: then the
 * server gets neither, and disconnects after VANISHED_NS. */
void sim_link_close(struct sim_link *link)
{
    struct sim_world *world = link->world;
    bool is_blocked = passage_of(link)->up_ns > world->now_ns;
    link->socket = NULL;
    link->process = NULL;
    drop_chunks(&link->down);
    if (is_blocked && (sim_draw(&link->up.random) & 1) == 0) {
        drop_chunks(&link->up);
        link->is_connecting = false;
        link->n_events++;
        sim_world_at(world, world->now_ns + VANISHED_NS, on_vanished, link, 0);
    } else if (!link->is_ended) {
        send_end(link, &link->up);
    }
}

/* The network breaks the connection: each side gets the end after its own
 * delay. `by_node`: the server has ended, its session is gone at once. */
void sim_link_cut(struct sim_link *link, bool by_node)
{
    if (by_node) {
        disconnect(link);
    }
    if (link->is_connecting) {
        return;
    }
    lose_some(&link->up);
    lose_some(&link->down);
    if (link->session != NULL) {
        send_end(link, &link->up);
    }
    send_end(link, &link->down);
}

static bool is_between(const struct sim_link *link, int process, int node)
{
    return (process < 0 || link->peer == process) &&
           (node < 0 || link->node->index == node);
}

void sim_links_cut(struct sim_world *world, int process, int node, bool by_node)
{
    for (struct sim_link *link = world->links; link != NULL;
         link = link->next) {
        if (is_between(link, process, node) &&
            (link->socket != NULL || link->session != NULL)) {
            sim_link_cut(link, by_node);
        }
    }
}

/* A middlebox resets the connection for the process, and keeps the bytes for
 * the server. */
static void on_reset(struct sim_world *world, void *object, uint64_t arg)
{
    struct sim_link *link = object;
    (void)arg;
    link->n_events--;
    if (link->socket != NULL && !link->is_connecting && !world->is_calm) {
        drop_chunks(&link->down);
        send_end(link, &link->down);
    }
}

void sim_links_delay_after_close(struct sim_world *world, int process, int node,
                                 int64_t end_ns, int64_t until_ns)
{
    for (struct sim_link *link = world->links; link != NULL;
         link = link->next) {
        if (is_between(link, process, node) && link->socket != NULL) {
            link->held_ns = until_ns;
            link->n_events++;
            sim_world_at(world, end_ns, on_reset, link, 0);
        }
    }
}

static void hurry(struct sim_link *link, struct sim_pipe *pipe)
{
    int64_t most_ns = link->world->now_ns + link->world->story->delay_ns;
    for (struct sim_chunk *chunk = pipe->first; chunk != NULL;
         chunk = chunk->next) {
        chunk->at_ns = chunk->at_ns < most_ns ? chunk->at_ns : most_ns;
    }
    if (pipe->first != NULL) {
        expect(link, pipe, pipe->first->at_ns);
        pipe->last_at_ns = pipe->last->at_ns;
    }
}

void sim_links_heal(struct sim_world *world)
{
    for (struct sim_link *link = world->links; link != NULL;
         link = link->next) {
        link->held_ns = 0;
        hurry(link, &link->up);
        hurry(link, &link->down);
    }
}
