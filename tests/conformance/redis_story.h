/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of a name: text lines that run on a real server and are checked.
 *
 *     static const struct line story[] = {
 *         {"a try", "ok new"},
 *         {"b wait t=7", "queued owner=a ahead=0 ticket=7"},
 *         {"a release", "ok same > b"},      the name was pushed to b
 *     };
 *     tell(&teller, "a name", story, n);
 *
 * A line is "CLIENT VERB [WORD ...]". Verbs: try, wait, yield, raise (CONFIRM),
 * hold (CONFIRM of a holder), release, break, break-now, inspect, roster.
 * Words: s, s=N (together, terms N), unfair, t=TICKET, q=MS (place), ttl=MS,
 * keep=MS (release), T=N or v=N: its counter, as `own`, `own+N` (own: what
 * CLIENT was granted last), `top`, `top+N` (largest seen in the story) or a
 * number.
 *
 * Instead of CLIENT: `!` a command to the server (its reply is expected), where
 * $L is the lock key, $F the fence, $Q, $W, $H, $V the others; `deaf CLIENT`:
 * unsubscribes its channel; `hears CLIENT`: subscribes it again; `pass MS` on
 * the server's clock, which otherwise advances by 1 ms a line; `gone KEY`
 * passes time until the key has expired.
 *
 * Expected: words, each a word of the answer (ok, refused, queued, error, new:
 * its counter is above all before, own: it is what CLIENT was granted last),
 * its counter as c=top+5, or a comparison like ahead=1, left<6000, floor>0;
 * then `>` and the clients to which the name was pushed, in order, and no
 * others. Every push names a counter above all before.
 *
 * Each client has a channel of its own. In the end all clients release, and
 * nothing of the name may be left but its fence. */
#ifndef HF_TESTS_REDIS_STORY_H
#define HF_TESTS_REDIS_STORY_H

#include "redis_world.h"
#include "store/redis/node.h"

#include <ctype.h>

struct line {
    const char *does;
    const char *expected;
};

#define TELL(teller, name, lines)                                              \
    tell((teller), (name), sizeof(name) - 1, (lines),                          \
         sizeof(lines) / sizeof((lines)[0]))

#define PEOPLE_MAX 16

struct person {
    char name[24];
    uint64_t own; /* counter of the last grant, or of the last push */
    uint64_t cookie;
};

struct teller {
    struct rig rig;
    struct server *server;
    redisContext *ears;
    struct hf_redis_keys keys;
    const char *name;
    size_t name_len;
    struct person people[PEOPLE_MAX];
    unsigned n_people;
    uint64_t top;     /* largest counter so far */
    uint64_t before;  /* the same before this line and its pushes */
    char pushed[400]; /* waiters that got a push since the last line */
    char why[400];    /* the difference from what was expected */
};

/* ---- Channels ------------------------------------------------------------ */

static inline void hear(struct teller *teller, const char *who, bool hears)
{
    redisReply *reply = redisCommand(teller->ears, "%s to:%s",
                                     hears ? "SUBSCRIBE" : "UNSUBSCRIBE", who);
    freeReplyObject(reply);
}

static inline struct person *person_of(struct teller *teller, const char *who)
{
    for (unsigned i = 0; i < teller->n_people; i++) {
        if (strcmp(teller->people[i].name, who) == 0) {
            return &teller->people[i];
        }
    }
    struct person *person = &teller->people[teller->n_people++];
    memset(person, 0, sizeof(*person));
    snprintf(person->name, sizeof(person->name), "%.23s", who);
    hear(teller, who, true);
    return person;
}

static inline void hear_push(struct teller *teller, const redisReply *reply)
{
    struct person *person =
        person_of(teller, reply->element[1]->str + strlen("to:"));
    char *end;
    uint64_t cookie = strtoull(reply->element[2]->str, &end, 10);
    uint64_t counter = strtoull(end, NULL, 10);
    if (cookie != person->cookie || counter <= teller->before) {
        snprintf(teller->why, sizeof(teller->why), "pushed: %s",
                 reply->element[2]->str);
    }
    person->own = teller->before = counter;
    if (counter > teller->top) {
        teller->top = counter;
    }
    strcat(teller->pushed, teller->pushed[0] == '\0' ? "" : " ");
    strcat(teller->pushed, person->name);
}

/* The pushes that the server sent before its reply to the line: the reply to a
 * PING on the same connection comes after them. */
static inline void hear_all(struct teller *teller)
{
    redisAppendCommand(teller->ears, "PING");
    for (;;) {
        void *raw = NULL;
        if (redisGetReply(teller->ears, &raw) != REDIS_OK) {
            printf("Bail out! the subscriber was cut off\n");
            exit(1);
        }
        redisReply *reply = raw;
        bool is_push = reply->type == REDIS_REPLY_ARRAY &&
                       reply->elements == 3 &&
                       strcmp(reply->element[0]->str, "message") == 0;
        if (is_push) {
            hear_push(teller, reply);
        }
        freeReplyObject(reply);
        if (!is_push) {
            return;
        }
    }
}

