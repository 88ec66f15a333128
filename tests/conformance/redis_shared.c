/* SPDX-License-Identifier: Apache-2.0 */
/* Several sharers of a name: every rule, on a real server. */
#include "script_trace.h"

static const struct trace_line together[] = {
    {"a try s", "ok new"},
    {"! GET $L", "shared:0-*"},
    {"! PTTL $L", ">9000"},
    {"! PTTL $H", ">9000"},
    {"! PTTL $V", ">9000"},
    {"b try s", "ok new"},
    {"a try s", "ok own"},
    {"x inspect", "ok kind=shared sharers=2 terms=0 waiting=0 left>9000"},
    {"x queue", "ok kind=shared seats=a:s0,b:s0"},
    {"w try", "refused kind=shared sharers=2 terms=0 left>9000"},
    {"! SET $L foreign NX", ""},
    {"a release T=own", "ok"},
    {"x inspect", "ok kind=shared sharers=1"},
    {"a release T=own", "refused kind=shared"},
    {"b release T=own", "ok"},
    {"x inspect", "ok kind=none sharers=0"},
    {"w try", "ok new"},
    {"a try s", "refused kind=foreign owner=w sharers=0"},
    {"w release T=own", "ok own"},
    {"a wait s", "ok new"},
};

/* A reader after a writer waits for it; adjacent readers are granted the name
 * together. */
static const struct trace_line queue[] = {
    {"a try s", "ok new"},
    {"w wait t=10", "queued kind=shared sharers=1 ahead=0"},
    {"b try s", "refused kind=shared ticket>1700000000000000"},
    {"b wait s t=20", "queued ahead=1"},
    {"c wait s t=30", "queued ahead=2"},
    {"v wait t=40", "queued ahead=3"},
    {"d wait s t=50", "queued ahead=4"},
    {"x queue", "ok seats=a:s0|w,b:s0,c:s0,v,d:s0"},
    {"e try s unfair", "ok new"},
    {"e release T=own", "ok"},
    {"a release T=own", "ok > w"},
    {"! GET $L", "w"},
    {"w release T=own", "ok own > b c"},
    {"x queue", "ok seats=b:s0,c:s0|v,d:s0"},
    {"! PTTL $L", "<6001"},
    {"b raise T=own", "ok own"},
    {"! PTTL $L", ">9000"},
    {"c raise T=own", "ok own"},
    {"b release T=own", "ok"},
    {"d wait s t=50", "queued ahead=1"},
    {"c release T=own", "ok > v"},
    {"d wait s t=50", "queued owner=v ahead=0"},
    {"v release T=own", "ok own > d"},
    {"d release T=own", "ok"},
};

/* A writer leaves the queue: the readers after it are granted the name. */
static const struct trace_line writer_gives_up[] = {
    {"a try s", "ok new"},
    {"w wait", "queued"},
    {"b wait s", "queued ahead=1"},
    {"c wait s=3", "queued ahead=2"},
    {"d wait s", "queued ahead=3"},
    {"w release", "refused kind=shared > b"},
    {"c release", "refused kind=shared > d"},
    {"x queue", "ok kind=shared sharers=3"},
};

/* A holder's lease ends: the first that asks, and its neighbours in the queue,
 * are granted the name. */
static const struct trace_line holder_dies[] = {
    {"x try ttl=30", "ok new"},       {"a wait s", "queued"},
    {"b wait s", "queued ahead=1"},   {"c wait s q=9", "queued ahead=2"},
    {"d wait s=3", "queued ahead=3"}, {"pass 40", ""},
    {"a wait s", "ok > b"},           {"x queue", "ok seats=a:s0,b:s0|d:s3"},
    {"a raise T=own", "ok own"},      {"b raise T=own", "ok own"},
};

static const struct trace_line writer_dies[] = {
    {"a try s", "ok new"},          {"w wait q=30", "queued"},
    {"b wait s", "queued ahead=1"}, {"pass 40", ""},
    {"c wait s", "ok new > b"},     {"x inspect", "ok sharers=3 waiting=0"},
};

