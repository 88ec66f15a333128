/* SPDX-License-Identifier: Apache-2.0 */
/* Each verb, and each branch of each script, on a real server. */
#include "redis_world.h"

/* Microseconds: a step of the clock floor. */
#define BUCKET (UINT64_C(1) << HF_FLOOR_BITS)
#define FAR HF_FENCE_AHEAD_MAX

static uint64_t server_us(struct server *server)
{
    redisReply *reply = redisCommand(server->control, "TIME");
    uint64_t us = strtoull(reply->element[0]->str, NULL, 10) * 1000000 +
                  strtoull(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return us;
}

static uint64_t server_floor(struct server *server)
{
    uint64_t us = server_us(server);
    return us - us % BUCKET;
}

static void test_acquire(struct rig *rig, struct server *server)
{
    uint64_t floor = server_floor(server);
    struct said a = acquire(rig, "a", "owner-a", 0);
    ok(a.verdict == HF_VERDICT_OK, "a free name is granted");
    ok(a.counter >= floor && a.counter <= server_us(server) &&
           (a.counter % BUCKET == 0),
       "at the clock floor");
    ok(strcmp(told(server, "GET lock:a"), "owner-a") == 0,
       "the key is the plain Redlock format: the owner alone");
    long long ttl = told_number(server, "PTTL", "lock:a");
    ok(ttl > 9000 && ttl <= 10000, "with its expiry");
    ttl = told_number(server, "PTTL", "hf:{lock:a}:fence");
    ok(ttl > 3590000 && ttl <= 3600000, "the fence is kept for fence_keep");

    struct said b = acquire(rig, "a", "owner-b", 0);
    ok(b.verdict == HF_VERDICT_REFUSED && b.counter == a.counter &&
           strcmp(b.owner, "owner-a") == 0 && b.left_ms > 9000,
       "held: refused with counter, owner and remaining time");
    told(server, "PEXPIRE lock:a 500");
    struct said again = acquire(rig, "a", "owner-a", 0);
    ok(again.verdict == HF_VERDICT_OK && again.counter == a.counter,
       "asked again by its owner: the same counter");
    ok(told_number(server, "PTTL", "lock:a") > 9000, "and a fresh expiry");
    told(server, "PEXPIRE lock:a 50000");
    acquire(rig, "a", "owner-a", 0);
    ok(told_number(server, "PTTL", "lock:a") > 49000, "never a shorter one");

    told(server, "DEL hf:{lock:a}:fence");
    again = acquire(rig, "a", "owner-a", 0);
    ok(again.verdict == HF_VERDICT_OK && again.counter >= floor,
       "if the counter was evicted, its owner gets a new one");
    a.counter = again.counter;

    told(server, "DEL lock:a");
    b = acquire(rig, "a", "owner-b", 0);
    ok(b.verdict == HF_VERDICT_OK && b.counter > a.counter,
       "the next owner's counter is greater");
    told(server, "DEL lock:a");
    struct said c = acquire(rig, "a", "owner-c", b.counter + 1000);
    ok(c.counter == b.counter + 1000, "a hint is followed");
    told(server, "DEL lock:a");
    struct said d = acquire(rig, "a", "owner-d", 5);
    ok(d.verdict == HF_VERDICT_OK && d.counter > c.counter,
       "a hint below is not");
    told(server, "DEL lock:a");
    struct said e = acquire(rig, "a", "owner-e", d.counter + FAR + BUCKET * 9);
    ok(e.verdict == HF_VERDICT_OK && e.counter < d.counter + BUCKET * 9,
       "a hint far beyond is ignored");
    told(server, "DEL lock:a");
    struct said f = acquire(rig, "a", "owner-f", d.counter + FAR / 2);
    ok(f.counter == d.counter + FAR / 2 &&
           told_number(server, "PTTL", "hf:{lock:a}:fence") >
               3600000 + (long long)(FAR / 2 / 1000) - 10000,
       "a counter ahead of the clock is kept until the clock is past it");
    told(server, "DEL lock:a");
}

static void test_bounds(struct rig *rig, struct server *server)
{
    told(server, "SET hf:{lock:top}:fence 9007199254740990 PX 100000");
    struct said a = acquire(rig, "top", "a", 0);
    ok(a.verdict == HF_VERDICT_OK && a.counter == HF_FENCE_MAX,
       "the greatest fence, to the last digit");
    ok(strcmp(told(server, "GET hf:{lock:top}:fence"), "9007199254740991 a") ==
           0,
       "and written so");
    release(rig, "top", "a", a.counter);
    struct said b = acquire(rig, "top", "b", 0);
    ok(b.verdict == HF_VERDICT_ERROR &&
           strcmp(told(server, "EXISTS lock:top"), "0") == 0,
       "beyond it nothing is granted");
    told(server, "SET hf:{lock:bad}:fence nonsense");
    struct said c = acquire(rig, "bad", "a", 0);
    ok(c.verdict == HF_VERDICT_ERROR &&
           strcmp(told(server, "EXISTS lock:bad"), "0") == 0,
       "a fence that is none: refused before anything is written");
    told(server, "DEL hf:{lock:bad}:fence");
}

static void test_confirm(struct rig *rig, struct server *server)
{
    struct said a = acquire(rig, "c", "a", 0);
    uint64_t t = a.counter;
    told(server, "PEXPIRE lock:c 500");
    struct said said = confirm(rig, "c", "a", t, true);
    long long left_ms = told_number(server, "PTTL", "lock:c");
    ok(said.verdict == HF_VERDICT_OK && said.counter == t && said.floor == 0 &&
           left_ms > 9000 && left_ms <= 10000,
       "the owner extends to its ttl, and keeps its counter");
    told(server, "PEXPIRE lock:c 50000");
    confirm(rig, "c", "a", t, true);
    ok(told_number(server, "PTTL", "lock:c") > 49000, "never shorter");
    told(server, "PEXPIRE hf:{lock:c}:fence 1000");
    confirm(rig, "c", "a", t, true);
    ok(told_number(server, "PTTL", "hf:{lock:c}:fence") > 3590000,
       "the fence's expiry is refreshed too");

    said = confirm(rig, "c", "a", t + 7, false);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t + 7,
       "a raise is followed");
    said = confirm(rig, "c", "a", t + 3, false);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t + 7,
       "a lower one is answered with the actual counter");
    said = confirm(rig, "c", "b", t + 100, true);
    ok(said.verdict == HF_VERDICT_REFUSED && said.counter == t + 7 &&
           strcmp(said.owner, "a") == 0,
       "another owner's is refused");

    told(server, "DEL lock:c");
    said = confirm(rig, "c", "a", t + 100, false);
    ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_NONE &&
           strcmp(told(server, "EXISTS lock:c"), "0") == 0,
       "a raise never takes a free node");
    said = confirm(rig, "c", "b", t + 7, true);
    ok(said.verdict == HF_VERDICT_REFUSED,
       "nor does a holder at a counter that another owned");
    said = confirm(rig, "c", "a", t + 7, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t + 7 &&
           strcmp(told(server, "GET lock:c"), "a") == 0,
       "the last owner takes its own back");
    told(server, "DEL lock:c");
    said = confirm(rig, "c", "b", t + 9, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t + 9,
       "a holder above takes a free name");
    told(server, "DEL lock:c");
    said = confirm(rig, "c", "d", t + 8, true);
    ok(said.verdict == HF_VERDICT_REFUSED && said.counter == t + 9,
       "a holder below does not");
    said = confirm(rig, "c", "d", t + 2 * FAR, true);
    ok(said.verdict == HF_VERDICT_REFUSED && said.counter == t + 9,
       "nor one out of bounds");
    said = acquire(rig, "c2", "d", 0);
    uint64_t own = said.counter;
    said = confirm(rig, "c2", "d", own + 2 * FAR, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == own,
       "which raises nothing of its owner's either");
    ok(said.floor == 0 && said.kind == HF_HOLDER_FOREIGN && said.bound > own &&
           said.bound < own + 2 * FAR,
       "the reply has the bound");
}

