/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a name, and its order: every rule, on a real server. */
#include "script_trace.h"

static const struct trace_line order[] = {
    {"a wait", "ok new"},
    {"c wait t=30", "queued owner=a left>9000 ahead=0 ticket=30"},
    {"b wait t=20", "queued owner=a ahead=0 ticket=20"},
    {"d wait t=40", "queued ahead=2 ticket=40"},
    {"c wait t=30", "queued ahead=1 ticket=30"},
    {"x inspect", "ok owner=a kind=foreign waiting=3 sharers=0"},
    {"x queue", "ok owner=a waiting=3 seats=a|b,c,d"},
    {"a release T=own", "ok own > b"},
    {"! GET $L", "b"},
    {"! PTTL $L", ">5000"},
    {"! PTTL $L", "<6001"},
    {"b raise T=own", "ok own"},
    {"! PTTL $L", ">9000"},
    {"b release T=own", "ok own > c"},
    {"c hold T=own", "ok own"},
    {"c release T=own", "ok own > d"},
    {"d release T=own", "ok own"},
    {"x inspect", "ok kind=none waiting=0"},
};

static const struct trace_line ties[] = {
    {"x try", "ok new"},
    {"b wait t=5", "queued ahead=0"},
    {"aa wait t=5", "queued ahead=0"},
    {"a wait t=5", "queued ahead=0"},
    {"B wait t=5", "queued ahead=0"},
    {"x release T=own", "ok > B"},
    {"B release T=own", "ok > a"},
    {"a wait t=5", "ok own ahead=0"},
    {"b wait t=5", "queued ahead=1"},
    {"aa wait t=6", "queued ahead=0 ticket=5"},
    {"B wait t=5", "queued ahead=0"},
    {"a wait t=5", "ok own ahead=1"},
    {"a wait t=4", "ok own ahead=0"},
    {"a release T=own", "ok > B"},
    {"B release T=own", "ok > aa"},
    {"aa release T=own", "ok > b"},
    {"b release T=own", "ok"},
};

static const struct trace_line tickets[] = {
    {"x try", "ok new"},
    {"a wait", "queued ticket>1700000000000000"},
    {"b wait t=1700000000000000", "queued ahead=0 ticket=1700000000000000"},
    {"a wait t=1", "queued ahead=1 ticket>1700000000000000"},
    {"b wait", "queued ticket=1700000000000000"},
    {"c try", "refused owner=x ticket>1700000000000000"},
    {"x release", "ok > b"},
    {"b release T=own", "ok > a"},
    {"b wait t=1700000000000000", "queued ahead=0 ticket=1700000000000000"},
    {"a release T=own", "ok > b"},
};

static const struct trace_line unfair[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"u try unfair", "refused owner=x"},
    {"u wait unfair", "queued ahead=1"},
    {"x release T=own", "ok > a"},
    {"! DEL $L", "1"},
    {"v wait unfair", "ok new"},
    {"v release T=own", "ok > u"},
    {"a wait", "queued ahead=0"},
    {"! DEL $L", "1"},
    {"a wait unfair", "ok new"},
    {"! ZCARD $Q", "0"},
    {"! HLEN $W", "0"},
};

static const struct trace_line try_does_not_overtake[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"! DEL $L", "1"},
    {"t try", "refused owner=a ticket>1700000000000000 > a"},
    {"a release T=own", "ok"},
    {"t try", "ok new"},
};

/* The name is free while clients wait: whichever waiter asks, the first one
 * gets it. A try gets it if no waiter is left. */
static const struct trace_line found_free[] = {
    {"x try ttl=40", "ok new"},
    {"a wait", "queued left<41"},
    {"b wait", "queued ahead=1"},
    {"gone $L", ""},
    {"b wait", "queued owner=a ahead=0 > a"},
    {"! DEL $L", "1"},
    {"b wait", "ok new"},
    {"! TTL $Q", "-2"},
    {"! PTTL $L", ">9000"},
    {"c wait q=30", "queued"},
    {"pass 40", ""},
    {"! DEL $L", "1"},
    {"t try", "ok new"},
};

