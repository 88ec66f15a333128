/* SPDX-License-Identifier: Apache-2.0 */
/* BREAK, on a real server. */
#include "redis_world.h"

static struct said break_it(struct rig *rig, const char *name,
                            const char *owner, bool now)
{
    struct hf_ask ask = ask_of(HF_VERB_BREAK, name, owner);
    ask.frees_now = now;
    ask.ttl_ms = 10000;
    return rig_ask(rig, ask);
}

#define A_OWNER "0123456789abcdef0123456789abcdef:host:1:1"
#define C_OWNER "00112233445566778899aabbccddeeff:host:3:3:break"
#define B_OWNER "fedcba9876543210fedcba9876543210:host:2:2:break"

static struct said give_back(struct rig *rig, const char *owner,
                             const char *back)
{
    struct hf_ask ask = ask_of(HF_VERB_BREAK, "g", owner);
    ask.back = back;
    ask.back_len = strlen(back);
    return rig_ask(rig, ask);
}

static void test_give_back(struct rig *rig, struct server *server)
{
    uint64_t t = acquire(rig, "g", A_OWNER, 0).counter;
    break_it(rig, "g", B_OWNER, false);
    give_back(rig, "other", A_OWNER);
    ok(strcmp(told(server, "GET lock:g"), B_OWNER) == 0,
       "only the breaker that took a name gives it back");
    long long left = told_number(server, "PTTL", "lock:g");
    give_back(rig, B_OWNER, A_OWNER);
    ok(strcmp(told(server, "GET lock:g"), A_OWNER) == 0 &&
           told_number(server, "PTTL", "lock:g") <= left,
       "given back: the holder has it, and no longer than before");
    struct said said = confirm(rig, "g", A_OWNER, t, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t,
       "its renewal counts again");
    told(server, "DEL lock:g");
    give_back(rig, B_OWNER, A_OWNER);
    ok(strcmp(told(server, "EXISTS lock:g"), "0") == 0,
       "a free name is not given back");
    told(server, "SET lock:g stranger PX 20000");
    break_it(rig, "g", B_OWNER, false);
    give_back(rig, B_OWNER, "stranger");
    left = told_number(server, "PTTL", "lock:g");
    ok(strcmp(told(server, "GET lock:g"), "stranger") == 0 && left > 10000 &&
           left <= 20000,
       "nor is a key of another library lost");
    told(server, "DEL lock:g");
}

/* A clock that ran ahead and was set right leaves expiries of years. */
static void test_break_years(struct rig *rig, struct server *server)
{
    told(server, "SET lock:y " A_OWNER " PX 31536000000");
    struct said said = break_it(rig, "y", B_OWNER, false);
    long long left = told_number(server, "PTTL", "lock:y");
    ok(said.left_ms == 10000 && left > 9000 && left <= 10000,
       "no lease of ours is longer than any can be");
    told(server, "SET lock:y " B_OWNER " PX 31536000000");
    said = break_it(rig, "y", C_OWNER, false);
    left = told_number(server, "PTTL", "lock:y");
    ok(said.left_ms == 10000 && left <= 10000,
       "nor is a name that another break has left");
    told(server, "SET lock:y stranger PX 3600000");
    said = break_it(rig, "y", B_OWNER, false);
    left = told_number(server, "PTTL", "lock:y");
    ok(said.left_ms > 3590000 && left > 3590000,
       "a lock of another library lasts as long as it says");
    said = break_it(rig, "y", A_OWNER, false);
    left = told_number(server, "PTTL", "lock:y");
    ok(said.left_ms > 3590000 && left > 3590000,
       "also to a break that finds that it was broken");
    told(server, "DEL lock:y");
}

/* PERSIST by hand. */
static void test_break_persisted(struct rig *rig, struct server *server)
{
    told(server, "SET lock:p " A_OWNER);
    struct said said = break_it(rig, "p", B_OWNER, false);
    long long left = told_number(server, "PTTL", "lock:p");
    ok(said.verdict == HF_VERDICT_OK && said.left_ms == 10000 && left > 9000 &&
           left <= 10000 && strcmp(told(server, "GET lock:p"), B_OWNER) == 0,
       "a lease of ours without expiry ends like the longest");
    told(server, "PERSIST lock:p");
    said = break_it(rig, "p", C_OWNER, false);
    left = told_number(server, "PTTL", "lock:p");
    ok(said.verdict == HF_VERDICT_OK && said.left_ms == 10000 && left > 9000 &&
           left <= 10000,
       "so does that of another break");
    told(server, "PERSIST lock:p");
    said = break_it(rig, "p", A_OWNER, true);
    ok(said.verdict == HF_VERDICT_OK && said.left_ms == 10000 &&
           strcmp(told(server, "EXISTS lock:p"), "0") == 0,
       "freed at once, its holder may go on for as long");
}

static struct said wait_for(struct rig *rig, const char *owner)
{
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "q", owner);
    ask.queue_ms = 6000;
    return rig_ask(rig, ask);
}

/* The clock is set back by an hour, and waiters die: their places would last
 * until it has caught up. Nothing is pushed, so the free name is theirs. */
