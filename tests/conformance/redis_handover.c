/* SPDX-License-Identifier: Apache-2.0 */
/* release.lua has a fast path for a waiter that asks for the lock exclusively;
 * it costs a third of serve(). It must do the same as serve(): in random
 * scenes, the shipped script and the script without these lines give the same
 * reply, leave the same keys and expiries, and publish the same.
 *
 * The server's clock stands still, so that expiries are compared exactly.
 *
 *     redis_handover SEED        one scene; prints the differences
 *     redis_handover scenes      all scenes, but no planted change */
#include "core/limits.h"
#include "store/redis/scripts.h"

#include "redis_world.h"

#include <inttypes.h>

/* Random scenes that both scripts must end alike. */
#define SCENES 2000
#define PATIENCE 20000 /* scenes in which a planted change must show */
#define WAITERS_MAX 4  /* in a queue: the one served, and some behind it */
#define SHARERS_MAX 2  /* at a time: one that releases, and one that stays */
#define FLOOR_STEP (UINT64_C(1) << HF_FLOOR_BITS) /* in us */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define KEYS_OF_A_NAME                                                         \
    "lock:%s hf:{lock:%s}:fence hf:{lock:%s}:queue hf:{lock:%s}:waiters "      \
    "hf:{lock:%s}:holders hf:{lock:%s}:votes"

/* Start of the lines that are compared with serve(). */
static const char FAST[] = "if gives and ";

/* ---- Random scenes ------------------------------------------------------- */

struct waiter {
    char who[16];
    uint64_t ticket;
    char record[100]; /* "": no owner */
};

struct sharer {
    char who[16];
    int64_t till_ms;
    uint64_t counter;
};

struct scene {
    uint64_t random;
    uint64_t us;
    char lock[60];     /* "": the name is free */
    bool lock_is_list; /* a key of another type */
    char fence[60];    /* "": no counter */
    uint64_t counter;
    unsigned n_waiters;
    struct waiter waiters[WAITERS_MAX];
    unsigned n_sharers;
    struct sharer sharers[SHARERS_MAX];
    bool queue_is_text; /* keys of another type */
    bool waiters_are_text;
    const char *marker; /* at the node */
    /* The arguments of RELEASE. */
    uint64_t T;
    const char *ended_ms;
    const char *known; /* the marker that the client knows */
    bool may_publish;
};

static uint64_t draw(struct scene *scene, uint64_t below)
{
    scene->random ^= scene->random << 13;
    scene->random ^= scene->random >> 7;
    scene->random ^= scene->random << 17;
    return (scene->random >> 11) % below;
}

static bool one_in(struct scene *scene, unsigned n)
{
    return draw(scene, n) == 0;
}

/* Values at which scripts decide, and their neighbours. */
static uint64_t draw_counter(struct scene *scene)
{
    const uint64_t edges[] = {
        1,
        scene->us - scene->us % FLOOR_STEP,
        scene->us,
        scene->us + FLOOR_STEP,
        scene->us + HF_FENCE_AHEAD_MAX,
        scene->counter,
        scene->counter + HF_FENCE_AHEAD_MAX,
        HF_FENCE_MAX - 1,
    };
    uint64_t value = edges[draw(scene, COUNT(edges))] + draw(scene, 3);
    value -= value > 1 ? 1 : 0;
    return value < HF_FENCE_MAX ? value : HF_FENCE_MAX;
}

static void draw_fence(struct scene *scene)
{
    static const char *const lasts[] = {"", " me", " me", " other"};
    if (one_in(scene, 8)) {
        return;
    }
    uint64_t value = draw_counter(scene);
    snprintf(scene->fence, sizeof(scene->fence), "%016" PRIu64 "%s", value,
             lasts[draw(scene, COUNT(lasts))]);
    scene->counter = value;
}

static void draw_group(struct scene *scene)
{
    snprintf(scene->lock, sizeof(scene->lock), "shared:0-7");
    scene->n_sharers = 1 + (unsigned)draw(scene, SHARERS_MAX);
    for (unsigned i = 0; i < scene->n_sharers; i++) {
        struct sharer *sharer = &scene->sharers[i];
        snprintf(sharer->who, sizeof(sharer->who), "%s",
                 i == 0 && !one_in(scene, 3) ? "me"
                 : i == 0                    ? "s0"
                                             : "s1");
        sharer->till_ms =
            (int64_t)(scene->us / 1000) + (one_in(scene, 3) ? 0 : 4000 + i);
        sharer->counter = 7 + i;
    }
}