static const struct trace_line dead_head[] = {
    {"x try", "ok new"},
    {"a wait t=1 q=30", "queued"},
    {"b wait t=2 q=30", "queued ahead=1"},
    {"c wait t=3", "queued ahead=2"},
    {"d wait t=4 q=30", "queued ahead=3"},
    {"e wait t=5", "queued ahead=4"},
    {"pass 40", ""},
    {"x queue", "ok seats=x|c,e"},
    {"c wait t=3", "queued ahead=0"},
    {"e wait t=5", "queued ahead=2"},
    {"x release T=own", "ok > c"},
    {"a wait t=1", "queued owner=c ahead=0"},
    {"c wait t=3", "ok own ahead=1"},
    {"c release T=own", "ok > a"},
    {"a release T=own", "ok > e"},
};

static const struct trace_line cancelled[] = {
    {"x try", "ok new"},           {"a wait", "queued"},
    {"b wait", "queued"},          {"a release", "refused owner=x"},
    {"x inspect", "ok waiting=1"}, {"x release T=own", "ok > b"},
    {"c wait", "queued owner=b"},  {"b release", "ok > c"},
    {"c release T=own", "ok"},
};

/* Free while clients wait: the script of a waiter that leaves grants it to the
 * next one. */
static const struct trace_line cancelled_when_free[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"b wait", "queued"},
    {"! DEL $L", "1"},
    {"a release", "refused kind=none > b"},
    {"z release", "refused owner=b"},
};

static const struct trace_line no_receiver[] = {
    {"x try", "ok new"},
    {"a wait t=1", "queued"},
    {"b wait t=2", "queued"},
    {"c wait t=3", "queued"},
    {"unlisten a", ""},
    {"unlisten b", ""},
    {"x release T=own", "ok > c"},
    {"b wait t=2", "queued ahead=0 ticket=2"},
    {"a wait t=1", "queued ahead=0 ticket=1"},
    {"c release T=own", "ok"},
    {"! EXISTS $L", "0"},
    {"! EXISTS $Q", "0"},
    {"a wait t=1", "ok new"},
    {"b wait t=2", "queued ahead=0"},
    {"! DEL $L", "1"},
    {"c try", "ok new"},
    {"b wait t=2", "queued ahead=0"},
    {"a wait t=3", "queued ahead=1"},
    {"! DEL $L", "1"},
    {"a wait t=3 T=top+1000", "ok c=top+1000"},
    {"! PTTL $L", ">9000"},
    {"b wait t=4", "queued"},
    {"a release T=own+50", "ok c=own+50"},
    {"a hold T=own", "refused kind=none"},
    {"a try", "ok c=top+1"},
    {"b wait t=4", "queued"},
    {"a release T=own", "ok own"},
    {"a hold T=own", "refused kind=none"},
};

static const struct trace_line yielded[] = {
    {"x try", "ok new"},
    {"a wait t=10", "queued"},
    {"x release T=own", "ok > a"},
    {"b wait t=5", "queued owner=a ahead=0"},
    {"a wait t=10", "ok own ahead=1"},
    {"a yield v=own+1 t=10", "ok own ahead=1"},
    {"b yield v=own t=5", "queued ahead=0"},
    {"! GET $L", "a"},
    {"a yield v=own t=10", "queued owner=b ahead=0 ticket=10 > b"},
    {"b release T=own", "ok > a"},
    {"b wait t=20", "queued"},
    {"a yield v=own t=10", "ok new ahead=0"},
    {"! GET $L", "a"},
    {"b release", "refused"},
    {"a yield v=own t=10 unfair", "ok new"},
    {"b wait t=5", "queued ahead=0"},
    {"a yield v=own t=10 unfair", "queued owner=b > b"},
};

/* Yielded to a first waiter that gets no push: the name returns to its owner at
 * a new counter, and the grant that was yielded stays void. */
static const struct trace_line yielded_in_vain[] = {
    {"x try", "ok new"},
    {"a wait t=10", "queued"},
    {"x release T=own", "ok > a"},
    {"b wait t=5", "queued"},
    {"unlisten b", ""},
    {"a yield v=own t=10", "ok new"},
    {"! ZCARD $Q", "0"},
};

