/* SPDX-License-Identifier: Apache-2.0 */
/* Random requests to a server: the shipped scripts on two names, with commands
 * of foreign clients on their keys; and single commands, valid and invalid. */
#ifndef HF_TESTS_SIM_CALLS_H
#define HF_TESTS_SIM_CALLS_H

#include "redis/redis.h"
#include "story/random.h"

#include "core/limits.h"
#include "store/redis/scripts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* A node's time and the first instant of a test. */
#define BUCKET (INT64_C(1) << HF_FLOOR_BITS)
#define EPOCH_US INT64_C(1795000000000000)

struct request {
    size_t argc;
    struct sim_arg argv[64];
    const struct hf_script *script; /* NULL: no script of ours */
    bool is_scan;
    size_t used;
    char text[32768];
};

enum { NAMES = 2, OWNERS = 4, SCRIPTS = 8 };

struct calls {
    struct sim_random random;
    int64_t wall_us;
    int64_t counters[NAMES]; /* counter of its last reply */
    int64_t given[NAMES][OWNERS];
    int name; /* of the last request */
    int owner;
    bool needs_text[SCRIPTS]; /* the reply was NOSCRIPT */
};

static const struct hf_script *const our_scripts[SCRIPTS] = {
    &hf_script_acquire, &hf_script_confirm, &hf_script_release,
    &hf_script_break,   &hf_script_inspect, &hf_script_list,
    &hf_script_marker,  &hf_script_mark};

/* ---- Words --------------------------------------------------------------- */

static inline int64_t below(struct calls *calls, int64_t n)
{
    return sim_draw_below(&calls->random, n);
}

static inline bool chance(struct calls *calls, int percent)
{
    return below(calls, 100) < percent;
}

static inline void add_bytes(struct request *request, const char *data,
                             size_t len)
{
    char *to = request->text + request->used;
    if (len > 0) {
        memcpy(to, data, len);
    }
    to[len] = '\0';
    request->used += len + 1;
    request->argv[request->argc++] = (struct sim_arg){to, len};
}

__attribute__((format(printf, 2, 3))) static inline void
add(struct request *request, const char *format, ...)
{
    char text[512]; /* the longest snippet has 300 */
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add_bytes(request, text, (size_t)len);
}

#define ADD_ANY(calls, request, words)                                         \
    add((request), "%s", (words)[below((calls), COUNT(words))])

static inline void start(struct request *request)
{
    request->argc = 0;
    request->used = 0;
    request->script = NULL;
    request->is_scan = false;
}

/* ---- Our scripts --------------------------------------------------------- */

static inline void add_side(struct request *request, int name, const char *side)
{
    add(request, "hf:{lock:%c}:%s", 'a' + name, side);
}

static inline void begin_script(struct calls *calls, struct request *request,
                                int which)
{
    const struct hf_script *script = our_scripts[which];
    bool with_text = calls->needs_text[which] || chance(calls, 1);
    start(request);
    request->script = script;
    calls->needs_text[which] = false;
    add(request, with_text ? "EVAL" : "EVALSHA");
    add_bytes(request, with_text ? script->text : script->sha1,
              with_text ? script->len : strlen(script->sha1));
}

static inline void begin(struct calls *calls, struct request *request,
                         int which)
{
    calls->name = (int)below(calls, NAMES);
    calls->owner = (int)below(calls, OWNERS);
    begin_script(calls, request, which);
    bool has_mark = which == 4 || which == 5 || which == 7;
    add(request, has_mark ? "8" : "7");
    add(request, "lock:%c", 'a' + calls->name);
    add_side(request, calls->name, "fence");
    add_side(request, calls->name, "queue");
    add_side(request, calls->name, "waiters");
    add_side(request, calls->name, "holders");
    add_side(request, calls->name, "votes");
    add(request, "hf:node");
    if (has_mark) {
        add_side(request, calls->name, "once");
    }
}

static inline void add_ttl(struct calls *calls, struct request *request)
{
    static const int64_t ttls[] = {1, 50, 300, 1000, 5000, 30000};
    add(request, "%" PRId64, ttls[below(calls, COUNT(ttls))]);
}

static inline void add_keep(struct calls *calls, struct request *request)
{
    static const int64_t keeps[] = {100, 5000, 3600000, 3600000};
    add(request, "%" PRId64, keeps[below(calls, COUNT(keeps))]);
}

static inline void add_marker(struct calls *calls, struct request *request)
{
    add(request, "%s", chance(calls, 95) ? "m1" : "m2");
}

