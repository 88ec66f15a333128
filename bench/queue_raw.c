/* SPDX-License-Identifier: Apache-2.0 */
/* The raw limit of waiting: many processes that hand one lock over with the
 * least possible work.
 *
 *   queue_raw --node ADDRESS [options of contenders.h]    a queue in Redis
 *   queue_raw --node ADDRESS --scripts DIR [...]          the library's queue
 *   queue_raw --ring 1 [options of contenders.h]          no server at all
 *
 * Queue: a list of channels beside the key. If the key is held, a process
 * appends its channel and blocks on its own subscribed connection. A release
 * makes the first of the list the owner and publishes to it, in one script: one
 * hop. No fence, no heartbeat, and a dead waiter is not detected. Cost: two
 * requests per grant, and half a round trip up and half down from one holder to
 * the next.
 *
 * The library's queue: the scripts of src/store/redis with the keys and
 * arguments that the library sends, by the same bare client. It is the floor of
 * the library: its servers have the same work. No heartbeat either, and a lost
 * push is never noticed.
 *
 * Ring: a datagram to the next process' unix socket. It measures the cost of
 * waking one process from another, without a lock: the order is fixed. */
#include "contenders.h"
#include "dialect.h"

#include <stddef.h>

#define CHANNEL_MAX 32

static const char take_script[] =
    "if redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return 1 end "
    "redis.call('rpush',KEYS[2],ARGV[1]) return 0";
static const char give_script[] =
    "if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end "
    "local next=redis.call('lpop',KEYS[2]) "
    "if next then redis.call('set',KEYS[1],next,'PX',ARGV[2]) "
    "redis.call('publish',next,'1') else redis.call('del',KEYS[1]) end "
    "return 1";

/* The side keys of "lock:raw-line". */
#define FENCE_KEY "hf:{lock:raw-line}:fence"
#define QUEUE_KEY "hf:{lock:raw-line}:queue"
#define WAIT_KEY "hf:{lock:raw-line}:waiters"
#define HOLD_KEY "hf:{lock:raw-line}:holders"
#define VOTE_KEY "hf:{lock:raw-line}:votes"

static const char key[] = "raw-queue";
static const char waiters_key[] = "raw-queue:waiters";

struct scripts {
    const char *address;
    char take[41]; /* hashes */
    char give[41];
};

/* ---- Queue ------------------------------------------------------------- */

struct waiter {
    struct wire asks;
    struct wire hears;
    char take[256];
    char give[256];
    size_t take_len;
    size_t give_len;
};

static void *waiter_open(int index, void *arg)
{
    const struct scripts *scripts = arg;
    struct waiter *w = must_alloc(1, sizeof(*w));
    struct reply r;
    char channel[CHANNEL_MAX];
    (void)snprintf(channel, sizeof(channel), "raw-queue:%d", index);
    const char *take[] = {"EVALSHA",   scripts->take, "2",     key,
                          waiters_key, channel,       "10000", NULL};
    const char *give[] = {"EVALSHA",   scripts->give, "2",     key,
                          waiters_key, channel,       "10000", NULL};
    const char *hear[] = {"SUBSCRIBE", channel, NULL};
    wire_open(&w->asks, scripts->address);
    wire_open(&w->hears, scripts->address);
    w->take_len = wire_command(w->take, sizeof(w->take), take);
    w->give_len = wire_command(w->give, sizeof(w->give), give);
    commands_call(&w->hears, hear, &r);
    return w;
}

static int64_t waiter_ask(struct waiter *w, const char *request, size_t len)
{
    struct reply r;
    wire_put(&w->asks, request, len);
    wire_call(&w->asks, &r);
    if (r.type != ':') {
        die_text("raw queue", r.text != NULL ? r.text : "strange reply");
    }
    return r.numbers[0];
}

static void waiter_take(void *client)
{
    struct waiter *w = client;
    struct reply r;
    if (waiter_ask(w, w->take, w->take_len) == 0) {
        wire_call(&w->hears, &r);
    }
}

static void waiter_give(void *client)
{
    struct waiter *w = client;
    if (waiter_ask(w, w->give, w->give_len) != 1) {
        die_text("raw queue", "it was not ours");
    }
}