static const struct trace_line broken[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"z break", "ok owner=x left>9000"},
    {"! GET $L", "z-foreign"},
    {"x hold T=own", "refused owner=z-foreign"},
    {"y break-now", "ok owner=z-foreign > a"},
    {"! GET $L", "a"},
    {"b wait", "queued owner=a"},
    {"! DEL $L", "1"},
    {"y break", "ok kind=none > b"},
};

static const struct trace_line taken_back[] = {
    {"a try ttl=40", "ok new"},
    {"b wait", "queued"},
    {"gone $L", ""},
    {"a hold T=own", "ok own"},
    {"! GET $L", "a"},
    {"b wait", "queued owner=a ahead=0"},
    {"! DEL $L", "1"},
    {"b raise T=top+1", "refused kind=none"},
    {"b hold T=top+1", "ok new"},
    {"! ZCARD $Q", "0"},
    {"! HLEN $W", "0"},
};

/* A reserved name is granted only after the reservation. */
static const struct trace_line ended[] = {
    {"a try", "ok new"},
    {"b wait", "queued"},
    {"a release T=own keep=60", "ok own"},
    {"! GET $L", "ended:a"},
    {"b wait", "queued owner=ended:a left<61 ahead=0"},
    {"a release T=own keep=60", "ok own"},
    {"gone $L", ""},
    {"b wait", "ok new"},
};

static const struct trace_line foreign[] = {
    {"! SET $L stranger PX 20000", "OK"},
    {"a wait", "queued owner=stranger kind=foreign left>19000 ahead=0"},
    {"! DEL $L", "1"},
    {"! LPUSH $L x", "1"},
    {"a wait", "queued kind=type owner=list ahead=0"},
    {"b wait", "queued kind=type ahead=1"},
    {"x queue", "ok seats=list|a,b"},
    {"b release", "refused kind=type"},
    {"! DEL $L", "1"},
    {"! SET $L shared:0-7", "OK"},
    {"a wait", "queued owner=shared:0-7 kind=foreign sharers=0 left<0"},
    {"a wait s", "queued kind=foreign"},
    {"! DEL $L", "1"},
    {"a wait", "ok new"},
};

/* The queue's keys expire with its last place. */
static const struct trace_line expiry[] = {
    {"x try", "ok new"},
    {"a wait q=60", "queued"},
    {"! PTTL $Q", "<61"},
    {"b wait q=3000", "queued"},
    {"! PTTL $Q", ">2000"},
    {"! PTTL $W", ">2000"},
    {"a wait q=60", "queued"},
    {"! PTTL $Q", ">2000"},
    {"b release", "refused"},
    {"c wait q=60", "queued"},
    {"! PEXPIRE $Q 20", "1"},
    {"! PEXPIRE $W 20", "1"},
    {"gone $Q", ""},
    {"gone $W", ""},
    {"x release T=own", "ok own"},
    {"! EXISTS $L", "0"},
    {"! PTTL $F", ">3590000"},
};

static const struct trace_line forgotten_scripts[] = {
    {"x try", "ok new"},      {"a wait", "queued"},
    {"! SCRIPT FLUSH", "OK"}, {"x release T=own", "ok own > a"},
    {"! SCRIPT FLUSH", "OK"}, {"a raise T=own", "ok own"},
};

/* The last value of the counter is never granted. */
static const struct trace_line used_up[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"! SET $F 9007199254740991 PX 100000", "OK"},
    {"x release", "ok"},
    {"! EXISTS $L", "0"},
    {"a wait", "error"},
    {"a release", "refused kind=none"},
};

static const struct trace_line align[] = {
    {"x try", "ok new"},
    {"a wait", "queued"},
    {"x release T=own+1000", "ok new > a"},
    {"a release T=own", "ok own"},
    {"b wait", "ok new"},
};

