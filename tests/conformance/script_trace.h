/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of one name: requests, as lines of text, that run the scripts of a
 * real server, and the expected replies.
 *
 *     static const struct trace_line lines[] = {
 *         {"a try", "ok new"},
 *         {"b wait t=7", "queued owner=a ahead=0 ticket=7"},
 *         {"a release", "ok same > b"},      the name was pushed to b
 *     };
 *     trace_run(&trace, "a name", lines, n);
 *
 * A line is "CLIENT VERB [WORD ...]". Verbs: try, wait, yield, raise (CONFIRM),
 * hold (CONFIRM of a holder), release, break, break-now, inspect, queue.
 * Words: s, s=N (together, terms N), unfair, t=TICKET, q=MS (place), ttl=MS,
 * keep=MS (release), T=N or v=N: its counter, as `own`, `own+N` (own: of the
 * last grant to CLIENT), `top`, `top+N` (largest seen in the trace) or a
 * number.
 *
 * Instead of CLIENT: `!` a command to the server (its reply is expected), where
 * $L is the lock key, $F the fence, $Q, $W, $H, $V the others; `unlisten
 * CLIENT`: unsubscribes its channel; `listen CLIENT`: subscribes it again;
 * `pass MS` on the server's clock, which otherwise advances by 1 ms a line;
 * `gone KEY` passes time until the key has expired.
 *
 * Expected: words, each a word of the answer (ok, refused, queued, error, new:
 * its counter is above all before, own: it is that of CLIENT's last grant),
 * its counter as c=top+5, or a comparison like ahead=1, left<6000, floor>0;
 * then `>` and the clients to which the name was pushed, in order, and no
 * others. Every push names a counter above all before.
 *
 * Each client has a channel of its own. In the end all clients release, and
 * nothing of the name may be left but its fence. */
#ifndef HF_TESTS_SCRIPT_TRACE_H
#define HF_TESTS_SCRIPT_TRACE_H

#include "redis_world.h"
#include "store/redis/node.h"

#include <ctype.h>

struct trace_line {
    const char *request;
    const char *expected;
};

#define TRACE_RUN(trace, name, lines)                                          \
    trace_run((trace), (name), sizeof(name) - 1, (lines),                      \
              sizeof(lines) / sizeof((lines)[0]))

#define TRACE_CLIENTS_MAX 16 /* of one trace: each has a name in its lines */

struct trace_client {
    char name[24];
    uint64_t own; /* counter of the last grant, or of the last push */
    uint64_t cookie;
};

struct script_trace {
    struct rig rig;
    struct server *server;
    redisContext *subscriber;
    struct hf_redis_keys keys;
    const char *name;
    size_t name_len;
    struct trace_client clients[TRACE_CLIENTS_MAX];
    unsigned n_clients;
    uint64_t top;     /* largest counter so far */
    uint64_t before;  /* the same before this line and its pushes */
    char pushed[400]; /* waiters that got a push since the last line */
    char why[400];    /* the difference from the expected words */
};

/* ---- Channels ------------------------------------------------------------ */

static inline void set_subscribed(struct script_trace *trace,
                                  const char *client, bool is_on)
{
    redisReply *reply =
        redisCommand(trace->subscriber, "%s to:%s",
                     is_on ? "SUBSCRIBE" : "UNSUBSCRIBE", client);
    freeReplyObject(reply);
}

static inline struct trace_client *client_of(struct script_trace *trace,
                                             const char *name)
{
    for (unsigned i = 0; i < trace->n_clients; i++) {
        if (strcmp(trace->clients[i].name, name) == 0) {
            return &trace->clients[i];
        }
    }
    struct trace_client *client = &trace->clients[trace->n_clients++];
    memset(client, 0, sizeof(*client));
    snprintf(client->name, sizeof(client->name), "%.23s", name);
    set_subscribed(trace, name, true);
    return client;
}

static inline void read_push(struct script_trace *trace,
                             const redisReply *reply)
{
    struct trace_client *client =
        client_of(trace, reply->element[1]->str + strlen("to:"));
    char *end;
    uint64_t cookie = strtoull(reply->element[2]->str, &end, 10);
    uint64_t counter = strtoull(end, NULL, 10);
    if (cookie != client->cookie || counter <= trace->before) {
        snprintf(trace->why, sizeof(trace->why), "pushed: %s",
                 reply->element[2]->str);
    }
    client->own = trace->before = counter;
    if (counter > trace->top) {
        trace->top = counter;
    }
    strcat(trace->pushed, trace->pushed[0] == '\0' ? "" : " ");
    strcat(trace->pushed, client->name);
}

/* The pushes that the server sent before its reply to the line: the reply to a
 * PING on the same connection comes after them. */
static inline void read_pushes(struct script_trace *trace)
{
    redisAppendCommand(trace->subscriber, "PING");
    for (;;) {
        void *raw = NULL;
        if (redisGetReply(trace->subscriber, &raw) != REDIS_OK) {
            printf("Bail out! the subscriber was disconnected\n");
            exit(1);
        }
        redisReply *reply = raw;
        bool is_push = reply->type == REDIS_REPLY_ARRAY &&
                       reply->elements == 3 &&
                       strcmp(reply->element[0]->str, "message") == 0;
        if (is_push) {
            read_push(trace, reply);
        }
        freeReplyObject(reply);
        if (!is_push) {
            return;
        }
    }
}

/* ---- One line ------------------------------------------------------------ */

static inline uint64_t counter_word(const struct script_trace *trace,
                                    const struct trace_client *client,
                                    const char *text)
{
    if (strncmp(text, "own", 3) == 0) {
        return client->own + strtoull(text + 3, NULL, 10);
    }
    if (strncmp(text, "top", 3) == 0) {
        return trace->top + strtoull(text + 3, NULL, 10);
    }
    return strtoull(text, NULL, 10);
}

static inline void ask_word(const struct script_trace *trace,
                            const struct trace_client *client,
                            struct hf_ask *ask, const char *word)
{
    const char *value = strchr(word, '=');
    value = value == NULL ? "" : value + 1;
    if (word[0] == 's') {
        ask->is_shared = true;
        ask->permits = (uint16_t)atoi(value);
    } else if (strcmp(word, "unfair") == 0) {
        ask->is_unfair = true;
    } else if (strncmp(word, "ttl=", 4) == 0 ||
               strncmp(word, "keep=", 5) == 0) {
        ask->ttl_ms = atoi(value);
    } else if (strncmp(word, "t=", 2) == 0) {
        ask->ticket = strtoull(value, NULL, 10);
    } else if (strncmp(word, "q=", 2) == 0) {
        ask->queue_ms = atoi(value);
    } else if (word[0] == 'T' || word[0] == 'v') {
        ask->counter = counter_word(trace, client, value);
    } else {
        printf("Bail out! unknown word %s\n", word);
        exit(1);
    }
}

static inline struct hf_ask ask_of_verb(const char *verb)
{
    static const struct {
        const char *text;
        struct hf_ask ask;
    } verbs[] = {
        {"try", {.verb = HF_VERB_ACQUIRE, .ttl_ms = 10000}},
        {"wait", {.verb = HF_VERB_ACQUIRE, .ttl_ms = 10000, .queue_ms = 6000}},
        {"yield", {.verb = HF_VERB_YIELD, .ttl_ms = 10000, .queue_ms = 6000}},
        {"raise", {.verb = HF_VERB_CONFIRM, .ttl_ms = 10000}},
        {"hold",
         {.verb = HF_VERB_CONFIRM, .ttl_ms = 10000, .reacquires = true}},
        {"release", {.verb = HF_VERB_RELEASE}},
        {"break", {.verb = HF_VERB_BREAK, .ttl_ms = 10000}},
        {"break-now",
         {.verb = HF_VERB_BREAK, .ttl_ms = 10000, .frees_now = true}},
        {"inspect", {.verb = HF_VERB_INSPECT}},
        {"queue", {.verb = HF_VERB_QUEUE}},
    };
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].text, verb) == 0) {
            return verbs[i].ask;
        }
    }
    printf("Bail out! what is %s?\n", verb);
    exit(1);
}