/* A hint or a T: near the present counters, near the clock, or out of
 * bounds. */
static inline void add_counter(struct calls *calls, struct request *request)
{
    int64_t last = calls->counters[calls->name];
    int64_t floor = calls->wall_us - calls->wall_us % BUCKET;
    int64_t mine = calls->given[calls->name][calls->owner];
    const int64_t choices[] = {last,
                               last,
                               last + 1,
                               last - 1,
                               mine,
                               mine,
                               last + below(calls, 5000),
                               floor,
                               floor + 1,
                               floor - BUCKET,
                               calls->wall_us,
                               calls->wall_us + BUCKET * 3,
                               calls->wall_us + (int64_t)HF_FENCE_AHEAD_MAX,
                               calls->wall_us + (int64_t)HF_FENCE_AHEAD_MAX + 1,
                               (int64_t)HF_FENCE_MAX,
                               (int64_t)HF_FENCE_MAX + 1};
    if (chance(calls, 1)) {
        add(request, "nonsense");
        return;
    }
    int64_t n = chance(calls, 90) ? 9 : COUNT(choices);
    int64_t counter = choices[below(calls, n)];
    add(request, "%" PRId64, counter < 0 ? 0 : counter);
}

static inline void add_mode(struct calls *calls, struct request *request)
{
    static const char *const modes[] = {"x", "x", "x", "s0", "s0", "s2", "s3"};
    ADD_ANY(calls, request, modes);
}

/* No ticket, one of its own, or one of few, so that tickets are equal. */
static inline void add_ticket(struct calls *calls, struct request *request)
{
    int64_t second = calls->wall_us - calls->wall_us % 1000000;
    int64_t ticket = chance(calls, 50) ? 0
                     : chance(calls, 50)
                         ? calls->wall_us - below(calls, 3000000)
                         : second - 1000000 * below(calls, 2);
    add(request, "%" PRId64, ticket);
}

static inline void make_acquire(struct calls *calls, struct request *request)
{
    begin(calls, request, 0);
    add(request, "owner-%d", calls->owner);
    add_ttl(calls, request);
    if (chance(calls, 75)) {
        add(request, "0");
    } else {
        add_counter(calls, request);
    }
    add_marker(calls, request);
    add_keep(calls, request);
    if (chance(calls, 25)) {
        return;
    }
    int64_t given = calls->given[calls->name][calls->owner];
    add_mode(calls, request);
    add(request, "%d", chance(calls, 10));
    add(request, "%d", chance(calls, 30) ? 0 : chance(calls, 50) ? 400 : 5000);
    add_ticket(calls, request);
    add(request, "channel-%d", calls->owner % 3);
    add(request, "%" PRId64, 1 + below(calls, 999));
    add(request, "%" PRId64, chance(calls, 80) ? 0 : given);
}

static inline void make_confirm(struct calls *calls, struct request *request)
{
    begin(calls, request, 1);
    add(request, "owner-%d", calls->owner);
    add_ttl(calls, request);
    add_counter(calls, request);
    add_marker(calls, request);
    add_keep(calls, request);
    add(request, "%d", chance(calls, 50));
    if (chance(calls, 80)) {
        add_mode(calls, request);
    }
}

static inline void make_release(struct calls *calls, struct request *request)
{
    begin(calls, request, 2);
    add(request, "owner-%d", calls->owner);
    add_counter(calls, request);
    add(request, "%d", chance(calls, 85) ? 0 : 500);
    add_keep(calls, request);
    add(request, "%s",
        chance(calls, 90)   ? "m1"
        : chance(calls, 50) ? ""
                            : "m2");
}

static inline void make_break(struct calls *calls, struct request *request)
{
    begin(calls, request, 3);
    add(request, "breaker-%d", calls->owner % 2);
    add(request, "%d", chance(calls, 50));
    add_marker(calls, request);
    add_keep(calls, request);
}

static inline void make_queue(struct calls *calls, struct request *request)
{
    begin(calls, request, 5);
    add(request, "%d", chance(calls, 50) ? 1000 : 1);
}

static inline void make_mark(struct calls *calls, struct request *request)
{
    begin(calls, request, 7);
    add_marker(calls, request);
    add(request, "%" PRId64, below(calls, 4));
    add_ttl(calls, request);
    add(request, "%s", chance(calls, 30) ? "" : "owner-1");
}

