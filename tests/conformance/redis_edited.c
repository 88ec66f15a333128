/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that were edited by hand, on a real server. */
#include "redis_world.h"

#define FENCE "hf:{lock:e}:fence"
#define A_OWNER "0123456789abcdef0123456789abcdef:host:1:1"
#define B_OWNER "fedcba9876543210fedcba9876543210:host:2:2:break"

static const struct {
    const char *label;
    const char *const argv[3];
} edits[] = {
    {"a word", {"SET", FENCE, "abc"}},
    {"no text", {"SET", FENCE, ""}},
    {"too few digits", {"SET", FENCE, "12 owner"}},
    {"too many digits", {"SET", FENCE, "17640000000000001"}},
    {"not a number", {"SET", FENCE, "nan"}},
    {"a fraction", {"SET", FENCE, "00000000000012.5 a"}},
    {"a negative number", {"SET", FENCE, "-000000000000005 a"}},
    {"more than a fence can be", {"SET", FENCE, "9999999999999999 a"}},
    {"another type", {"RPUSH", FENCE, "0000000000000005"}},
};
#define N_EDITS (sizeof(edits) / sizeof(edits[0]))

static void edit(struct server *server, size_t i)
{
    told(server, "DEL " FENCE);
    freeReplyObject(redisCommandArgv(
        server->control, 3, (const char **)(uintptr_t)edits[i].argv, NULL));
}

static bool is_as_edited(struct server *server, size_t i)
{
    bool is_list = strcmp(edits[i].argv[0], "RPUSH") == 0;
    const char *text =
        told(server, is_list ? "LINDEX " FENCE " 0" : "GET " FENCE);
    return strcmp(text, edits[i].argv[2]) == 0;
}

static bool exists(struct server *server, const char *key)
{
    return told_number(server, "EXISTS", key) != 0;
}

static bool names_key(const struct said *said)
{
    return said->verdict == HF_VERDICT_ERROR && said->fault == HF_UNAVAILABLE &&
           strstr(said->reason, FENCE) != NULL &&
           strstr(said->reason, "holdfast break") != NULL &&
           strstr(said->reason, "HFFENCE") == NULL;
}

static void clear(struct server *server)
{
    told(server, "DEL lock:e " FENCE " hf:{lock:e}:queue hf:{lock:e}:waiters "
                 "hf:{lock:e}:holders hf:{lock:e}:votes");
}

static struct said wait_for(struct rig *rig, const char *owner)
{
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "e", owner);
    ask.queue_ms = 5000;
    return rig_ask(rig, ask);
}

static struct said break_it(struct rig *rig, const char *owner, bool now)
{
    struct hf_ask ask = ask_of(HF_VERB_BREAK, "e", owner);
    ask.frees_now = now;
    return rig_ask(rig, ask);
}

static void test_refused(struct rig *rig, struct server *server, size_t i)
{
    edit(server, i);
    struct said said = acquire(rig, "e", "a", 0);
    ok(names_key(&said), "%s: a try names the key: %s", edits[i].label,
       said.reason);
    said = wait_for(rig, "a");
    ok(names_key(&said), "... so does a wait");
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "e", "a");
    ask.is_shared = true;
    said = rig_ask(rig, ask);
    ok(names_key(&said), "... and a sharer");
    said = confirm(rig, "e", "a", UINT64_C(1) << 50, true);
    ok(names_key(&said), "... and a renewal");
    ok(is_as_edited(server, i) && !exists(server, "lock:e") &&
           !exists(server, "hf:{lock:e}:queue") &&
           !exists(server, "hf:{lock:e}:votes"),
       "... before anything is written");
    said = inspect(rig, "e");
    ok(said.verdict == HF_VERDICT_OK && said.kind == HF_HOLDER_NONE,
       "... an inspection shows that it is free");
}

/* The name was edited while it was held. */
static void test_released(struct rig *rig, struct server *server, size_t i)
{
    clear(server);
    uint64_t t = acquire(rig, "e", "a", 0).counter;
    edit(server, i);
    struct said said = confirm(rig, "e", "a", t, true);
    ok(names_key(&said), "%s, of a held name: the renewal fails",
       edits[i].label);
    said = release(rig, "e", "b", t + 7);
    ok(said.verdict == HF_VERDICT_REFUSED && exists(server, "lock:e") &&
           is_as_edited(server, i),
       "... another's release changes nothing");
    said = inspect(rig, "e");
    ok(said.verdict == HF_VERDICT_OK && strcmp(said.owner, "a") == 0,
       "... an inspection shows the holder");
    said = release(rig, "e", "a", t);
    ok(said.verdict == HF_VERDICT_OK && !exists(server, "lock:e"),
       "... the holder's release frees it");
    said = acquire(rig, "e", "b", 0);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t + 1,
       "... and has brought the counter back");

    edit(server, i);
    release(rig, "e", "b", 0);
    ok(!exists(server, "lock:e") && is_as_edited(server, i),
       "... one that knows no counter frees it, and leaves the rest");
    said = release(rig, "e", "b", t + 9);
    ok(said.verdict == HF_VERDICT_REFUSED && is_as_edited(server, i),
       "... as one of a free name does");
}