static void waiter_close(void *client)
{
    struct waiter *w = client;
    wire_close(&w->asks);
    wire_close(&w->hears);
    free(w);
}

/* Delete the keys that an earlier run may have left if it was killed. */
static void scripts_load(struct scripts *scripts, const char *address)
{
    const char *forget[] = {"DEL", key, waiters_key, NULL};
    struct wire wire;
    struct reply r;
    scripts->address = address;
    wire_open(&wire, address);
    script_load(&wire, take_script, scripts->take);
    script_load(&wire, give_script, scripts->give);
    commands_call(&wire, forget, &r);
    wire_close(&wire);
}

/* ---- The library's queue ------------------------------------------------- */

struct line {
    const char *address;
    struct dialect_scripts scripts;
    char marker[64];
};

struct member {
    struct wire asks;
    struct wire hears;
    struct template take;
    struct template give;
    char owner[OWNER_DIGITS + 1];
    uint64_t turn;
    uint64_t counter;
};

static void *member_open(int index, void *arg)
{
    const struct line *line = arg;
    struct member *m = must_alloc(1, sizeof(*m));
    struct reply r;
    char channel[CHANNEL_MAX];
    char owner[128];
    (void)snprintf(channel, sizeof(channel), "hf:push:bench-%d", index);
    (void)snprintf(owner, sizeof(owner), "%s:bench-host:%d:1763640000",
                   owner_mark, 10000 + index);
    const char *take[] = {"EVALSHA", line->scripts.acquire,
                          "7",       "lock:raw-line",
                          FENCE_KEY, QUEUE_KEY,
                          WAIT_KEY,  HOLD_KEY,
                          VOTE_KEY,  "hf:node",
                          owner,     LEASE_MS,
                          "0",       line->marker,
                          KEEP_MS,   "x",
                          "0",       LEASE_MS,
                          "0",       channel,
                          "1",       NULL};
    const char *give[] = {"EVALSHA",    line->scripts.release,
                          "7",          "lock:raw-line",
                          FENCE_KEY,    QUEUE_KEY,
                          WAIT_KEY,     HOLD_KEY,
                          VOTE_KEY,     "hf:node",
                          owner,        counter_mark,
                          "0",          KEEP_MS,
                          line->marker, NULL};
    const char *hear[] = {"SUBSCRIBE", channel, NULL};
    wire_open(&m->asks, line->address);
    wire_open(&m->hears, line->address);
    template_init(&m->take, take);
    template_init(&m->give, give);
    commands_call(&m->hears, hear, &r);
    m->turn = (uint64_t)index << 32;
    return m;
}

static void member_ask(struct member *m, struct template *request,
                       struct reply *r)
{
    template_fill(request, m->owner, m->counter);
    wire_put(&m->asks, request->bytes, request->len);
    wire_call(&m->asks, r);
    if (r->type == '-') {
        die_text("the library's queue", r->text);
    }
}

/* The push is "<cookie> <counter>". */
static uint64_t member_hear(struct member *m)
{
    struct reply r;
    wire_call(&m->hears, &r);
    const char *blank = memchr(r.text, ' ', r.text_len);
    if (blank == NULL) {
        die_text("the library's queue", "a strange push");
    }
    return (uint64_t)reply_integer(blank + 1);
}

/* Each turn has an owner of its own, as each acquisition of the library. */
static void member_take(void *client)
{
    struct member *m = client;
    struct reply r;
    (void)snprintf(m->owner, sizeof(m->owner), "%032llx",
                   (unsigned long long)++m->turn);
    m->counter = 0;
    member_ask(m, &m->take, &r);
    if (r.type == ':' && r.numbers[0] > 0) {
        m->counter = (uint64_t)r.numbers[0];
    } else if (r.type == '*' && r.numbers[0] == 2) {
        m->counter = member_hear(m);
    } else {
        die_text("the library's queue", "a strange reply");
    }
}

static void member_give(void *client)
{
    struct member *m = client;
    struct reply r;
    member_ask(m, &m->give, &r);
    if (r.type != ':' || r.numbers[0] <= 0) {
        die_text("the library's queue", "it was not ours");
    }
}