/* PERSIST by hand: the next request of the holder mends it. */
static void test_persisted(struct rig *rig, struct server *server)
{
    uint64_t t = acquire(rig, "ps", "a", 0).counter;
    told(server, "PERSIST lock:ps");
    acquire(rig, "ps", "b", 0);
    ok(told_number(server, "PTTL", "lock:ps") == -1,
       "a lock without expiry: another's try changes nothing");
    acquire(rig, "ps", "a", 0);
    ok(told_number(server, "PTTL", "lock:ps") > 9000,
       "asked again by its owner: it has an expiry again");
    told(server, "PERSIST lock:ps");
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "ps", "a");
    ask.queue_ms = 5000;
    rig_ask(rig, ask);
    ok(told_number(server, "PTTL", "lock:ps") > 9000,
       "also asked with a place");
    told(server, "PERSIST lock:ps");
    struct said said = confirm(rig, "ps", "a", t, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t &&
           told_number(server, "PTTL", "lock:ps") > 9000,
       "and by a renewal");
    release(rig, "ps", "a", t);

    ask = ask_of(HF_VERB_ACQUIRE, "ps", "a");
    ask.is_shared = true;
    rig_ask(rig, ask);
    told(server, "PERSIST lock:ps");
    server_pass(server, 5);
    ask.verb = HF_VERB_CONFIRM;
    rig_ask(rig, ask);
    ok(told_number(server, "PTTL", "lock:ps") > 9000, "that of a sharer too");
    told(server, "DEL lock:ps");
}