/* The clock floor replaces a lost counter, in a hand-over too. */
static const struct trace_line lost_counter[] = {
    {"! SET $L x PX 10000", "OK"},
    {"! SET $F 0000000000000005 PX 100000", "OK"},
    {"a wait", "queued"},
    {"x release", "ok > a"},
    {"! GET $F", "1*"},
};

static const struct trace_line lost_counter_shared[] = {
    {"! SET $L x PX 10000", "OK"},
    {"! SET $F 0000000000000005 PX 100000", "OK"},
    {"a wait s", "queued"},
    {"x release", "ok > a"},
    {"! GET $F", "1*"},
};

/* Data of another program under our keys: an error, and the data stay. */
static const struct trace_line vandalised[] = {
    {"x try", "ok new"},
    {"! SET $Q x", "OK"},
    {"a wait", "error"},
    {"x raise T=own", "ok own"},
    {"x release T=own", "ok own"},
    {"! EXISTS $L", "0"},
    {"! DEL $Q", "1"},
    {"x try", "ok new"},
    {"! SET $W x", "OK"},
    {"a wait", "error"},
    {"! ZCARD $Q", "1"},
    {"x release T=own", "error"},
    {"! EXISTS $L", "0"},
    {"! DEL $W", "1"},
};

static void test_names(struct script_trace *trace)
{
    static const struct trace_line lines[] = {
        {"x try", "ok new"},
        {"a wait", "queued owner=x"},
        {"x release T=own", "ok > a"},
        {"a release T=own", "ok own"},
    };
    TRACE_RUN(trace, "two words", lines);
    TRACE_RUN(trace, "nul\0inside", lines);
    TRACE_RUN(trace, "a}b", lines);
    TRACE_RUN(trace, "{}", lines);
    TRACE_RUN(trace, "x{}y{z}", lines);
    TRACE_RUN(trace, "{tag}rest", lines);
    TRACE_RUN(trace, "gr\xc3\xbc", lines);
}

/* ---- Refusals by the server ---------------------------------------------- */

/* Out of memory, without eviction: no new client enters the queue, and no
 * script stops in the middle. The holder may renew and release, and a waiter is
 * granted the name. */
static void test_full(struct script_trace *trace, struct server *server)
{
    static const struct trace_line before[] = {
        {"x try", "ok new"},
        {"a wait", "queued"},
        {"! CONFIG SET maxmemory 1", "OK"},
        {"b wait", "error"},
        {"b try", "refused"},
        {"x raise T=own", "ok own"},
        {"! ZCARD $Q", "1"},
        {"! HLEN $W", "1"},
        {"x release T=own", "ok own > a"},
        {"! GET $L", "a"},
        {"a raise T=own", "ok own"},
        {"a release T=own", "ok own"},
        {"! EXISTS $L", "0"},
        {"c try", "error"},
        {"! CONFIG SET maxmemory 0", "OK"},
        {"x try", "ok new"},
        {"a wait", "queued"},
        {"! DEL $L", "1"},
        {"! CONFIG SET maxmemory 1", "OK"},
        {"c release", "refused > a"},
        {"! CONFIG SET maxmemory 0", "OK"},
    };
    (void)server;
    TRACE_RUN(trace, "full", before);
}

/* Without the right to publish, the first waiter gets the free name when it
 * asks. */
static void tell_mute(struct server *server)
{
    static const struct trace_line lines[] = {
        {"x try", "ok new"},
        {"a wait t=1", "queued"},
        {"b wait t=2", "queued ahead=1"},
        {"x release T=own", "ok own"},
        {"! EXISTS $L", "0"},
        {"b wait t=2", "queued kind=none ahead=1"},
        {"t try", "refused kind=none"},
        {"! PTTL $Q", ">5000"},
        {"a wait t=1", "ok new"},
        {"a release T=own", "ok own"},
        {"b wait t=2", "ok new"},
        {"c wait t=1", "queued"},
        {"b yield v=own t=2", "queued kind=none ahead=1"},
        {"b hold T=own", "refused kind=none"},
        {"c release", "refused kind=none"},
        {"b wait t=2", "ok new"},
        {"c wait t=3", "queued"},
        {"b release T=own", "ok own"},
        {"! PTTL $Q", ">5000"},
        {"c wait", "ok new"},
    };
    static struct script_trace trace;
    static char user[] = "mute";
    static char password[] = "secret";
    told(server, "ACL SETUSER mute on >secret ~* +@all resetchannels");
    trace.server = server;
    trace.subscriber = redisConnectUnix(server->path);
    rig_init(&trace.rig, 1, server);
    trace.rig.url.endpoints[0].user = user;
    trace.rig.url.endpoints[0].password = password;
    rig_start(&trace.rig, NULL);
    ok(rig_votes(&trace.rig, 0), "a user without channels may lock");
    TRACE_RUN(&trace, "mute", lines);
    script_trace_close(&trace);
}