/* ---- One line ------------------------------------------------------------ */

static inline uint64_t counter_word(const struct teller *teller,
                                    const struct person *person,
                                    const char *text)
{
    if (strncmp(text, "own", 3) == 0) {
        return person->own + strtoull(text + 3, NULL, 10);
    }
    if (strncmp(text, "top", 3) == 0) {
        return teller->top + strtoull(text + 3, NULL, 10);
    }
    return strtoull(text, NULL, 10);
}

static inline void ask_word(const struct teller *teller,
                            const struct person *person, struct hf_ask *ask,
                            const char *word)
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
        ask->counter = counter_word(teller, person, value);
    } else {
        printf("Bail out! what is %s?\n", word);
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
        {"hold", {.verb = HF_VERB_CONFIRM, .ttl_ms = 10000, .holder = true}},
        {"release", {.verb = HF_VERB_RELEASE}},
        {"break", {.verb = HF_VERB_BREAK, .ttl_ms = 10000}},
        {"break-now",
         {.verb = HF_VERB_BREAK, .ttl_ms = 10000, .frees_now = true}},
        {"inspect", {.verb = HF_VERB_INSPECT}},
        {"roster", {.verb = HF_VERB_ROSTER}},
    };
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].text, verb) == 0) {
            return verbs[i].ask;
        }
    }
    printf("Bail out! what is %s?\n", verb);
    exit(1);
}

/* The store has one channel; here each client of a story has one. */
static inline struct said say(struct teller *teller, struct person *person,
                              struct hf_ask ask)
{
    struct hf_redis *store = (struct hf_redis *)(void *)teller->rig.store;
    char kept[sizeof(store->channel)];
    memcpy(kept, store->channel, sizeof(kept));
    snprintf(store->channel, sizeof(store->channel), "to:%.23s", person->name);
    teller->rig.n_said = 0;
    uint64_t cookie = rig_send(&teller->rig, ask);
    memcpy(store->channel, kept, sizeof(kept));
    if (ask.queue_ms > 0) {
        person->cookie = cookie;
    }
    rig_flush(&teller->rig);
    return rig_await(&teller->rig, cookie);
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

static inline void judge(struct teller *teller, struct person *person,
                         const struct said *said, char *words)
{
    for (char *word = strtok(words, " "); word != NULL;
         word = strtok(NULL, " ")) {
        bool is_new = strcmp(word, "new") == 0;
        bool is_own = strcmp(word, "own") == 0;
        bool is_counter = strncmp(word, "c=", 2) == 0;
        bool is_right =
            is_new   ? said->counter > teller->top
            : is_own ? said->counter == person->own
            : is_counter
                ? said->counter == counter_word(teller, person, word + 2)
                : is_true(said, word);
        if (!is_right && teller->why[0] == '\0') {
            snprintf(
                teller->why, sizeof(teller->why),
                "not %.60s: verdict %d c %llu own %llu owner %.60s left %lld "
                "ahead %u ticket %llu seats %.60s %.40s",
                word, said->verdict, (unsigned long long)said->counter,
                (unsigned long long)person->own, said->owner,
                (long long)said->left_ms, said->ahead,
                (unsigned long long)said->ticket, said->seats, said->reason);
        }
    }
}

static inline void ask_line(struct teller *teller, const char *who, char *words,
                            char *expected)
{
    struct person *person = person_of(teller, who);
    struct hf_ask ask = ask_of_verb(strtok(words, " "));
    for (char *word = strtok(NULL, " "); word != NULL;
         word = strtok(NULL, " ")) {
        ask_word(teller, person, &ask, word);
    }
    ask.name = teller->name;
    ask.name_len = teller->name_len;
    ask.owner = who;
    ask.owner_len = strlen(who);
    struct said said = say(teller, person, ask);
    judge(teller, person, &said, expected);
    bool grants = ask.verb == HF_VERB_ACQUIRE || ask.verb == HF_VERB_YIELD ||
                  ask.verb == HF_VERB_CONFIRM;
    if (said.verdict == HF_VERDICT_OK && grants) {
        person->own = said.counter;
    }
    if (said.counter > teller->top) {
        teller->top = said.counter;
    }
}

/* ---- The server itself --------------------------------------------------- */

/* A key may hold any bytes: it is an argument of its own. */
static inline redisReply *command(struct teller *teller, const char *text)
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
            argv[argc] = teller->keys.lock;
            lens[argc] = teller->keys.lock_len;
        } else if (word[0] == '$') {
            const struct hf_redis_side_key *side =
                &teller->keys.sides[strchr(letters, word[1]) - letters];
            argv[argc] = side->text;
            lens[argc] = side->len;
        }
        argc++;
    }
    return redisCommandArgv(teller->server->control, argc, argv, lens);
}