static void test_floor(struct rig *rig, struct server *server)
{
    told(server, "SET lock:f a PX 10000");
    told(server, "SET hf:{lock:f}:fence %s PX 100000", "0000000000000005 a");
    struct said said = confirm(rig, "f", "a", 7, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == 5 &&
           said.floor >= server_floor(server) - BUCKET && said.floor > 7 &&
           said.floor <= server_floor(server),
       "a raise below the floor: yours, but at the old counter");
    told(server, "DEL lock:f");
    said = confirm(rig, "f", "a", 7, true);
    ok(said.verdict == HF_VERDICT_REFUSED && said.floor > 7,
       "a holder below the floor takes nothing back, and hears the floor");
    said = confirm(rig, "f", "a", 5, true);
    ok(said.verdict == HF_VERDICT_OK && said.counter == 5,
       "but at its own counter");
    told(server, "DEL lock:f hf:{lock:f}:fence");
    said = confirm(rig, "f", "a", server_floor(server), true);
    ok(said.verdict == HF_VERDICT_OK && said.counter >= BUCKET,
       "a node that lost everything is repaired at the floor");
}

static void test_release(struct rig *rig, struct server *server)
{
    uint64_t t = acquire(rig, "r", "a", 0).counter;
    struct said said = release(rig, "r", "b", t);
    ok(said.verdict == HF_VERDICT_REFUSED && strcmp(said.owner, "a") == 0,
       "another's is not released");
    uint64_t last = acquire(rig, "late", "a", 0).counter;
    told(server, "SET lock:late foreign");
    said = release(rig, "late", "a", last);
    ok(said.verdict == HF_VERDICT_REFUSED &&
           strcmp(told(server, "GET lock:late"), "foreign") == 0,
       "nor a name that another library has taken since");
    said = release(rig, "r", "a", t);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t &&
           strcmp(told(server, "EXISTS lock:r"), "0") == 0,
       "one's own is");
    said = confirm(rig, "r", "a", t, true);
    ok(said.verdict == HF_VERDICT_REFUSED,
       "and a late renewal does not bring it back");
    ok(told_number(server, "PTTL", "hf:{lock:r}:fence") > 3590000,
       "the counter is kept, with its expiry");
    said = release(rig, "r", "a", t);
    ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_NONE &&
           said.counter == t,
       "released twice: refused, and the name is free");
    said = release(rig, "r", "x", t + 50);
    ok(said.counter == t + 50, "a free counter is aligned");
    said = release(rig, "r", "x", t + 20);
    ok(said.counter == t + 50, "never downwards");
    said = release(rig, "r", "x", t + 3 * FAR);
    ok(said.counter == t + 50, "nor out of bounds");
    ok(acquire(rig, "r", "b", 0).counter == t + 51, "the next one follows it");
    said = release(rig, "r", "b", t + 60);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t + 60,
       "a release raises the counter");
    acquire(rig, "r", "c", 0);
    said = release(rig, "r", "c", 0);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t + 61,
       "a release of an unanswered acquire knows no counter");

    t = acquire(rig, "r", "d", 0).counter;
    told(server, "DEL lock:r");
    release(rig, "r", "d", t);
    ok(confirm(rig, "r", "d", t, true).verdict == HF_VERDICT_REFUSED,
       "released after its expiry: not brought back either");
    said = release(rig, "never-seen", "a", 0);
    ok(said.verdict == HF_VERDICT_REFUSED &&
           strcmp(told(server, "EXISTS hf:{lock:never-seen}:fence"), "0") == 0,
       "a name that never was leaves nothing");
}