/* The store has one channel; here each client of a trace has one. */
static inline struct said send_ask(struct script_trace *trace,
                                   struct trace_client *client,
                                   struct hf_ask ask)
{
    struct hf_redis *store = (struct hf_redis *)(void *)trace->rig.store;
    char kept[sizeof(store->channel)];
    memcpy(kept, store->channel, sizeof(kept));
    snprintf(store->channel, sizeof(store->channel), "to:%.23s", client->name);
    trace->rig.n_said = 0;
    uint64_t cookie = rig_send(&trace->rig, ask);
    memcpy(store->channel, kept, sizeof(kept));
    if (ask.queue_ms > 0) {
        client->cookie = cookie;
    }
    rig_flush(&trace->rig);
    return rig_await(&trace->rig, cookie);
}

static inline bool compare(long long a, char operator, long long b)
{
    return operator== '=' ? a == b : operator== '<' ? a < b : a> b;
}

static inline bool is_true(const struct said *said, const char *word)
{
    static const char *const verdicts[] = {
        [HF_VERDICT_OK] = "ok",
        [HF_VERDICT_REFUSED] = "refused",
        [HF_VERDICT_QUEUED] = "queued",
        [HF_VERDICT_ERROR] = "error",
    };
    static const char *const kinds[] = {
        [HF_HOLDER_NONE] = "none",
        [HF_HOLDER_FOREIGN] = "foreign",
        [HF_HOLDER_TYPE] = "type",
        [HF_HOLDER_SHARED] = "shared",
    };
    const struct {
        const char *name;
        long long value;
    } numbers[] = {
        {"left", said->left_ms},
        {"floor", (long long)said->floor},
        {"ticket", (long long)said->ticket},
        {"ahead", said->ahead},
        {"terms", said->permits},
        {"sharers", said->sharers},
        {"waiting", said->waiting},
    };
    size_t len = strcspn(word, "=<>");
    const char *value = word + len + (word[len] == '\0' ? 0 : 1);
    if (word[len] == '\0') {
        const char *verdict = verdicts[said->verdict];
        return verdict != NULL && strcmp(word, verdict) == 0;
    }
    if (strncmp(word, "owner=", 6) == 0) {
        return strcmp(said->owner, value) == 0;
    }
    if (strncmp(word, "kind=", 5) == 0) {
        return strcmp(kinds[said->kind], value) == 0;
    }
    if (strncmp(word, "seats=", 6) == 0) {
        return strcmp(said->seats, value) == 0;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strlen(numbers[i].name) == len &&
            strncmp(word, numbers[i].name, len) == 0) {
            return compare(numbers[i].value, word[len],
                           strtoll(value, NULL, 10));
        }
    }
    return false;
}