static void test_released_to_waiter(struct rig *rig, struct server *server)
{
    clear(server);
    uint64_t t = acquire(rig, "e", "a", 0).counter;
    wait_for(rig, "b");
    edit(server, 0);
    struct said said = release(rig, "e", "a", 0);
    ok(said.verdict == HF_VERDICT_OK && !exists(server, "lock:e") &&
           is_as_edited(server, 0),
       "without a counter a release grants nothing to the waiter");
    clear(server);
    said = acquire(rig, "e", "a", 0);
    wait_for(rig, "b");
    edit(server, 0);
    said = release(rig, "e", "a", said.counter);
    ok(said.verdict == HF_VERDICT_OK && said.counter >= t,
       "with its counter, it is released");
    said = wait_for(rig, "b");
    ok(said.verdict == HF_VERDICT_OK && said.counter > t,
       "and the waiter gets the name at a greater one");
}

static void test_sharer_released(struct rig *rig, struct server *server)
{
    clear(server);
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "e", "a");
    ask.is_shared = true;
    uint64_t t = rig_ask(rig, ask).counter;
    edit(server, 0);
    struct said said = release(rig, "e", "a", t);
    ok(said.verdict == HF_VERDICT_OK && !exists(server, "lock:e") &&
           !exists(server, "hf:{lock:e}:votes") && is_as_edited(server, 0),
       "a sharer's release frees it too");
}

static void test_broken(struct rig *rig, struct server *server, size_t i)
{
    clear(server);
    edit(server, i);
    struct said said = break_it(rig, B_OWNER, false);
    uint64_t c = said.counter;
    ok(said.verdict == HF_VERDICT_OK && said.kind == HF_HOLDER_NONE,
       "%s: a break of the free name", edits[i].label);
    said = acquire(rig, "e", A_OWNER, 0);
    ok(said.verdict == HF_VERDICT_OK && said.counter >= c,
       "... writes the counter anew");
    edit(server, i);
    said = break_it(rig, B_OWNER, false);
    ok(said.verdict == HF_VERDICT_OK && strcmp(said.owner, A_OWNER) == 0 &&
           said.counter >= c,
       "... of a held one: names the holder");
    server_pass(server, 10001);
    release(rig, "e", B_OWNER, said.counter);
    said = acquire(rig, "e", "c", 0);
    ok(said.verdict == HF_VERDICT_OK && said.counter > c,
       "... and writes it before the name is free");
    edit(server, i);
    said = break_it(rig, B_OWNER, true);
    ok(said.verdict == HF_VERDICT_OK &&
           acquire(rig, "e", "d", 0).verdict == HF_VERDICT_OK,
       "... or at once");
    clear(server);
}

static void test_mark(struct rig *rig, struct server *server)
{
    static const char *const texts[] = {"abc",
                                        "\"\"",
                                        "nan a",
                                        "-5 a",
                                        "7 a",
                                        "00000000000000007 a",
                                        "0000000000000007x"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        told(server, "SET hf:{lock:e}:once %s", texts[i]);
        struct hf_ask ask = ask_of(HF_VERB_MARK, "e", A_OWNER);
        ask.counter = 7;
        struct said said = rig_ask(rig, ask);
        ok(said.verdict == HF_VERDICT_ERROR &&
               strstr(said.reason, "mark of --once") != NULL &&
               strstr(said.reason, "key hf:{lock:e}:once") != NULL,
           "a mark that was edited (%s) is named: %s", texts[i], said.reason);
    }
    told(server, "DEL hf:{lock:e}:once");
}

/* The errors of the scripts end with the key, whose name may be any code. */
static void test_name_like_code(struct rig *rig, struct server *server)
{
    static const char *const names[] = {"x-DENIED", "x-READONLY",
                                        "can't access"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *argv[] = {"SET", NULL, "abc"};
        char key[100];
        snprintf(key, sizeof(key), "hf:{lock:%s}:fence", names[i]);
        argv[1] = key;
        freeReplyObject(redisCommandArgv(server->control, 3, argv, NULL));
        struct said said = acquire(rig, names[i], "a", 0);
        ok(said.verdict == HF_VERDICT_ERROR && said.fault == HF_UNAVAILABLE &&
               strstr(said.reason, names[i]) != NULL &&
               rig->status[0] == HF_NODE_STATUS_VOTING,
           "a name like an error's code is none (%s): %s", names[i],
           said.reason);
    }
}

/* Too long to be compared: it is written anew. */
static void test_marker(struct server *server)
{
    struct rig rig;
    told(server, "HSET hf:node v %s",
         "0123456789012345678901234567890123456789012345678901234567890");
    rig_open(&rig, server);
    struct said said = acquire(&rig, "m", "a", 0);
    ok(said.verdict == HF_VERDICT_OK &&
           strlen(told(server, "HGET hf:node v")) == 32,
       "a marker that is too long is replaced: %s", said.reason);
    rig_close(&rig);
}

int main(void)
{
    static struct server server;
    static struct rig rig;
    server_start_still(&server, NULL);
    rig_open(&rig, &server);
    for (size_t i = 0; i < N_EDITS; i++) {
        test_refused(&rig, &server, i);
        test_released(&rig, &server, i);
        test_broken(&rig, &server, i);
    }
    test_released_to_waiter(&rig, &server);
    test_sharer_released(&rig, &server);
    test_mark(&rig, &server);
    test_name_like_code(&rig, &server);
    rig_close(&rig);
    test_marker(&server);
    server_remove(&server);
    return tap_done();
}