static inline void server_line(struct teller *teller, const char *text,
                               const char *expected)
{
    char got[300];
    redisReply *reply = command(teller, text);
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
        snprintf(teller->why, sizeof(teller->why), "the server says: %s", got);
    }
}

/* @return whether the key is gone within a minute of the server's clock. */
static inline bool gone(struct teller *teller, const char *key)
{
    char text[40];
    bool is_there = true;
    snprintf(text, sizeof(text), "EXISTS %s", key);
    for (int ms = 0; ms < 60000 && is_there; ms++) {
        server_pass(teller->server, 1);
        redisReply *reply = command(teller, text);
        is_there = reply->integer != 0;
        freeReplyObject(reply);
    }
    return !is_there;
}

/* ---- The story ----------------------------------------------------------- */

static inline void do_line(struct teller *teller, char *does, char *expected)
{
    char *rest = does + strcspn(does, " ");
    *rest++ = '\0';
    if (strcmp(does, "!") == 0) {
        server_line(teller, rest, expected);
    } else if (strcmp(does, "deaf") == 0) {
        hear(teller, person_of(teller, rest)->name, false);
    } else if (strcmp(does, "hears") == 0) {
        hear(teller, person_of(teller, rest)->name, true);
    } else if (strcmp(does, "pass") == 0) {
        server_pass(teller->server, atoi(rest));
    } else if (strcmp(does, "gone") == 0) {
        if (!gone(teller, rest)) {
            snprintf(teller->why, sizeof(teller->why), "it is there");
        }
    } else {
        ask_line(teller, does, rest, expected);
    }
}

static inline void tell_line(struct teller *teller, const char *title,
                             const struct line *line)
{
    char does[300];
    char expected[300];
    snprintf(does, sizeof(does), "%s", line->does);
    snprintf(expected, sizeof(expected), "%s", line->expected);
    bool is_server = does[0] == '!';
    char *pushes = is_server ? NULL : strstr(expected, "> ");
    if (pushes != NULL) {
        *pushes = '\0';
        pushes += 2;
    }
    teller->why[0] = '\0';
    teller->pushed[0] = '\0';
    teller->before = teller->top;
    server_pass(teller->server, 1);
    do_line(teller, does, expected);
    hear_all(teller);
    if (teller->why[0] == '\0' &&
        strcmp(teller->pushed, pushes == NULL ? "" : pushes) != 0) {
        snprintf(teller->why, sizeof(teller->why), "pushed to: %.300s",
                 teller->pushed);
    }
    ok(teller->why[0] == '\0', "%s: %s -> %s", title, line->does,
       line->expected);
    if (teller->why[0] != '\0') {
        printf("# %s\n", teller->why);
    }
}

/* All clients release: only the fence may remain. */
static inline void tell_end(struct teller *teller, const char *title)
{
    static const char *const keys[] = {"EXISTS $L", "EXISTS $Q", "EXISTS $W",
                                       "EXISTS $H", "EXISTS $V"};
    for (unsigned i = 0; i < teller->n_people; i++) {
        struct hf_ask ask = ask_of_verb("release");
        ask.name = teller->name;
        ask.name_len = teller->name_len;
        ask.owner = teller->people[i].name;
        ask.owner_len = strlen(teller->people[i].name);
        say(teller, &teller->people[i], ask);
    }
    teller->why[0] = '\0';
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        server_line(teller, keys[i], "0");
    }
    hear_all(teller);
    ok(teller->why[0] == '\0', "%s: nothing is left but the fence", title);
    for (unsigned i = 0; i < teller->n_people; i++) {
        hear(teller, teller->people[i].name, false);
    }
}

static inline void tell(struct teller *teller, const char *name, size_t len,
                        const struct line *lines, size_t n)
{
    teller->name = name;
    teller->name_len = len;
    teller->n_people = 0;
    teller->top = 0;
    hf_redis_keys_make(&teller->keys, "lock:", 5, name, len);
    for (size_t i = 0; i < n; i++) {
        tell_line(teller, name, &lines[i]);
    }
    tell_end(teller, name);
}

static inline void teller_open(struct teller *teller, struct server *server)
{
    memset(teller, 0, sizeof(*teller));
    teller->server = server;
    rig_open(&teller->rig, server);
    teller->ears = redisConnectUnix(server->path);
}

static inline void teller_close(struct teller *teller)
{
    redisFree(teller->ears);
    rig_close(&teller->rig);
}

#endif