static void draw_lock(struct scene *scene)
{
    switch (draw(scene, 16)) {
    case 0:
        break;
    case 1:
        snprintf(scene->lock, sizeof(scene->lock), "other");
        break;
    case 2:
        snprintf(scene->lock, sizeof(scene->lock), "ended:me");
        break;
    case 3:
        scene->lock_is_list = true;
        break;
    case 4:
    case 5:
        draw_group(scene);
        break;
    default:
        snprintf(scene->lock, sizeof(scene->lock), "me");
        break;
    }
}

static void draw_waiter(struct scene *scene, unsigned i)
{
    static const char *const modes[] = {"x", "x", "x", "s0", "s3"};
    static const char *const channels[] = {"ear0", "ear1", "ear0",
                                           "ear1", "dead", ""};
    static const int64_t lefts[] = {-5, -1, 0, 1, 2000, 6000, 6000, 6000, 6000};
    struct waiter *waiter = &scene->waiters[i];
    snprintf(waiter->who, sizeof(waiter->who), "w%" PRIu64 "%u",
             draw(scene, 10), i);
    waiter->ticket = scene->us - 5000000 + draw(scene, 4);
    int64_t till =
        (int64_t)(scene->us / 1000) + lefts[draw(scene, COUNT(lefts))];
    snprintf(waiter->record, sizeof(waiter->record),
             "%016" PRId64 " %s %" PRIu64 " %s %" PRIu64, till,
             modes[draw(scene, COUNT(modes))], 1 + draw(scene, 6000),
             channels[draw(scene, COUNT(channels))], draw(scene, 1U << 20));
    if (one_in(scene, 16)) { /* it sent ACQUIRE while a break had the name */
        snprintf(waiter->who, sizeof(waiter->who), "me");
    } else if (one_in(scene, 16)) {
        waiter->record[draw(scene, 12)] = '\0';
    }
}

static struct scene draw_scene(uint64_t seed, uint64_t us)
{
    static const char *const ends[] = {"0", "0", "0", "0", "0", "5000"};
    static const char *const markers[] = {"m1", "m1", "m1", "m1", "m1",
                                          "m1", "m1", "m2", ""};
    struct scene scene = {.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15),
                          .us = us};
    for (unsigned i = 0; i < 4; i++) {
        draw(&scene, 1);
    }
    draw_fence(&scene);
    draw_lock(&scene);
    scene.n_waiters =
        one_in(&scene, 10) ? 0 : 1 + (unsigned)draw(&scene, WAITERS_MAX);
    for (unsigned i = 0; i < scene.n_waiters; i++) {
        draw_waiter(&scene, i);
    }
    scene.queue_is_text = one_in(&scene, 40);
    scene.waiters_are_text = one_in(&scene, 40);
    scene.marker = markers[draw(&scene, COUNT(markers))];
    scene.T = one_in(&scene, 4) ? 0 : draw_counter(&scene);
    scene.ended_ms = ends[draw(&scene, COUNT(ends))];
    scene.known = markers[draw(&scene, COUNT(markers))];
    scene.may_publish = !one_in(&scene, 10);
    return scene;
}

/* ---- The server ---------------------------------------------------------- */

struct stage {
    struct server server;
    redisContext *mute; /* a user without the right to publish */
    redisContext *ears;
    unsigned queued;  /* commands without a reply so far */
    int64_t begin_ns; /* for scene 0: the start of a step of the clock floor */
    unsigned heard;   /* scenes in which a grant was published */
};

/* One run of a script: its reply, the keys that it left, and its messages. */
struct result {
    char text[6000];
    size_t len;
    unsigned n_heard;
};

static void put(struct stage *stage, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisvAppendCommand(stage->server.control, format, args);
    va_end(args);
    stage->queued++;
}

static void put_all(struct stage *stage)
{
    while (stage->queued > 0) {
        redisReply *reply = NULL;
        if (redisGetReply(stage->server.control, (void **)&reply) != REDIS_OK ||
            reply->type == REDIS_REPLY_ERROR) {
            printf("Bail out! %s\n",
                   reply == NULL ? stage->server.control->errstr : reply->str);
            exit(1);
        }
        freeReplyObject(reply);
        stage->queued--;
    }
}