static void member_close(void *client)
{
    struct member *m = client;
    wire_close(&m->asks);
    wire_close(&m->hears);
    template_fini(&m->take);
    template_fini(&m->give);
    free(m);
}

/* As in scripts_load(); the fence stays. */
static void line_load(struct line *line, const char *address, const char *dir)
{
    const char *forget[] = {"DEL", "lock:raw-line", QUEUE_KEY, WAIT_KEY, NULL};
    struct wire wire;
    struct reply r;
    line->address = address;
    line->scripts.dir = dir;
    wire_open(&wire, address);
    dialect_load(DIALECT_SCRIPTS, &line->scripts, &wire, line->marker);
    commands_call(&wire, forget, &r);
    wire_close(&wire);
}

/* ---- Ring -------------------------------------------------------------- */

struct ring {
    int fds[CLIENTS_MAX]; /* created before the fork: open until all have ended
                           */
    struct sockaddr_un names[CLIENTS_MAX];
    socklen_t name_lens[CLIENTS_MAX];
    int n;
};

struct link {
    const struct ring *ring;
    int index;
    bool has_turn;
};

/* Abstract names, chosen by the kernel: no files to remove. */
static void ring_init(struct ring *ring, int n)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    ring->n = n;
    for (int i = 0; i < n; i++) {
        ring->fds[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ring->name_lens[i] = sizeof(ring->names[i]);
        if (ring->fds[i] < 0 ||
            bind(ring->fds[i], (struct sockaddr *)&any,
                 offsetof(struct sockaddr_un, sun_path)) != 0 ||
            getsockname(ring->fds[i], (struct sockaddr *)&ring->names[i],
                        &ring->name_lens[i]) != 0) {
            die("socket");
        }
    }
}

static void *link_open(int index, void *arg)
{
    struct link *l = must_alloc(1, sizeof(*l));
    l->ring = arg;
    l->index = index;
    l->has_turn = index == 0;
    return l;
}

static void link_take(void *client)
{
    struct link *l = client;
    char byte;
    if (!l->has_turn && recv(l->ring->fds[l->index], &byte, 1, 0) != 1) {
        die("recv");
    }
    l->has_turn = false;
}

static void link_give(void *client)
{
    const struct link *l = client;
    const struct ring *ring = l->ring;
    int next = (l->index + 1) % ring->n;
    if (sendto(ring->fds[l->index], "1", 1, 0,
               (const struct sockaddr *)&ring->names[next],
               ring->name_lens[next]) != 1) {
        die("sendto");
    }
}

static void link_close(void *client)
{
    free(client);
}

/* ---- Both -------------------------------------------------------------- */

int main(int argc, char **argv)
{
    struct scripts scripts = {0};
    struct line line = {0};
    struct ring ring = {0};
    struct crowd_plan plan;
    const char *node = arg_text(argc, argv, "--node", NULL);
    const char *dir = arg_text(argc, argv, "--scripts", NULL);
    struct crowd_side side = {.label = "raw",
                              .open = waiter_open,
                              .take = waiter_take,
                              .give = waiter_give,
                              .close = waiter_close,
                              .arg = &scripts};
    crowd_parse(&plan, argc, argv);
    if (arg_int(argc, argv, "--ring", 0) != 0) {
        side = (struct crowd_side){.label = "ring",
                                   .open = link_open,
                                   .take = link_take,
                                   .give = link_give,
                                   .close = link_close,
                                   .arg = &ring};
        ring_init(&ring, plan.n_clients);
    } else if (node == NULL) {
        die_text("usage",
                 "queue_raw --node ADDRESS [--scripts DIR] | --ring 1");
    } else if (dir != NULL) {
        side = (struct crowd_side){.label = "line",
                                   .open = member_open,
                                   .take = member_take,
                                   .give = member_give,
                                   .close = member_close,
                                   .arg = &line};
        line_load(&line, node, dir);
    } else {
        scripts_load(&scripts, node);
    }
    return crowd_run(&plan, &side);
}