static inline void make_marker(struct calls *calls, struct request *request)
{
    begin_script(calls, request, 6);
    add(request, "1");
    add(request, "hf:node");
    add(request, "%s", chance(calls, 50) ? "*" : chance(calls, 50) ? "m1" : "");
    add(request, "%s", chance(calls, 85) ? "m1" : "m2");
    add(request, "run_id");
    add(request, "r%" PRId64, below(calls, 5));
    if (chance(calls, 50)) {
        add(request, "nodes");
        add(request, "3");
    }
}

/* Commands of other programs on our keys. */
static inline void make_foreign(struct calls *calls, struct request *request)
{
    static const char *const templates[] = {
        "SET lock:# foreign NX PX 700",
        "SET lock:# foreign NX",
        "SET lock:# foreign PX 300",
        "DEL lock:#",
        "DEL lock:#",
        "GET lock:#",
        "PTTL lock:#",
        "SET lock:# shared:2-1 PX 500",
        "SET lock:# owner-1",
        "HSET lock:# f v",
        "ZADD lock:# 1 m",
        "PEXPIRE lock:# 40",
        "DEL hf:{lock:#}:fence",
        "SET hf:{lock:#}:fence nonsense PX 900",
        "HSET hf:{lock:#}:fence f v",
        "SET hf:{lock:#}:fence 9007199254740989 PX 900",
        "DEL hf:{lock:#}:queue",
        "SET hf:{lock:#}:queue text PX 600",
        "ZADD hf:{lock:#}:queue 5 stranger",
        "DEL hf:{lock:#}:waiters",
        "HSET hf:{lock:#}:waiters owner-2 nonsense",
        "SET hf:{lock:#}:waiters text PX 600",
        "DEL hf:{lock:#}:holders",
        "ZADD hf:{lock:#}:holders 1 stranger",
        "DEL hf:{lock:#}:votes",
        "HSET hf:{lock:#}:votes owner-1 7",
        "DEL hf:{lock:#}:once",
        "SET hf:{lock:#}:once nonsense PX 600",
        "DEL hf:node",
        "HSET hf:node v m1",
        "FLUSHALL",
        "SCRIPT FLUSH",
        "SCAN 0 MATCH lock:* COUNT 1000",
    };
    char text[128];
    start(request);
    snprintf(text, sizeof(text), "%s",
             templates[below(calls, COUNT(templates))]);
    char name = (char)('a' + below(calls, NAMES));
    for (char *word = strtok(text, " "); word != NULL;
         word = strtok(NULL, " ")) {
        char *hash = strchr(word, '#');
        if (hash != NULL) {
            *hash = name;
        }
        add(request, "%s", word);
    }
    request->is_scan = strcmp(request->argv[0].data, "SCAN") == 0;
}

static inline void make_call(struct calls *calls, struct request *request)
{
    int64_t kind = below(calls, 100);
    if (kind < 36) {
        make_acquire(calls, request);
    } else if (kind < 54) {
        make_confirm(calls, request);
    } else if (kind < 76) {
        make_release(calls, request);
    } else if (kind < 80) {
        make_break(calls, request);
    } else if (kind < 83) {
        begin(calls, request, 4);
    } else if (kind < 87) {
        make_queue(calls, request);
    } else if (kind < 90) {
        make_marker(calls, request);
    } else if (kind < 93) {
        make_mark(calls, request);
    } else {
        make_foreign(calls, request);
    }
}

/* The counter is the reply, or its second item. */
static inline void learn(struct calls *calls, const struct request *request,
                         const char *reply)
{
    for (int i = 0; i < SCRIPTS; i++) {
        calls->needs_text[i] |= request->script == our_scripts[i] &&
                                strncmp(reply, "-NOSCRIPT", 9) == 0;
    }
    if (request->script == NULL || request->script == &hf_script_marker ||
        request->script == &hf_script_mark) {
        return;
    }
    const char *at = reply;
    bool is_mine = reply[0] == ':';
    if (reply[0] == '*') {
        at = strstr(reply, "\r\n:");
        is_mine = at != NULL && at[3] == '1';
        at = at == NULL ? NULL : strstr(at + 3, "\r\n:");
        at = at == NULL ? NULL : at + 2;
    }
    int64_t counter =
        at != NULL && at[0] == ':' ? strtoll(at + 1, NULL, 10) : 0;
    if (counter > 0) {
        calls->counters[calls->name] = counter;
        calls->given[calls->name][calls->owner] = is_mine ? counter : 0;
    }
}

#endif