/* A dead reader keeps the name until its lease ends, and no longer. */
static const struct trace_line dead_reader[] = {
    {"a try s ttl=150", "ok new"},
    {"b try s ttl=5000", "ok new"},
    {"! PTTL $L", ">4000"},
    {"w wait", "queued left>4000"},
    {"b release T=own", "ok"},
    {"! PTTL $L", "<151"},
    {"! PTTL $L", ">0"},
    {"w wait", "queued left<151 ahead=0"},
    {"gone $L", ""},
    {"gone $H", ""},
    {"gone $V", ""},
    {"a raise T=own", "refused kind=none"},
    {"w wait", "ok new"},
};

static const struct trace_line dead_among_readers[] = {
    {"a try s ttl=30", "ok new"},
    {"b try s", "ok new"},
    {"pass 40", ""},
    {"x inspect", "ok sharers=1"},
    {"x queue", "ok seats=b:s0"},
    {"a raise T=own", "refused kind=shared"},
    {"a hold s T=own", "refused kind=shared floor=0"},
    {"a release T=own", "refused kind=shared"},
    {"c try s", "ok new"},
    {"! ZCARD $H", "2"},
    {"! HLEN $V", "3"},
    {"a try s", "ok new"},
};

/* Each line takes 1 ms. When a's lease is over, the key still exists and a has
 * expired: b is the last sharer. */
static const struct trace_line last_live_reader[] = {
    {"a try s ttl=30", "ok new"},
    {"b try s", "ok new"},
    {"w wait", "queued"},
    {"c wait s", "queued ahead=1"},
    {"pass 25", ""},
    {"b release T=own", "ok > w"},
    {"! GET $L", "w"},
    {"w release T=own", "ok own > c"},
    {"! PTTL $L", ">5000"},
    {"c raise T=own", "ok own"},
};

/* The same if b yields its grant. */
static const struct trace_line last_live_yields[] = {
    {"x try", "ok new"},
    {"b wait s t=20", "queued"},
    {"x release T=own", "ok > b"},
    {"a try s ttl=30", "ok new"},
    {"w wait t=10", "queued"},
    {"pass 27", ""},
    {"b yield s v=own t=20", "queued owner=w ahead=0 > w"},
};

/* A place expires as a lease does: b's when listed, c's at the release. */
static const struct trace_line place_at_its_end[] = {
    {"x try", "ok new"},
    {"b wait q=30", "queued"},
    {"c wait q=30", "queued ahead=1"},
    {"d wait", "queued ahead=2"},
    {"pass 26", ""},
    {"x queue", "ok seats=x|c,d"},
    {"x release T=own", "ok own > d"},
};

/* After the end of its lease a reader is not listed, and cannot renew. */
static const struct trace_line reader_at_its_end[] = {
    {"a try s ttl=30", "ok new"},
    {"b try s", "ok new"},
    {"pass 26", ""},
    {"x inspect", "ok sharers=2"},
    {"c try s ttl=30", "ok new"},
    {"! ZCARD $H", "2"},
    {"pass 26", ""},
    {"x queue", "ok seats=b:s0,c:s0"},
    {"c raise T=own", "refused kind=shared sharers=1"},
};

static const struct trace_line judged_alone[] = {
    {"a try s", "ok new"},
    {"b try s", "ok new"},
    {"a raise T=own", "ok own"},
    {"a raise T=top", "ok"},
    {"b raise T=own", "ok own"},
    {"a hold s T=top+7", "ok new"},
    {"b raise T=own", "ok own"},
    {"! PEXPIRE $F 1000", "1"},
    {"b raise T=own", "ok own"},
    {"! PTTL $F", ">3590000"},
    {"a try s", "ok own"},
    {"c try s", "ok new"},
    {"a raise T=own ttl=20000", "ok own"},
    {"a raise T=own ttl=1000", "ok own"},
    {"! PTTL $L", ">19000"},
    {"w wait", "queued"},
    {"a release T=top+100", "ok c=top"},
    {"b release T=own", "ok"},
    {"c release T=own", "ok > w"},
};

/* A sharer is not raised to a counter below the clock floor. */
static const struct trace_line below_floor[] = {
    {"a try s", "ok new"},
    {"! HSET $V a 5", "0"},
    {"! SET $F 0000000000000006 PX 100000", "OK"},
    {"a raise T=6", "ok floor>9 c=5"},
    {"a raise T=5", "ok floor=0 c=5"},
    {"a raise T=9", "ok floor>9 c=5"},
    {"! HGET $V a", "5"},
    {"! DEL $L", "1"},
    {"a hold s T=9", "refused kind=none floor>9"},
    {"! DEL $H $V", "2"},
};