static inline void check_reply(struct script_trace *trace,
                               struct trace_client *client,
                               const struct said *said, char *words)
{
    for (char *word = strtok(words, " "); word != NULL;
         word = strtok(NULL, " ")) {
        bool is_new = strcmp(word, "new") == 0;
        bool is_own = strcmp(word, "own") == 0;
        bool is_counter = strncmp(word, "c=", 2) == 0;
        bool is_right = is_new       ? said->counter > trace->top
                        : is_own     ? said->counter == client->own
                        : is_counter ? said->counter ==
                                           counter_word(trace, client, word + 2)
                                     : is_true(said, word);
        if (!is_right && trace->why[0] == '\0') {
            snprintf(
                trace->why, sizeof(trace->why),
                "not %.60s: verdict %d c %llu own %llu owner %.60s left %lld "
                "ahead %u ticket %llu seats %.60s %.40s",
                word, said->verdict, (unsigned long long)said->counter,
                (unsigned long long)client->own, said->owner,
                (long long)said->left_ms, said->ahead,
                (unsigned long long)said->ticket, said->seats, said->reason);
        }
    }
}

static inline void ask_line(struct script_trace *trace, const char *name,
                            char *words, char *expected)
{
    struct trace_client *client = client_of(trace, name);
    struct hf_ask ask = ask_of_verb(strtok(words, " "));
    for (char *word = strtok(NULL, " "); word != NULL;
         word = strtok(NULL, " ")) {
        ask_word(trace, client, &ask, word);
    }
    ask.name = trace->name;
    ask.name_len = trace->name_len;
    ask.owner = name;
    ask.owner_len = strlen(name);
    struct said said = send_ask(trace, client, ask);
    check_reply(trace, client, &said, expected);
    bool grants = ask.verb == HF_VERB_ACQUIRE || ask.verb == HF_VERB_YIELD ||
                  ask.verb == HF_VERB_CONFIRM;
    if (said.verdict == HF_VERDICT_OK && grants) {
        client->own = said.counter;
    }
    if (said.counter > trace->top) {
        trace->top = said.counter;
    }
}

/* ---- The server itself --------------------------------------------------- */

/* A key may hold any bytes: it is an argument of its own. */
static inline redisReply *command(struct script_trace *trace, const char *text)
{
    static const char letters[] = "FQWHV";
    char copy[400];
    const char *argv[16];
    size_t lens[16];
    int argc = 0;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *word = strtok(copy, " "); word != NULL;
         word = strtok(NULL, " ")) {
        argv[argc] = word;
        lens[argc] = strlen(word);
        if (strcmp(word, "$L") == 0) {
            argv[argc] = trace->keys.lock;
            lens[argc] = trace->keys.lock_len;
        } else if (word[0] == '$') {
            const struct hf_redis_side_key *side =
                &trace->keys.sides[strchr(letters, word[1]) - letters];
            argv[argc] = side->text;
            lens[argc] = side->len;
        }
        argc++;
    }
    return redisCommandArgv(trace->server->control, argc, argv, lens);
}

static inline void server_line(struct script_trace *trace, const char *text,
                               const char *expected)
{
    char got[300];
    redisReply *reply = command(trace, text);
    if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(got, sizeof(got), "%lld", reply->integer);
    } else {
        snprintf(got, sizeof(got), "%s", reply->str == NULL ? "" : reply->str);
    }
    freeReplyObject(reply);
    size_t prefix = strcspn(expected, "*");
    bool is_right = expected[0] == '<' || expected[0] == '>'
                        ? compare(strtoll(got, NULL, 10), expected[0],
                                  strtoll(expected + 1, NULL, 10))
                    : expected[prefix] == '*'
                        ? strncmp(got, expected, prefix) == 0
                        : strcmp(got, expected) == 0;
    if (!is_right) {
        snprintf(trace->why, sizeof(trace->why), "the server replied: %s", got);
    }
}