static void lay_queue(struct stage *stage, const struct scene *scene,
                      const char *name)
{
    if (scene->queue_is_text) {
        put(stage, "SET hf:{lock:%s}:queue text PX 9000", name);
    }
    if (scene->waiters_are_text) {
        put(stage, "SET hf:{lock:%s}:waiters text PX 9000", name);
    }
    for (unsigned i = 0; i < scene->n_waiters; i++) {
        const struct waiter *waiter = &scene->waiters[i];
        if (!scene->queue_is_text) {
            put(stage, "ZADD hf:{lock:%s}:queue %llu %s", name,
                (unsigned long long)waiter->ticket, waiter->who);
        }
        if (!scene->waiters_are_text && waiter->record[0] != '\0') {
            put(stage, "HSET hf:{lock:%s}:waiters %s %s", name, waiter->who,
                waiter->record);
        }
    }
    put(stage, "PEXPIRE hf:{lock:%s}:queue 8000", name);
    put(stage, "PEXPIRE hf:{lock:%s}:waiters 8000", name);
}

static void lay_group(struct stage *stage, const struct scene *scene,
                      const char *name)
{
    put(stage, "HSET hf:{lock:%s}:votes %b shared:0-7", name, "", (size_t)0);
    for (unsigned i = 0; i < scene->n_sharers; i++) {
        const struct sharer *sharer = &scene->sharers[i];
        put(stage, "ZADD hf:{lock:%s}:holders %lld %s", name,
            (long long)sharer->till_ms, sharer->who);
        put(stage, "HSET hf:{lock:%s}:votes %s %llu", name, sharer->who,
            (unsigned long long)sharer->counter);
    }
    put(stage, "PEXPIRE hf:{lock:%s}:holders 4001", name);
    put(stage, "PEXPIRE hf:{lock:%s}:votes 4001", name);
}

static void lay(struct stage *stage, const struct scene *scene,
                const char *name)
{
    if (scene->lock_is_list) {
        put(stage, "RPUSH lock:%s one two", name);
    } else if (scene->lock[0] != '\0') {
        put(stage, "SET lock:%s %s PX 4001", name, scene->lock);
    }
    if (scene->fence[0] != '\0') {
        put(stage, "SET hf:{lock:%s}:fence %s PX 70000", name, scene->fence);
    }
    if (scene->n_sharers > 0) {
        lay_group(stage, scene, name);
    }
    lay_queue(stage, scene, name);
}

/* ---- Keys after a run ---------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(struct result *result,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = sizeof(result->text) - result->len;
    int len = vsnprintf(result->text + result->len, room, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= room) {
        printf("Bail out! more than a result can take\n");
        exit(1);
    }
    result->len += (size_t)len;
}

static void note_reply(struct result *result, const redisReply *reply)
{
    if (reply == NULL) {
        printf("Bail out! the server is gone\n");
        exit(1);
    }
    if (reply->type == REDIS_REPLY_INTEGER) {
        note(result, " %lld", reply->integer);
    } else if (reply->type == REDIS_REPLY_ARRAY) {
        note(result, " {");
        for (size_t i = 0; i < reply->elements; i++) {
            note_reply(result, reply->element[i]);
        }
        note(result, " }");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        /* The hash and the line that follow change with the script's text. */
        const char *end = strstr(reply->str, " script: ");
        note(result, " %.*s",
             (int)(end == NULL ? strlen(reply->str)
                               : (size_t)(end - reply->str)),
             reply->str);
    } else {
        note(result, " '%s'", reply->str == NULL ? "(nil)" : reply->str);
    }
}

/* For each key: its type, its value, and its expiry. The order of a hash's
 * fields does not matter. */
static const char SNAPSHOT[] =
    "local keys = {} "
    "for i, key in ipairs(KEYS) do "
    "    local kind, value = redis.call('TYPE', key).ok, {} "
    "    if kind == 'hash' then "
    "        local all = redis.call('HGETALL', key) "
    "        for j = 1, #all, 2 do "
    "            value[#value + 1] = all[j] .. ' = ' .. all[j + 1] "
    "        end "
    "        table.sort(value) "
    "    elseif kind == 'zset' then "
    "        value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') "
    "    elseif kind == 'list' then "
    "        value = redis.call('LRANGE', key, 0, -1) "
    "    elseif kind == 'string' then "
    "        value[1] = redis.call('GET', key) "
    "    end "
    "    keys[i] = {kind, value, redis.call('PTTL', key)} "
    "end "
    "return keys";

static void note_keys(struct stage *stage, struct result *result,
                      const char *name)
{
    static const char *const sides[] = {"lock",    "fence",   "queue",
                                        "waiters", "holders", "votes"};
    redisReply *reply =
        redisCommand(stage->server.control, "EVAL %s 6 " KEYS_OF_A_NAME,
                     SNAPSHOT, name, name, name, name, name, name);
    for (unsigned i = 0; i < COUNT(sides); i++) {
        note(result, "\n#   %s", sides[i]);
        note_reply(result, reply->element[i]);
    }
    freeReplyObject(reply);
}

