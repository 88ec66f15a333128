/* SPDX-License-Identifier: Apache-2.0 */
/* Notes about requests and replies of servers, in words. A note has the time
 * when its reply arrives, which is known once the reply is sent: until then the
 * note is kept here. */
#include "world/node.h"

#include "redis/redis.h"

#include "base/assert.h"
#include "store/redis/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests whose replies are not sent yet; a trace leaves others out. */
#define WAITING_MAX 64

/* The prefix of keys: stories do not set another one. */
#define PREFIX "lock:"
#define PREFIX_LEN (sizeof(PREFIX) - 1)

/* Arguments of the scripts, numbered as in their heads; EVALSHA, hash, 7 and
 * the keys precede them. */
#define KEY 3
#define ARG(n) (9 + (n))

struct traced_request {
    struct sim_link *link;
    int64_t at_ns;
    int64_t sent_ns;
    int64_t lease_ns;
    int name;
    bool is_shared;
    bool is_old;
    char text[40];
    char result[48];
};

/* A place in a queue, which may be over: the node keeps it, and a grant that it
 * pushes to it, for keep_ns. */
struct traced_place {
    char key[8]; /* "a", "a#0" */
    int64_t keep_ns;
};

/* Names and permits that one process may wait for, in a story that is traced;
 * beyond that, one place is used again. */
#define PLACES_MAX 16

struct sim_server_trace {
    struct traced_place places[SIM_PROCESSES_MAX][PLACES_MAX]; /* filled first
                                                                */
    unsigned n;
    struct traced_request ones[WAITING_MAX];
};

struct sim_server_trace *sim_server_trace_new(void)
{
    struct sim_server_trace *trace = calloc(1, sizeof(*trace));
    HF_ASSERT(trace != NULL);
    return trace;
}

void sim_server_trace_free(struct sim_server_trace *trace)
{
    free(trace);
}

static uint64_t number_at(const struct sim_run *run, size_t arg)
{
    return arg < run->argc ? strtoull(run->argv[arg].data, NULL, 10) : 0;
}

static bool is_at(const struct sim_run *run, size_t arg, const char *text)
{
    return arg < run->argc && strcmp(run->argv[arg].data, text) == 0;
}

static void say_verb(char *out, size_t size, const struct sim_run *run)
{
    bool is_acquire = strcmp(run->script, "acquire") == 0;
    uint64_t yields = is_acquire ? number_at(run, ARG(12)) : 0;
    if (yields > 0) {
        snprintf(out, size, "yield %" PRIu64, yields);
    } else if (is_acquire && number_at(run, ARG(8)) > 0) {
        snprintf(out, size, "acquire or queue");
    } else if (strcmp(run->script, "confirm") == 0) {
        bool is_holder = is_at(run, ARG(6), "1");
        snprintf(out, size, "%s %" PRIu64, is_holder ? "renew" : "raise to",
                 number_at(run, ARG(3)));
    } else {
        snprintf(out, size, "%s", run->script);
    }
}

/* The owner "<32 hex digits>:p2:2:…" belongs to p2. */
static void say_owner(char *out, size_t size, const char *text)
{
    const char *host = strchr(text, ':');
    if (host != NULL && host[1] == 'p') {
        snprintf(out, size, "held by %.2s", host + 1);
    } else {
        snprintf(out, size, "taken");
    }
}