/* @return whether the key is gone within a minute of the server's clock. */
static inline bool gone(struct script_trace *trace, const char *key)
{
    char text[40];
    bool is_there = true;
    snprintf(text, sizeof(text), "EXISTS %s", key);
    for (int ms = 0; ms < 60000 && is_there; ms++) {
        server_pass(trace->server, 1);
        redisReply *reply = command(trace, text);
        is_there = reply->integer != 0;
        freeReplyObject(reply);
    }
    return !is_there;
}

/* ---- The trace ----------------------------------------------------------- */

static inline void dispatch_line(struct script_trace *trace, char *request,
                                 char *expected)
{
    char *rest = request + strcspn(request, " ");
    *rest++ = '\0';
    if (strcmp(request, "!") == 0) {
        server_line(trace, rest, expected);
    } else if (strcmp(request, "unlisten") == 0) {
        set_subscribed(trace, client_of(trace, rest)->name, false);
    } else if (strcmp(request, "listen") == 0) {
        set_subscribed(trace, client_of(trace, rest)->name, true);
    } else if (strcmp(request, "pass") == 0) {
        server_pass(trace->server, atoi(rest));
    } else if (strcmp(request, "gone") == 0) {
        if (!gone(trace, rest)) {
            snprintf(trace->why, sizeof(trace->why), "the key is still there");
        }
    } else {
        ask_line(trace, request, rest, expected);
    }
}

static inline void trace_line_run(struct script_trace *trace, const char *title,
                                  const struct trace_line *line)
{
    char request[300];
    char expected[300];
    snprintf(request, sizeof(request), "%s", line->request);
    snprintf(expected, sizeof(expected), "%s", line->expected);
    bool is_server = request[0] == '!';
    char *pushes = is_server ? NULL : strstr(expected, "> ");
    if (pushes != NULL) {
        *pushes = '\0';
        pushes += 2;
    }
    trace->why[0] = '\0';
    trace->pushed[0] = '\0';
    trace->before = trace->top;
    server_pass(trace->server, 1);
    dispatch_line(trace, request, expected);
    read_pushes(trace);
    if (trace->why[0] == '\0' &&
        strcmp(trace->pushed, pushes == NULL ? "" : pushes) != 0) {
        snprintf(trace->why, sizeof(trace->why), "pushed to: %.300s",
                 trace->pushed);
    }
    ok(trace->why[0] == '\0', "%s: %s -> %s", title, line->request,
       line->expected);
    if (trace->why[0] != '\0') {
        printf("# %s\n", trace->why);
    }
}

/* All clients release: only the fence may remain. */
static inline void trace_end(struct script_trace *trace, const char *title)
{
    static const char *const keys[] = {"EXISTS $L", "EXISTS $Q", "EXISTS $W",
                                       "EXISTS $H", "EXISTS $V"};
    for (unsigned i = 0; i < trace->n_clients; i++) {
        struct hf_ask ask = ask_of_verb("release");
        ask.name = trace->name;
        ask.name_len = trace->name_len;
        ask.owner = trace->clients[i].name;
        ask.owner_len = strlen(trace->clients[i].name);
        send_ask(trace, &trace->clients[i], ask);
    }
    trace->why[0] = '\0';
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        server_line(trace, keys[i], "0");
    }
    read_pushes(trace);
    ok(trace->why[0] == '\0', "%s: nothing is left but the fence", title);
    for (unsigned i = 0; i < trace->n_clients; i++) {
        set_subscribed(trace, trace->clients[i].name, false);
    }
}

static inline void trace_run(struct script_trace *trace, const char *name,
                             size_t len, const struct trace_line *lines,
                             size_t n)
{
    trace->name = name;
    trace->name_len = len;
    trace->n_clients = 0;
    trace->top = 0;
    hf_redis_keys_make(&trace->keys, "lock:", 5, name, len);
    for (size_t i = 0; i < n; i++) {
        trace_line_run(trace, name, &lines[i]);
    }
    trace_end(trace, name);
}

static inline void script_trace_open(struct script_trace *trace,
                                     struct server *server)
{
    memset(trace, 0, sizeof(*trace));
    trace->server = server;
    rig_open(&trace->rig, server);
    trace->subscriber = redisConnectUnix(server->path);
}

static inline void script_trace_close(struct script_trace *trace)
{
    redisFree(trace->subscriber);
    rig_close(&trace->rig);
}

#endif