/* All messages so far: they arrive before a message that the test sends. */
static void note_heard(struct stage *stage, struct result *result)
{
    bool is_end = false;
    told(&stage->server, "PUBLISH ear0 end");
    note(result, "\n#   published");
    while (!is_end) {
        redisReply *reply = NULL;
        redisGetReply(stage->ears, (void **)&reply);
        is_end = reply != NULL && strcmp(reply->element[2]->str, "end") == 0;
        if (!is_end) {
            note_reply(result, reply);
            result->n_heard++;
        }
        freeReplyObject(reply);
    }
}

static struct result run(struct stage *stage, const struct scene *scene,
                         const char *sha1, const char *name)
{
    struct result result = {.len = 0};
    redisContext *user =
        scene->may_publish ? stage->server.control : stage->mute;
    redisReply *reply = redisCommand(
        user, "EVALSHA %s 7 " KEYS_OF_A_NAME " hf:node me %llu %s 3600000 %s",
        sha1, name, name, name, name, name, name, (unsigned long long)scene->T,
        scene->ended_ms, scene->known);
    note(&result, "#   replied");
    note_reply(&result, reply);
    freeReplyObject(reply);
    note_keys(stage, &result, name);
    note_heard(stage, &result);
    return result;
}

/* ---- Scripts ------------------------------------------------------------- */

struct change {
    const char *title;
    const char *text;
    const char *instead;
};

/* release.lua with a piece of text replaced; @return its hash. */
static void load(struct stage *stage, const struct change *change,
                 char sha1[41])
{
    const struct hf_script *script = &hf_script_release;
    char *text = malloc(script->len + 200);
    const char *at = strstr(script->text, change->text);
    if (text == NULL || at == NULL) {
        printf("Bail out! release.lua has no \"%s\" any more\n", change->text);
        exit(1);
    }
    int len =
        snprintf(text, script->len + 200, "%.*s%s%s", (int)(at - script->text),
                 script->text, change->instead, at + strlen(change->text));
    redisReply *reply = redisCommand(stage->server.control, "SCRIPT LOAD %b",
                                     text, (size_t)len);
    if (reply->type != REDIS_REPLY_STRING) {
        printf("Bail out! %s: %s\n", change->title, reply->str);
        exit(1);
    }
    snprintf(sha1, 41, "%s", reply->str);
    freeReplyObject(reply);
    free(text);
}

static const struct change nothing = {"as it is", FAST, FAST};
static const struct change cut = {"without these lines", FAST, "if false and "};

/* Errors in these lines, each of which must change the result of a scene. */
static const struct change changes[] = {
    {"the counter does not move", "math.max(aligned + 1, us", //
     "math.max(aligned, us"},
    {"the clock floor is not minded", "math.max(aligned + 1, us - us % FLOOR",
     "math.max(aligned + 1, 0 * us % FLOOR"},
    {"T is not minded", "        aligned = T", "        aligned = c"},
    {"T has no bound", "T > c and T <= math.max(c, us) + AHEAD_MAX then",
     "T > c then"},
    {"the bound of T is another", "math.max(c, us) + AHEAD_MAX then",
     "us + AHEAD_MAX then"},
    {"fences have no end", "v <= FENCE_MAX then", "true then"},
    {"the owner is served again", "first[1] ~= me and", "true and"},
    {"the owner stays in the queue", "first[1], me) > 1", "first[1]) > 1"},
    {"the owner's place stays", "redis.call('ZREM', KEYS[3], me)",
     "redis.call('TIME')"},
    {"the marker is not asked", "redis.pcall('HGET', KEYS[7], 'v') == marker",
     "true"},
    {"a place lives too long", "tonumber(till) > math.floor",
     "tonumber(till) >= math.floor"},
    {"a sharer is served alone", "(%d+) x (%d+)", "(%d+) %w+ (%d+)"},
    {"a waiter that cannot hear is served", "and told > 0", "and told >= 0"},
    {"the fence is kept too short", "keep = math.ceil((v - us) / 1000) + keep",
     "keep = keep + 0"},
    {"the lease is another", "'PX', ms)\n            redis.call('SET'",
     "'PX', 6000)\n            redis.call('SET'"},
    {"the waiter stays", "redis.call('HDEL', KEYS[4], first[1]",
     "redis.call('HDEL', KEYS[4], ''"},
    {"the fence has no owner", "text .. ' ' .. first[1]", "text"},
    {"the reply is the grant's", "            return aligned",
     "            return v"},
    {"another cookie", "cookie .. ' ' .. text", "'1 ' .. text"},
    {"the queue that was put back has no expiry",
     "redis.pcall('PEXPIRE', KEYS[3]", "redis.pcall('PTTL', KEYS[3]"},
    {"put back at another place", "first[2], first[1])\n    redis.pcall",
     "first[2] + 1, first[1])\n    redis.pcall"},
};