static void test_keep(struct rig *rig, struct server *server)
{
    uint64_t t = acquire(rig, "k", "a", 0).counter;
    struct hf_ask ask = ask_of(HF_VERB_RELEASE, "k", "a");
    ask.counter = t;
    ask.ttl_ms = 90000;
    struct said said = rig_ask(rig, ask);
    ok(said.verdict == HF_VERDICT_OK &&
           strcmp(told(server, "GET lock:k"), "ended:a") == 0 &&
           told_number(server, "PTTL", "lock:k") > 89000,
       "kept taken, marked ended, for as long as asked");
    said = rig_ask(rig, ask);
    ok(said.verdict == HF_VERDICT_OK && said.counter == t,
       "asked again after a lost reply: still well");
    ok(confirm(rig, "k", "a", t, true).verdict == HF_VERDICT_REFUSED,
       "an ended lock is not renewed");
    said = acquire(rig, "k", "b", 0);
    ok(said.verdict == HF_VERDICT_REFUSED && strcmp(said.owner, "ended:a") == 0,
       "nor acquired");
    told(server, "DEL lock:k");
}

static void test_foreign(struct rig *rig, struct server *server)
{
    told(server, "HSET lock:h field 1");
    told(server, "PEXPIRE lock:h 30000");
    struct said said = acquire(rig, "h", "a", 0);
    ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_TYPE &&
           strcmp(said.owner, "hash") == 0 && said.left_ms > 29000,
       "a key of another type is a holder of another kind");
    said = confirm(rig, "h", "a", server_floor(server), true);
    ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_TYPE,
       "to a renewal too");
    said = release(rig, "h", "a", 0);
    ok(said.verdict == HF_VERDICT_REFUSED && said.kind == HF_HOLDER_TYPE,
       "and to a release");
    said = inspect(rig, "h");
    ok(said.verdict == HF_VERDICT_OK && said.kind == HF_HOLDER_TYPE &&
           strcmp(said.owner, "hash") == 0,
       "and is shown as such");
    told(server, "DEL lock:h");
    told(server, "SET lock:p stranger");
    said = acquire(rig, "p", "a", 0);
    ok(said.verdict == HF_VERDICT_REFUSED && said.left_ms < 0 &&
           strcmp(said.owner, "stranger") == 0,
       "a plain key without expiry: refused, without end");
    told(server, "DEL lock:p");
}

static void test_inspect(struct rig *rig, struct server *server)
{
    struct said said = inspect(rig, "i");
    ok(said.verdict == HF_VERDICT_OK && said.kind == HF_HOLDER_NONE &&
           said.counter == 0,
       "a name that never was is free");
    uint64_t t = acquire(rig, "i", "a", 0).counter;
    said = inspect(rig, "i");
    ok(said.kind == HF_HOLDER_FOREIGN && strcmp(said.owner, "a") == 0 &&
           said.counter == t && said.left_ms > 9000,
       "a taken one shows owner, counter and remaining time");
    release(rig, "i", "a", t);
    said = inspect(rig, "i");
    ok(said.kind == HF_HOLDER_NONE && said.counter == t,
       "a released one its counter");
    (void)server;
}

static void test_expiry(struct rig *rig, struct server *server)
{
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "x", "a");
    ask.ttl_ms = 30;
    uint64_t t = rig_ask(rig, ask).counter;
    server_pass(server, 31);
    struct said said = acquire(rig, "x", "b", 0);
    ok(said.verdict == HF_VERDICT_OK && said.counter > t,
       "after its expiry a lock is followed, at a greater counter");
    said = confirm(rig, "x", "a", t, true);
    ok(said.verdict == HF_VERDICT_REFUSED, "and its holder hears that");
    release(rig, "x", "b", said.counter);
}

static void test_names(struct rig *rig, struct server *server)
{
    static const struct {
        const char *name;
        size_t len;
        const char *label;
    } names[] = {
        {"two words", 9, "a blank"},
        {"line\nbreak", 10, "a newline"},
        {"nul\0inside", 10, "a NUL"},
        {"gr\xc3\xbc\xc3\x9f"
         "e",
         7, "UTF-8"},
        {"a}b", 3, "a closing brace"},
        {"{}", 2, "empty braces"},
        {"x{}y{z}", 7, "an empty hash tag"},
        {"{tag}rest", 9, "a hash tag"},
        {"\xff\xfe", 2, "bytes that are no text"},
        {"*[?]\\", 5, "a glob"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "", "o");
        ask.name = names[i].name;
        ask.name_len = names[i].len;
        struct said taken = rig_ask(rig, ask);
        ask.owner = "p";
        struct said refused = rig_ask(rig, ask);
        ask.verb = HF_VERB_RELEASE;
        ask.owner = "o";
        ask.ttl_ms = 0;
        ask.counter = taken.counter;
        redisReply *reply = redisCommand(server->control, "GET lock:%b",
                                         names[i].name, names[i].len);
        bool is_there = reply->type == REDIS_REPLY_STRING;
        freeReplyObject(reply);
        struct said freed = rig_ask(rig, ask);
        ok(taken.verdict == HF_VERDICT_OK && is_there &&
               refused.verdict == HF_VERDICT_REFUSED &&
               freed.verdict == HF_VERDICT_OK,
           "a name with %s", names[i].label);
    }
    char longest[HF_NAME_MAX + 1];
    memset(longest, '}', HF_NAME_MAX);
    longest[HF_NAME_MAX] = '\0';
    ok(acquire(rig, longest, "o", 0).verdict == HF_VERDICT_OK,
       "the longest name");
    release(rig, longest, "o", 0);
}