static void test_break_places(struct rig *rig, struct server *server, bool now)
{
    told(server, "ACL SETUSER default -publish");
    uint64_t t = acquire(rig, "q", A_OWNER, 0).counter;
    wait_for(rig, "dead");
    for (int i = 0; i < 250; i++) {
        told(server, "ZADD hf:{lock:q}:queue %d dead-%d", i, i);
        told(server, "HSET hf:{lock:q}:waiters dead-%d %s", i,
             told(server, "HGET hf:{lock:q}:waiters dead"));
    }
    server_pass(server, -3600000);
    struct said said = wait_for(rig, "live");
    ok(said.verdict == HF_VERDICT_QUEUED && said.ahead == 250,
       "a waiter behind those of before");
    if (now) {
        release(rig, "q", A_OWNER, t);
        said = acquire(rig, "q", C_OWNER, 0);
        ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_NONE,
           "the free name is refused");
    }
    said = break_it(rig, "q", B_OWNER, now);
    ok(said.verdict == HF_VERDICT_OK &&
           strcmp(told(server, "ZCARD hf:{lock:q}:queue"), "1") == 0 &&
           strcmp(told(server, "HLEN hf:{lock:q}:waiters"), "1") == 0,
       "a break removes places that no live waiter can have");
    release(rig, "q", B_OWNER, 0);
    said = acquire(rig, "q", C_OWNER, 0);
    ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_NONE,
       "and leaves that of a live one");
    said = wait_for(rig, "live");
    ok(said.verdict == HF_VERDICT_OK, "which gets the name");
    release(rig, "q", "live", said.counter);
    server_pass(server, 3600000);
    told(server, "ACL SETUSER default +publish");
    told(server, "DEL hf:{lock:q}:queue hf:{lock:q}:waiters");
}

static void test_break_ended(struct rig *rig, struct server *server)
{
    told(server, "SET lock:e ended:" A_OWNER " PX 3600000");
    struct said said = break_it(rig, "e", B_OWNER, false);
    ok(said.verdict == HF_VERDICT_OK &&
           strcmp(told(server, "EXISTS lock:e"), "0") == 0,
       "a name that is only reserved is free at once");
}

static void test_break(struct rig *rig, struct server *server)
{
    uint64_t t = acquire(rig, "b", "a", 0).counter;
    struct said said = break_it(rig, "b", "breaker", false);
    ok(said.verdict == HF_VERDICT_OK && strcmp(said.owner, "a") == 0 &&
           said.left_ms > 9000 && said.counter > t,
       "broken: names the holder and its time left; the counter moves on");
    long long left = told_number(server, "PTTL", "lock:b");
    ok(strcmp(told(server, "GET lock:b"), "breaker-foreign") == 0 &&
           left > 9000 && left <= 10000,
       "it stays taken for as long as it was");
    ok(confirm(rig, "b", "a", t, true).verdict == HF_VERDICT_REFUSED,
       "the next renewal of its holder is refused");
    uint64_t c = said.counter;
    said = break_it(rig, "b", "breaker", false);
    ok(said.verdict == HF_VERDICT_OK && said.counter >= c,
       "asked again after a lost reply: the same");
    said = break_it(rig, "b", "second", true);
    ok(said.verdict == HF_VERDICT_OK && said.counter >= c &&
           strcmp(told(server, "EXISTS lock:b"), "0") == 0,
       "--now: free at once");
    said = break_it(rig, "b", "third", false);
    ok(said.verdict == HF_VERDICT_OK && said.kind == HF_HOLDER_NONE &&
           said.left_ms == 0 && strcmp(told(server, "EXISTS lock:b"), "0") == 0,
       "a free name stays free");
    told(server, "SET lock:b stranger");
    said = break_it(rig, "b", "fourth", false);
    ok(said.verdict == HF_VERDICT_REFUSED && said.left_ms < 0 &&
           strcmp(told(server, "GET lock:b"), "stranger") == 0,
       "a key without expiry is not waited for");
    said = break_it(rig, "b", "fourth", true);
    ok(said.verdict == HF_VERDICT_OK && said.left_ms < 0 &&
           strcmp(told(server, "EXISTS lock:b"), "0") == 0,
       "but --now takes it");
    told(server, "RPUSH lock:b x");
    told(server, "PEXPIRE lock:b 20000");
    said = break_it(rig, "b", "fifth", false);
    left = told_number(server, "PTTL", "lock:b");
    ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_TYPE &&
           strcmp(said.owner, "list") == 0 && left > 19000 && left <= 20000 &&
           strcmp(told(server, "LINDEX lock:b 0"), "x") == 0,
       "nor is a key of another type, which could not be given back");
    told(server, "DEL lock:b");
}

int main(void)
{
    struct server server;
    struct rig rig;
    server_start_still(&server, NULL);
    rig_open(&rig, &server);
    test_break(&rig, &server);
    test_give_back(&rig, &server);
    test_break_years(&rig, &server);
    test_break_persisted(&rig, &server);
    test_break_places(&rig, &server, true);
    test_break_places(&rig, &server, false);
    test_break_ended(&rig, &server);
    rig_close(&rig);
    server_remove(&server);
    return tap_done();
}