/* A sharer joins again at a node that lost the group, or that never had it. */
static const struct trace_line joins_again[] = {
    {"a try s", "ok new"},
    {"b try s", "ok new"},
    {"c hold s T=top+5", "ok new"},
    {"x inspect", "ok sharers=3"},
    {"c hold s T=own", "ok own"},
    {"d hold s T=top", "refused kind=shared"},
    {"d raise s T=top+5", "refused kind=shared"},
    {"d hold s=4 T=top+5", "refused kind=shared terms=0"},
    {"d hold T=top+5", "refused kind=shared"},
    {"! DEL $L", "1"},
    {"a raise T=own", "refused kind=none"},
    {"a hold s T=own", "refused kind=none"},
    {"a hold s T=top+1", "ok new"},
    {"x queue", "ok kind=shared seats=a:s0"},
};

/* The plain key was deleted or replaced: all sharers lose the lock. */
static const struct trace_line plain_key_gone[] = {
    {"a try s", "ok new"},
    {"b try s", "ok new"},
    {"! DEL $L", "1"},
    {"a raise T=own", "refused kind=none"},
    {"a hold s T=own", "refused kind=none"},
    {"x inspect", "ok kind=none sharers=0"},
    {"x queue", "ok seats="},
    {"w try", "ok new"},
    {"b raise T=own", "refused owner=w kind=foreign"},
    {"b release T=own", "refused owner=w"},
    {"w release T=own", "ok own"},
    {"c try s", "ok new"},
    {"x queue", "ok seats=c:s0"},
    {"a raise T=own", "refused kind=shared sharers=1"},
    {"b release T=own", "refused kind=shared"},
    {"x inspect", "ok sharers=1"},
};

static const struct trace_line another_group[] = {
    {"a try s", "ok new"},
    {"! SET $L shared:0-1 KEEPTTL", "OK"},
    {"a raise T=own", "refused kind=foreign owner=shared:0-1 sharers=0"},
    {"b try s", "refused kind=foreign"},
    {"! DEL $L", "1"},
    {"b try s", "ok new"},
};

static const struct trace_line terms[] = {
    {"a try s=5", "ok new"},
    {"b try s=5", "ok new"},
    {"c try s=4", "refused kind=shared terms=5 sharers=2"},
    {"c try s", "refused terms=5"},
    {"c try", "refused terms=5"},
    {"c wait s=4", "queued terms=5 ahead=0"},
    {"d wait s=5", "queued ahead=1"},
    {"x queue", "ok kind=shared terms=5 seats=a:s5,b:s5|c:s4,d:s5"},
    {"b release T=own", "ok"},
    {"a release T=own", "ok > c"},
    {"x inspect", "ok kind=shared terms=4 sharers=1 waiting=1"},
    {"c release T=own", "ok > d"},
    {"d release T=own", "ok"},
    {"e try s=65535", "ok new"},
    {"x inspect", "ok terms=65535"},
};

static const struct trace_line yielded[] = {
    {"x try", "ok new"},
    {"b wait s t=20", "queued"},
    {"c wait s t=30", "queued"},
    {"x release T=own", "ok > b c"},
    {"w wait t=10", "queued kind=shared sharers=2 ahead=0"},
    {"b wait s t=20", "ok own ahead=1"},
    {"b yield s v=own+7 t=20", "ok own ahead=1"},
    {"b yield s v=own t=20", "queued kind=shared sharers=1 ahead=1"},
    {"c yield s v=own t=30", "queued owner=w ahead=1 > w"},
    {"w release T=own", "ok own > b c"},
    {"b yield s v=own t=20", "ok new"},
    {"x inspect", "ok sharers=2"},
};

static const struct trace_line broken[] = {
    {"a try s", "ok new"},
    {"b try s", "ok new"},
    {"w wait", "queued"},
    {"z break", "ok new kind=shared sharers=2 left>9000"},
    {"! GET $L", "z"},
    {"! PTTL $L", ">9000"},
    {"! EXISTS $H", "0"},
    {"a raise T=own", "refused owner=z"},
    {"z release T=own", "ok > w"},
    {"w release T=own", "ok"},
    {"a try s", "ok new"},
    {"w wait", "queued"},
    {"z break-now", "ok new kind=shared > w"},
    {"! GET $L", "w"},
    {"a raise T=own", "refused owner=w"},
    {"w release T=own", "ok own"},
    {"a try s", "ok new"},
    {"b try s", "ok new"},
    {"c wait s=3", "queued terms=0"},
    {"z break-now", "ok new kind=shared sharers=2 > c"},
    {"x queue", "ok kind=shared sharers=1 terms=3 seats=c:s3"},
    {"c release T=own+50", "ok c=own+50"},
    {"w try", "ok c=top+1"},
};