static struct said mark(struct rig *rig, const char *name, uint64_t fence,
                        const char *owner, int64_t ms)
{
    struct hf_ask ask = ask_of(HF_VERB_MARK, name, owner);
    ask.counter = fence;
    ask.ttl_ms = ms;
    return rig_ask(rig, ask);
}

static bool keeps(const struct said *said, uint64_t fence, const char *owner)
{
    return said->verdict == HF_VERDICT_OK && said->counter == fence &&
           strcmp(said->owner, owner) == 0;
}

static void test_marks(struct rig *rig, struct server *server)
{
    struct said said = mark(rig, "m", 0, "", 0);
    ok(keeps(&said, 0, "") && said.kind == HF_HOLDER_NONE, "no mark yet");
    said = mark(rig, "m", 7, "a", 5000);
    ok(keeps(&said, 7, "a") && said.left_ms > 4000 && said.left_ms <= 5000,
       "a mark is kept, with its remaining time");
    said = mark(rig, "m", 7, "a", 60000);
    ok(keeps(&said, 7, "a") && said.left_ms <= 5000,
       "written again it ends no later");
    said = mark(rig, "m", 7, "a", 10);
    ok(keeps(&said, 7, "a") && said.left_ms > 4000, "nor earlier");
    said = mark(rig, "m", 6, "b", 60000);
    ok(keeps(&said, 7, "a") && said.left_ms <= 5000,
       "an older mark changes nothing");
    said = inspect(rig, "m");
    ok(strcmp(said.owner, "ended:a") == 0 && said.left_ms > 4000,
       "a free name with a mark is shown as ended: %s", said.owner);
    said = acquire(rig, "m", "x", 0);
    ok(said.verdict == HF_VERDICT_OK, "it can be acquired");
    said = inspect(rig, "m");
    ok(strcmp(said.owner, "x") == 0, "and is shown as held then");
    said = mark(rig, "m", 6, "", 60000);
    ok(keeps(&said, 7, "a"), "an older tombstone changes nothing");
    said = mark(rig, "m", 7, "", 60000);
    ok(keeps(&said, 7, "") && said.left_ms > 5000, "a tombstone replaces it");
    said = mark(rig, "m", 7, "a", 60000);
    ok(keeps(&said, 7, ""), "the mark does not come back");
    release(rig, "m", "x", 0);
    said = inspect(rig, "m");
    ok(said.kind == HF_HOLDER_NONE, "a tombstone is not shown");
    said = mark(rig, "m", 8, "c", 50);
    ok(keeps(&said, 8, "c"), "a newer mark replaces the tombstone");
    server_pass(server, 51);
    ok(mark(rig, "m", 0, "", 0).counter == 0, "its end comes");
    said = mark(rig, "m", 3, "d", 5000);
    ok(keeps(&said, 3, "d"), "and nothing is left of it");
}

/* All pages; their names, as far as they fit. */
static struct said scan_all(struct rig *rig, const char *pattern)
{
    struct said all = {.came = false};
    uint64_t cursor = 0;
    do {
        struct said page =
            rig_ask(rig, (struct hf_ask){.verb = HF_VERB_SCAN,
                                         .name = pattern,
                                         .name_len = strlen(pattern),
                                         .counter = cursor});
        size_t len = strlen(all.names);
        snprintf(all.names + len, sizeof(all.names) - len, "%.1000s",
                 page.names);
        all.n_names += page.n_names;
        all.verdict = page.verdict;
        cursor = page.counter;
    } while (all.verdict == HF_VERDICT_OK && cursor != 0);
    return all;
}