/* ---- Scenes -------------------------------------------------------------- */

static void show(const struct scene *scene, uint64_t seed,
                 const struct result results[2])
{
    printf("# scene %" PRIu64 ": T %" PRIu64 " us %" PRIu64
           " lock '%s' fence '%s' ended %s markers '%s' '%s' publishes %d\n",
           seed, scene->T, scene->us, scene->lock, scene->fence,
           scene->ended_ms, scene->marker, scene->known, scene->may_publish);
    for (unsigned i = 0; i < scene->n_waiters; i++) {
        printf("#   waits %s %" PRIu64 " '%s'\n", scene->waiters[i].who,
               scene->waiters[i].ticket, scene->waiters[i].record);
    }
    printf("# as it is\n%s\n# by serve() alone\n%s\n", results[0].text,
           results[1].text);
}

/* @return whether both do the same. `shows`: print the difference. */
static bool play(struct stage *stage, uint64_t seed, char sha1s[2][41],
                 bool shows)
{
    static const char *const names[] = {"a", "b"};
    struct result results[2];
    *stage->server.clock_ns =
        stage->begin_ns + 1000 * (int64_t)(seed * 1499000 + seed * 7919 % 1000);
    struct scene scene =
        draw_scene(seed, (uint64_t)(*stage->server.clock_ns / 1000));
    put(stage, "FLUSHALL");
    if (scene.marker[0] != '\0') {
        put(stage, "HSET hf:node v %s", scene.marker);
    }
    lay(stage, &scene, names[0]);
    lay(stage, &scene, names[1]);
    put_all(stage);
    for (unsigned i = 0; i < 2; i++) {
        results[i] = run(stage, &scene, sha1s[i], names[i]);
    }
    stage->heard += results[0].n_heard > 0;
    bool is_same = strcmp(results[0].text, results[1].text) == 0;
    if (!is_same && shows) {
        show(&scene, seed, results);
    }
    return is_same;
}

static void the_same_as_serve(struct stage *stage, uint64_t from, uint64_t n)
{
    char sha1s[2][41];
    unsigned differ = 0;
    load(stage, &nothing, sha1s[0]);
    load(stage, &cut, sha1s[1]);
    for (uint64_t seed = from; seed < from + n && differ < 3; seed++) {
        differ += !play(stage, seed, sha1s, true);
    }
    ok(differ == 0, "a name is handed over as serve() would");
    if (n > 1) {
        ok(stage->heard > n / 6, "grants in %u of %" PRIu64 " scenes",
           stage->heard, n);
    }
}

static void a_mistake_is_seen(struct stage *stage, const struct change *change)
{
    char sha1s[2][41];
    uint64_t seed = 0;
    load(stage, change, sha1s[0]);
    load(stage, &cut, sha1s[1]);
    while (seed < PATIENCE && play(stage, seed, sha1s, false)) {
        seed++;
    }
    ok(seed < PATIENCE, "seen: %s", change->title);
    printf("# in scene %" PRIu64 "\n", seed);
}

static void stage_open(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    server_start_still(&stage->server, NULL);
    stage->begin_ns = *stage->server.clock_ns;
    told(&stage->server, "ACL SETUSER mute on nopass ~* +@all resetchannels");
    stage->mute = redisConnectUnix(stage->server.path);
    freeReplyObject(redisCommand(stage->mute, "AUTH mute none"));
    stage->ears = redisConnectUnix(stage->server.path);
    redisAppendCommand(stage->ears, "SUBSCRIBE ear0 ear1");
    for (unsigned i = 0; i < 2; i++) {
        redisReply *reply = NULL;
        redisGetReply(stage->ears, (void **)&reply);
        freeReplyObject(reply);
    }
}

int main(int argc, char **argv)
{
    struct stage stage;
    stage_open(&stage);
    bool is_all = argc == 1 || strcmp(argv[1], "scenes") == 0;
    if (is_all) {
        the_same_as_serve(&stage, 0, SCENES);
    } else {
        the_same_as_serve(&stage, strtoull(argv[1], NULL, 10), 1);
    }
    for (size_t i = 0; i < COUNT(changes) && argc == 1; i++) {
        a_mistake_is_seen(&stage, &changes[i]);
    }
    redisFree(stage.mute);
    redisFree(stage.ears);
    server_remove(&stage.server);
    return tap_done();
}