/* A sharer's release ignores `keep`. */
static const struct trace_line kept[] = {
    {"a try s", "ok new"},
    {"b try s", "ok new"},
    {"a release T=own keep=5000", "ok"},
    {"b release T=own keep=5000", "ok"},
    {"! EXISTS $L", "0"},
};

static const struct trace_line claims[] = {
    {"x try", "ok new"},
    {"a wait s q=60", "queued"},
    {"x release T=own", "ok > a"},
    {"! PTTL $L", "<61"},
    {"b try s ttl=3000", "ok new"},
    {"! PTTL $L", ">2000"},
    {"pass 70", ""},
    {"x inspect", "ok sharers=1"},
};

static const struct trace_line no_receiver[] = {
    {"x try", "ok new"},    {"a wait s", "queued"},
    {"b wait s", "queued"}, {"c wait s", "queued"},
    {"unlisten b", ""},     {"x release T=own", "ok > a c"},
    {"b wait s", "ok new"},
};

static const struct trace_line full[] = {
    {"a try s", "ok new"},
    {"b try s", "ok new"},
    {"w wait", "queued"},
    {"! CONFIG SET maxmemory 1", "OK"},
    {"c try s", "refused"},
    {"a raise T=own ttl=20000", "ok own"},
    {"! PTTL $L", ">19000"},
    {"a try s ttl=30000", "ok own"},
    {"! PTTL $L", ">29000"},
    {"a release T=own", "ok"},
    {"b release T=own", "ok > w"},
    {"w release T=own", "ok"},
    {"c try s", "error"},
    {"! EXISTS $L", "0"},
    {"! CONFIG SET maxmemory 0", "OK"},
};

static const struct trace_line names[] = {
    {"a try s=2", "ok new"},
    {"b wait s=2", "ok new"},
    {"w wait", "queued kind=shared sharers=2"},
    {"a release T=own", "ok"},
    {"b release T=own", "ok > w"},
};

int main(void)
{
    static struct script_trace trace;
    static struct server server;
    server_start_still(&server, "--maxmemory-policy", "noeviction", NULL);
    script_trace_open(&trace, &server);
    TRACE_RUN(&trace, "together", together);
    TRACE_RUN(&trace, "queue", queue);
    TRACE_RUN(&trace, "writer-gives-up", writer_gives_up);
    TRACE_RUN(&trace, "holder-dies", holder_dies);
    TRACE_RUN(&trace, "writer-dies", writer_dies);
    TRACE_RUN(&trace, "dead-reader", dead_reader);
    TRACE_RUN(&trace, "dead-among", dead_among_readers);
    TRACE_RUN(&trace, "last-live", last_live_reader);
    TRACE_RUN(&trace, "last-yields", last_live_yields);
    TRACE_RUN(&trace, "place-ends", place_at_its_end);
    TRACE_RUN(&trace, "at-its-end", reader_at_its_end);
    TRACE_RUN(&trace, "judged-alone", judged_alone);
    TRACE_RUN(&trace, "below-floor", below_floor);
    TRACE_RUN(&trace, "joins-again", joins_again);
    TRACE_RUN(&trace, "plain-key-gone", plain_key_gone);
    TRACE_RUN(&trace, "another-group", another_group);
    TRACE_RUN(&trace, "terms", terms);
    TRACE_RUN(&trace, "yielded", yielded);
    TRACE_RUN(&trace, "broken", broken);
    TRACE_RUN(&trace, "kept", kept);
    TRACE_RUN(&trace, "claims", claims);
    TRACE_RUN(&trace, "no-receiver", no_receiver);
    TRACE_RUN(&trace, "full", full);
    TRACE_RUN(&trace, "a b", names);
    TRACE_RUN(&trace, "nul\0{x", names);
    TRACE_RUN(&trace, "}{}", names);
    script_trace_close(&trace);
    server_remove(&server);
    return tap_done();
}