/* The marker has changed: a release frees the name, and grants it to no
 * waiter. Of another's name it cannot tell. */
static void test_changed(struct script_trace *trace)
{
    static const struct trace_line lines[] = {
        {"x try", "ok new"},
        {"a wait", "queued"},
        {"! HSET hf:node v another", "0"},
        {"x release T=own", "ok own"},
        {"! EXISTS $L", "0"},
        {"! ZCARD $Q", "1"},
        {"! PTTL $Q", ">5000"},
        {"a release", "error"},
        {"! ZCARD $Q", "0"},
    };
    static const struct trace_line waiter[] = {
        {"x try", "ok new"},
        {"! HSET hf:node v a-third", "0"},
        {"a wait", "error"},
        {"! DEL $L", "1"},
    };
    TRACE_RUN(trace, "changed", lines);
    ok(rig_votes(&trace->rig, 0), "known again");
    TRACE_RUN(trace, "changed for a waiter", waiter);
    ok(rig_votes(&trace->rig, 0), "and again");
    uint64_t fence = acquire(&trace->rig, "changed", "x", 0).counter;
    told(trace->server, "HSET hf:node v a-fourth");
    struct said said = confirm(&trace->rig, "changed", "x", fence, true);
    ok(said.verdict == HF_VERDICT_ERROR &&
           strstr(said.reason, "its marker has changed") != NULL,
       "CONFIRM alone finds the change: %s", said.reason);
    ok(rig_votes(&trace->rig, 0), "and the node is identified anew");
    told(trace->server, "DEL lock:changed");
}

/* Commands of the one EVALSHA since CONFIG RESETSTAT. */
static long long evalsha_us(struct server *server)
{
    const char *stats = strstr(told(server, "INFO commandstats"),
                               "cmdstat_evalsha:calls=1,usec=");
    return stats == NULL ? -1 : strtoll(stats + 29, NULL, 10);
}

/* With 1,000 waiters a release costs the same as with one. The cheapest of ten
 * counts: other load on the machine makes some dearer, and none cheaper. */
static long long release_us(struct script_trace *trace, struct server *server,
                            int waiters)
{
    char name[24];
    char owner[24];
    struct hf_ask ask = ask_of_verb("wait");
    snprintf(name, sizeof(name), "crowd-%d", waiters);
    acquire(&trace->rig, name, "x", 0);
    ask.name = name;
    ask.name_len = strlen(name);
    for (int i = 0; i < waiters; i++) {
        struct trace_client *client = client_of(trace, "waiters");
        ask.owner = owner;
        ask.owner_len = (size_t)snprintf(owner, sizeof(owner), "w-%06d", i);
        ask.ticket = (uint64_t)(1000000 - i);
        ask.queue_ms = 60000;
        send_ask(trace, client, ask);
    }
    ask = ask_of(HF_VERB_QUEUE, name, NULL);
    if (rig_ask(&trace->rig, ask).n_seats != (size_t)waiters + 1) {
        return -1;
    }
    long long least = INT64_MAX;
    const char *last = "x";
    for (int i = 0; i < 10; i++) {
        told(server, "CONFIG RESETSTAT");
        release(&trace->rig, name, last, 0);
        long long us = evalsha_us(server);
        if (i > 0 && us < least) { /* the first time the script is unknown:
                                      EVAL */
            least = us;
        }
        snprintf(owner, sizeof(owner), "w-%06d", waiters - 1 - i);
        last = owner;
        if (strcmp(told(server, "GET lock:%s", name), owner) != 0) {
            return -1;
        }
    }
    for (int i = 0; i < waiters; i++) { /* each release grants the lock to
                                           one */
        snprintf(owner, sizeof(owner), "w-%06d", i);
        release(&trace->rig, name, owner, 0);
    }
    return least;
}