/* They neither acquire nor release: their replies are no verdict. */
static bool is_call(const struct sim_run *run)
{
    static const char *const calls[] = {"mark", "inspect", "list", "look",
                                        "break"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(run->script, calls[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void say_fence(char *out, size_t size, const char *counter)
{
    if (counter == NULL) {
        snprintf(out, size, "yours");
    } else {
        snprintf(out, size, "yours %" PRIu64,
                 (uint64_t)strtoull(counter + 1, NULL, 10));
    }
}

/* A reply of several fields, of which the first is the verdict: at `next`. */
static void say_fields(char *out, size_t size, const char *reply,
                       const char *next)
{
    bool has_verdict = next != NULL && next[1] == ':';
    if (has_verdict && next[2] == '1') {
        say_fence(out, size, strchr(next + 2, ':'));
    } else if (has_verdict && next[2] == '2') {
        snprintf(out, size, "queued");
    } else {
        snprintf(out, size, "not yours");
        const char *text = strchr(reply, '$');
        text = text != NULL ? strchr(text, '\n') : NULL;
        if (text != NULL && text[1] != '\r') {
            say_owner(out, size, text + 1);
        }
    }
}

/* ":7" granted; "*4 :0 :c :left $owner" refused; ":-1" another marker; "-ERR"
 */
static void say_result(char *out, size_t size, const struct sim_run *run)
{
    const char *reply = run->reply;
    bool frees = strcmp(run->script, "release") == 0;
    const char *next = memchr(reply, '\n', run->reply_len);
    if (reply[0] == ':' && reply[1] == '-') {
        snprintf(out, size, "not the server you know");
    } else if (reply[0] == ':') {
        snprintf(out, size, "%s %" PRIu64, frees ? "free" : "yours",
                 (uint64_t)strtoull(reply + 1, NULL, 10));
    } else if (reply[0] == '-') {
        snprintf(out, size, "%.*s", (int)strcspn(reply + 1, " \r\n"),
                 reply + 1);
    } else if (is_call(run)) {
        snprintf(out, size, "tells");
    } else {
        say_fields(out, size, reply, next);
    }
}

/* @return the name's number: 0 for "lock:a" and "lock:a#0". */
static int name_of(const struct sim_run *run)
{
    if (run->argc <= KEY || strncmp(run->argv[KEY].data, "lock:", 5) != 0) {
        return -1;
    }
    return run->argv[KEY].data[5] - 'a';
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static struct traced_place *place_of(struct sim_server_trace *trace,
                                     int process, const char *key)
{
    struct traced_place *places = trace->places[process];
    for (unsigned i = 0; i < PLACES_MAX; i++) {
        if (places[i].key[0] == '\0' || strcmp(places[i].key, key) == 0) {
            snprintf(places[i].key, sizeof(places[i].key), "%s", key);
            return &places[i];
        }
    }
    return &places[0];
}

/* Note the lease that the node granted, or that of a place in its queue. */
static void see_lease(struct sim_server_trace *trace,
                      struct traced_request *one, const struct sim_run *run)
{
    bool is_acquire = strcmp(run->script, "acquire") == 0;
    size_t mode = is_acquire ? ARG(6) : ARG(7);
    one->is_shared = mode < run->argc && run->argv[mode].data[0] == 's';
    if (begins(one->result, "yours")) {
        one->lease_ns = (int64_t)number_at(run, ARG(2)) * SIM_MS;
    }
    if (is_acquire && strcmp(one->result, "queued") == 0 && one->name >= 0 &&
        one->link->peer >= 0) {
        place_of(trace, one->link->peer, run->argv[KEY].data + PREFIX_LEN)
            ->keep_ns = (int64_t)number_at(run, ARG(8)) * SIM_MS;
    }
}

void sim_server_trace_ran(struct sim_node *node, struct sim_link *link,
                          const struct sim_run *run)
{
    struct sim_server_trace *trace = node->server_trace;
    if (run->script[0] == '\0' || trace->n == WAITING_MAX) {
        return;
    }
    struct traced_request *one = &trace->ones[trace->n++];
    *one = (struct traced_request){.link = link,
                                   .at_ns = node->world->now_ns,
                                   .sent_ns = link->sent_ns,
                                   .name = name_of(run),
                                   .is_old = link->redis == node->old};
    say_verb(one->text, sizeof(one->text), run);
    say_result(one->result, sizeof(one->result), run);
    see_lease(trace, one, run);
}

static void tell(struct sim_node *node, const struct traced_request *one,
                 int64_t arrives_ns)
{
    sim_world_note(node->world, (struct sim_note){
                                    .kind = SIM_NOTE_ASKED,
                                    .process = one->link->peer,
                                    .lane = -1,
                                    .node = node->index,
                                    .other = -1,
                                    .name = one->name,
                                    .is_shared = one->is_shared,
                                    .is_old = one->is_old,
                                    .lease_ns = one->lease_ns,
                                    .sent_ns = one->sent_ns,
                                    .until_ns = arrives_ns,
                                    .text = one->text,
                                    .result = one->result,
                                });
}

static uint64_t counter_of(const struct sim_link *link, const char *key)
{
    struct hf_redis_keys keys;
    size_t len;
    hf_redis_keys_make(&keys, PREFIX, PREFIX_LEN, key, strlen(key));
    const char *text =
        sim_redis_get(link->redis, keys.sides[HF_REDIS_FENCE].text,
                      keys.sides[HF_REDIS_FENCE].len, &len);
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* A push has a counter but no name: find the name, among those for which the
 * process has waited, whose counter that is. NULL: none. */
static const struct traced_place *
granted_place(const struct sim_server_trace *trace, const struct sim_link *link,
              uint64_t counter)
{
    const struct traced_place *places = trace->places[link->peer];
    for (unsigned i = 0; i < PLACES_MAX && places[i].key[0] != '\0'; i++) {
        if (counter_of(link, places[i].key) == counter) {
            return &places[i];
        }
    }
    return NULL;
}

/* "*3 $7 message $n channel $m <cookie> <counter>" */
static void tell_push(struct sim_node *node, const struct sim_link *link,
                      const struct sim_chunk *chunk)
{
    static const char head[] = "*3\r\n$7\r\nmessage\r\n";
    if (chunk->len < sizeof(head) ||
        memcmp(chunk->data, head, sizeof(head) - 1) != 0) {
        return;
    }
    size_t at = chunk->len;
    while (at > 0 && chunk->data[at - 1] != ' ') {
        at--;
    }
    uint64_t counter = at > 0 ? strtoull(chunk->data + at, NULL, 10) : 0;
    const struct traced_place *place =
        granted_place(node->server_trace, link, counter);
    sim_world_note(node->world,
                   (struct sim_note){
                       .kind = SIM_NOTE_PUSHED,
                       .process = link->peer,
                       .lane = -1,
                       .node = node->index,
                       .other = -1,
                       .name = place == NULL ? -1 : place->key[0] - 'a',
                       .is_old = link->redis == node->old,
                       .lease_ns = place == NULL ? 0 : place->keep_ns,
                       .counter = counter,
                       .sent_ns = node->world->now_ns,
                       .until_ns = link->socket == NULL ? -1 : chunk->at_ns,
                   });
}

void sim_server_trace_sent(struct sim_node *node, struct sim_link *link)
{
    struct sim_server_trace *trace = node->server_trace;
    unsigned kept = 0;
    bool arrives = link->socket != NULL && !link->down.has_end;
    int64_t arrives_ns = arrives ? link->down.last_at_ns : -1;
    for (unsigned i = 0; i < trace->n; i++) {
        if (trace->ones[i].link == link) {
            tell(node, &trace->ones[i], arrives_ns);
        } else {
            trace->ones[kept++] = trace->ones[i];
        }
    }
    trace->n = kept;
    if (link->down.last != NULL) {
        tell_push(node, link, link->down.last);
    }
}