static void test_scan(struct rig *rig, struct server *server)
{
    told(server, "FLUSHALL");
    rig_until(rig, acquire(rig, "one", "o", 0).verdict == HF_VERDICT_OK,
              PATIENCE_MS);
    acquire(rig, "two", "o", 0);
    told(server, "SET other:three x");
    mark(rig, "four", 1, "o", 60000);
    mark(rig, "{fi}ve", 1, "o", 60000);
    told(server, "SET hf:{other:six}:once x");
    struct said said = scan_all(rig, "");
    ok(said.verdict == HF_VERDICT_OK && said.counter == 0 &&
           said.n_names == 4 && strstr(said.names, "one ") != NULL &&
           strstr(said.names, "two ") != NULL &&
           strstr(said.names, "four ") != NULL &&
           strstr(said.names, "{fi}ve ") != NULL,
       "a scan lists the names under the prefix, without it: %s", said.names);
    said = rig_ask(rig, (struct hf_ask){
                            .verb = HF_VERB_SCAN, .name = "t*", .name_len = 2});
    ok(said.n_names == 1 && strcmp(said.names, "two ") == 0,
       "and follows a pattern");
    told(server, "DEL hf:{lock:four}:once hf:{fi}:lock:{fi}ve:once");
    for (int i = 0; i < 5000; i++) {
        told(server, "SET lock:many:%d x", i);
    }
    said = scan_all(rig, "many:*");
    ok(said.n_names == 5000, "five thousand, page by page");
}

static void test_prefix(struct server *server)
{
    struct rig rig;
    rig_init(&rig, 1, server);
    char prefix[] = "a*[b]?:";
    rig.url.prefix = prefix;
    rig_start(&rig, NULL);
    rig_votes(&rig, 0);
    acquire(&rig, "here", "o", 0);
    told(server, "SET axxb: x");
    struct said said = scan_all(&rig, "");
    ok(said.n_names == 1 && strcmp(said.names, "here ") == 0,
       "a prefix is taken literally: %s", said.names);
    rig_close(&rig);
    rig_init(&rig, 1, server);
    prefix[0] = '\0';
    rig.url.prefix = prefix;
    rig_start(&rig, NULL);
    rig_votes(&rig, 0);
    said = acquire(&rig, "hf:node", "o", 0);
    ok(said.verdict == HF_VERDICT_ERROR && said.fault == HF_INVALID &&
           strcmp(told(server, "TYPE hf:node"), "hash") == 0,
       "a key of our own cannot be locked: %s", said.reason);
    said = scan_all(&rig, "h*");
    ok(strstr(said.names, "hf:") == NULL, "nor is it shown");
    rig_close(&rig);
}

/* Of a foreign value of any size, the reply has only the beginning. */
static void test_large(struct rig *rig, struct server *server)
{
    static const enum hf_verb verbs[] = {HF_VERB_ACQUIRE, HF_VERB_INSPECT,
                                         HF_VERB_CONFIRM, HF_VERB_RELEASE,
                                         HF_VERB_QUEUE};
    redisReply *reply =
        redisCommand(server->control, "EVAL %s 1 lock:large",
                     "redis.call('SET', KEYS[1], string.rep('v', 5000000))");
    freeReplyObject(reply);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        struct said said = rig_ask(rig, ask_of(verbs[i], "large", "o"));
        ok(said.owner_len == 512 && said.owner[511] == 'v',
           "a value of 5 MB, verb %d: %zu bytes of it; %s", (int)verbs[i],
           said.owner_len, said.reason);
    }
    struct hf_ask ask = ask_of(HF_VERB_ACQUIRE, "large", "o");
    ask.queue_ms = 1000;
    struct said said = rig_ask(rig, ask);
    ok(said.verdict == HF_VERDICT_QUEUED && said.owner_len == 512,
       "and to a waiter: %s", said.reason);
    told(server, "DEL lock:large");
}

int main(void)
{
    struct server server;
    struct rig rig;
    server_start_still(&server, NULL);
    rig_open(&rig, &server);
    test_acquire(&rig, &server);
    test_bounds(&rig, &server);
    test_confirm(&rig, &server);
    test_persisted(&rig, &server);
    test_floor(&rig, &server);
    test_release(&rig, &server);
    test_keep(&rig, &server);
    test_foreign(&rig, &server);
    test_inspect(&rig, &server);
    test_expiry(&rig, &server);
    test_names(&rig, &server);
    test_marks(&rig, &server);
    test_scan(&rig, &server);
    test_prefix(&server);
    test_large(&rig, &server);
    rig_close(&rig);
    server_remove(&server);
    return tap_done();
}