/* On a server with a running clock, since the server measures its commands with
 * it. */
static void test_crowd(void)
{
    static struct script_trace trace;
    static struct server server;
    server_start(&server, NULL);
    script_trace_open(&trace, &server);
    long long few = release_us(&trace, &server, 20);
    long long many = release_us(&trace, &server, 1000);
    ok(few > 0 && many > 0, "twenty and a thousand wait: served in order");
    ok(many < 5 * few, "%lld us for a grant of 1,000, %lld us of 20", many,
       few);
    ok(strcmp(told(&server, "EXISTS hf:{lock:crowd-1000}:queue"), "0") == 0,
       "and no queue is left");
    script_trace_close(&trace);
    server_remove(&server);
}

/* With any number of waiters, a list has one page of them, and the total
 * number. */
static void test_long_queue(struct script_trace *trace, struct server *server)
{
    static const char script[] =
        "for i = 1, 100000 do local who = 'w' .. i "
        "redis.call('ZADD', KEYS[1], i, who) "
        "redis.call('HSET', KEYS[2], who, '9999999999999 x 1000 c 1') end";
    acquire(&trace->rig, "long", "x", 0);
    freeReplyObject(redisCommand(server->control, "EVAL %s 2 %s %s", script,
                                 "hf:{lock:long}:queue",
                                 "hf:{lock:long}:waiters"));
    struct said said =
        rig_ask(&trace->rig, ask_of(HF_VERB_QUEUE, "long", NULL));
    ok(said.n_seats == 1001 && said.waiting == 100000,
       "of %u waiters %zu places are listed", said.waiting, said.n_seats);
    told(server, "DEL hf:{lock:long}:queue hf:{lock:long}:waiters lock:long");
}

int main(void)
{
    static struct script_trace trace;
    static struct server server;
    server_start_still(&server, "--maxmemory-policy", "noeviction", NULL);
    script_trace_open(&trace, &server);
    TRACE_RUN(&trace, "order", order);
    TRACE_RUN(&trace, "ties", ties);
    TRACE_RUN(&trace, "tickets", tickets);
    TRACE_RUN(&trace, "unfair", unfair);
    TRACE_RUN(&trace, "try", try_does_not_overtake);
    TRACE_RUN(&trace, "found-free", found_free);
    TRACE_RUN(&trace, "dead-head", dead_head);
    TRACE_RUN(&trace, "cancelled", cancelled);
    TRACE_RUN(&trace, "cancelled-free", cancelled_when_free);
    TRACE_RUN(&trace, "no-receiver", no_receiver);
    TRACE_RUN(&trace, "yielded", yielded);
    TRACE_RUN(&trace, "in-vain", yielded_in_vain);
    TRACE_RUN(&trace, "broken", broken);
    TRACE_RUN(&trace, "taken-back", taken_back);
    TRACE_RUN(&trace, "ended", ended);
    TRACE_RUN(&trace, "foreign", foreign);
    TRACE_RUN(&trace, "expiry", expiry);
    TRACE_RUN(&trace, "script-flush", forgotten_scripts);
    TRACE_RUN(&trace, "used-up", used_up);
    TRACE_RUN(&trace, "align", align);
    TRACE_RUN(&trace, "lost-counter", lost_counter);
    TRACE_RUN(&trace, "lost-shared", lost_counter_shared);
    TRACE_RUN(&trace, "vandalised", vandalised);
    test_names(&trace);
    test_full(&trace, &server);
    test_crowd();
    test_long_queue(&trace, &server);
    tell_mute(&server);
    test_changed(&trace);
    script_trace_close(&trace);
    server_remove(&server);
    return tap_done();
}
