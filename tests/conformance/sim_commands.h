/* SPDX-License-Identifier: Apache-2.0 */
/* Random single commands, right and wrong, also from within scripts. */
#ifndef HF_TESTS_SIM_COMMANDS_H
#define HF_TESTS_SIM_COMMANDS_H

#include "sim_calls.h"

/* Kinds of arguments: c cursor, k key, v value, f field or member, n integer,
 * t time in ms, a absolute, s score, b bound, S Z R E X options of SET,
 * ZADD, ZRANGE, PEXPIRE, SCAN; ? at times not. */
static const struct {
    const char *name;
    const char *kinds;
} command_kinds[] = {
    {"DEL", "kk?"},       {"EXISTS", "kk?"},     {"GET", "k"},
    {"SET", "kvS"},       {"SET", "kvS"},        {"SET", "kv"},
    {"TYPE", "k"},        {"PTTL", "k"},         {"PEXPIRE", "ktE"},
    {"PEXPIREAT", "kaE"}, {"HGET", "kf"},        {"HSET", "kfvf?v?"},
    {"HSET", "kfv"},      {"HDEL", "kff?"},      {"HGETALL", "k"},
    {"ZADD", "kZsfs?f?"}, {"ZADD", "ksfsf"},     {"ZADD", "kZsf"},
    {"ZREM", "kff?"},     {"ZCARD", "k"},        {"ZSCORE", "kf"},
    {"ZRANK", "kf"},      {"ZCOUNT", "kbb"},     {"ZPOPMIN", "kn?"},
    {"ZRANGE", "knnR"},   {"ZREVRANGE", "knnR"}, {"ZRANGEBYSCORE", "kbbR"},
    {"TIME", ""},         {"PING", "v?"},        {"ECHO", "v"},
    {"PUBLISH", "fv"},    {"SCAN", "cX"},        {"DBSIZE", ""},
    {"SELECT", "n"},      {"NOSUCH", "vvv?"},    {"SCRIPT", "v"},
    {"AUTH", "vv?"},      {"FLUSHALL", ""},      {"EVALSHA", "vn"},
};

static inline void add_value(struct calls *calls, struct request *request)
{
    static const struct sim_arg values[] = {
        {"", 0},       {"a", 1},         {"12", 2},
        {"007", 3},    {"two words", 9}, {"\r\n", 2},
        {"\0\xff", 2}, {"\"q\\\"", 4},   {"sync", 4},
        {"get", 3},    {"-5", 2},        {"default", 7},
        {"exists", 6}, {"1.5", 3},       {"0123456789012345678901234567", 28}};
    const struct sim_arg *value = &values[below(calls, COUNT(values))];
    add_bytes(request, value->data, value->len);
}

static inline void add_key(struct calls *calls, struct request *request)
{
    static const struct sim_arg keys[] = {{"k1", 2}, {"k2", 2},   {"k3", 2},
                                          {"k4", 2}, {"k\0z", 3}, {"", 0}};
    const struct sim_arg *key =
        &keys[chance(calls, 85) ? below(calls, 3) : below(calls, COUNT(keys))];
    add_bytes(request, key->data, key->len);
}

static inline void add_integer(struct calls *calls, struct request *request)
{
    static const char *const right[] = {"0", "0", "1", "2", "3", "-1", "-2"};
    static const char *const odd[] = {"9223372036854775807",
                                      "-9223372036854775808",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "-0",
                                      "007",
                                      "+1",
                                      "1.5",
                                      "",
                                      "abc",
                                      " 1",
                                      "1 "};
    if (chance(calls, 85)) {
        ADD_ANY(calls, request, right);
    } else {
        ADD_ANY(calls, request, odd);
    }
}

/* An absolute time is never so far away that Lua cannot represent the remaining
 * time exactly. */
static inline void add_time(struct calls *calls, struct request *request,
                            bool is_absolute)
{
    static const char *const odd[] = {"x", "-1", "0", "9223372036854775808"};
    int64_t now_ms = calls->wall_us / 1000;
    switch (below(calls, 4)) {
    case 0:
        add(request, "%" PRId64, below(calls, 500));
        break;
    case 1:
        add(request, "%" PRId64, now_ms + below(calls, 2000) - 100);
        break;
    case 2:
        add(request, "%" PRId64, 1 + below(calls, 100000));
        break;
    default:
        if (is_absolute) {
            ADD_ANY(calls, request, odd);
        } else {
            add_integer(calls, request);
        }
        break;
    }
}

static inline void add_score(struct calls *calls, struct request *request)
{
    static const char *const scores[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "-1",
                                         "1",
                                         "2.5",
                                         "1e3",
                                         "inf",
                                         "-inf",
                                         "+inf",
                                         "nan",
                                         "0x10",
                                         "-0",
                                         ".5",
                                         "5.",
                                         "1e-320",
                                         "1e400",
                                         "3 ",
                                         " 3",
                                         "",
                                         "1e5x",
                                         "0.1",
                                         "100000000000000000",
                                         "1e17",
                                         "1795000000123456",
                                         "9007199254740993",
                                         "123456789012345680000"};
    add(request, "%s",
        scores[chance(calls, 70) ? below(calls, 8)
                                 : below(calls, COUNT(scores))]);
}

static inline void add_bound(struct calls *calls, struct request *request)
{
    static const char *const bounds[] = {
        "-inf", "+inf", "0", "1", "2", "(1", "(2", "3",   "(3",  "(-inf",
        "(inf", "1e2",  "(", "",  "x", "(x", "1x", "nan", "( 1", " 1"};
    add(request, "%s",
        bounds[chance(calls, 80) ? below(calls, 9)
                                 : below(calls, COUNT(bounds))]);
}

static inline void add_options(struct calls *calls, struct request *request,
                               char kind)
{
    static const char *const of_set[] = {"NX", "xx", "GET",  "KEEPTTL", "EX",
                                         "px", "PX", "EXAT", "PXAT",    "bad"};
    static const char *const of_zadd[] = {"NX", "XX", "GT", "lt", "CH", "INCR"};
    static const char *const of_range[] = {"WITHSCORES", "REV", "BYSCORE",
                                           "LIMIT", "bad"};
    static const char *const of_expire[] = {"NX", "XX", "GT", "LT", "bad"};
    static const char *const of_scan[] = {"COUNT", "TYPE", "MATCH", "bad"};
    static const char *const types[] = {"string", "zset", "hash", "list"};
    static const char *const patterns[] = {
        "*",    "k?",     "k[12]", "[^k]*", "*1",  "k\\1", "",   "k[1-3]",
        "*k*2", "k[3-1]", "[",     "k[",    "k[]", "\\",   "**", "?[1\\2]"};
    int64_t n = chance(calls, 50) ? 0 : 1 + below(calls, 3);
    for (int64_t i = 0; i < n; i++) {
        size_t before = request->argc;
        switch (kind) {
        case 'S':
            ADD_ANY(calls, request, of_set);
            if (strchr("EePp", request->argv[before].data[0]) != NULL) {
                add_time(calls, request,
                         strcmp(request->argv[before].data, "PXAT") == 0);
            }
            break;
        case 'Z':
            ADD_ANY(calls, request, of_zadd);
            break;
        case 'R':
            ADD_ANY(calls, request, of_range);
            if (request->argv[before].data[0] == 'L' && chance(calls, 90)) {
                add_integer(calls, request);
                add_integer(calls, request);
            }
            break;
        case 'E':
            ADD_ANY(calls, request, of_expire);
            break;
        default:
            ADD_ANY(calls, request, of_scan);
            switch (request->argv[before].data[0]) {
            case 'C':
                add(request, "%d", chance(calls, 80) ? 1000 : 0);
                break;
            case 'T':
                ADD_ANY(calls, request, types);
                break;
            default:
                ADD_ANY(calls, request, patterns);
                break;
            }
            break;
        }
    }
}

static inline void add_kind(struct calls *calls, struct request *request,
                            char kind)
{
    static const char *const cursors[] = {"0", "0", "0", "0", "", " 0", "x"};
    switch (kind) {
    case 'c':
        add(request, "%s", cursors[below(calls, COUNT(cursors))]);
        break;
    case 'k':
        add_key(calls, request);
        break;
    case 'f':
        add(request, "%c%" PRId64, "fm"[below(calls, 2)], below(calls, 4));
        break;
    case 'n':
        add_integer(calls, request);
        break;
    case 't':
    case 'a':
        add_time(calls, request, kind == 'a');
        break;
    case 's':
        add_score(calls, request);
        break;
    case 'b':
        add_bound(calls, request);
        break;
    case 'v':
        add_value(calls, request);
        break;
    default:
        add_options(calls, request, kind);
        break;
    }
}

/* Add a command and its arguments to the request. */
static inline void add_command(struct calls *calls, struct request *request)
{
    size_t which = (size_t)below(calls, COUNT(command_kinds));
    const char *name = command_kinds[which].name;
    size_t first = request->argc;
    add(request, "%s", name);
    for (const char *at = command_kinds[which].kinds; *at != '\0'; at++) {
        if (at[1] != '?' || chance(calls, 50)) {
            add_kind(calls, request, *at);
        }
        at += at[1] == '?';
    }
    request->is_scan = strcmp(name, "SCAN") == 0;
    if (chance(calls, 3)) {
        add_value(calls, request);
    } else if (chance(calls, 3) && request->argc > first + 1) {
        request->argc--;
    }
    if (chance(calls, 10)) {
        request->text[request->argv[first].data - request->text] |= 0x20;
    }
}

/* The Lua value of a reply, as text. */
#define DESCRIBE                                                               \
    "local function d(v) if type(v) ~= 'table' then "                          \
    "return type(v) .. ':' .. tostring(v) end "                                \
    "local o = {} for i = 1, #v do o[i] = d(v[i]) end "                        \
    "return {'table', v.ok or '-', v.err or '-', o} end "

static const char *const wrappers[] = {
    "return redis.call(unpack(ARGV))",
    "return redis.call(unpack(ARGV))",
    "return redis.pcall(unpack(ARGV))",
    "redis.call('DEL', 'k4') return redis.call(unpack(ARGV))",
    "redis.pcall('SET', 'k4', 'x', 'XX') return redis.pcall(unpack(ARGV))",
    "return {pcall(redis.call, unpack(ARGV))}",
    "\n\nlocal v = redis.call(unpack(ARGV))\nreturn v",
    DESCRIBE "return d(redis.pcall(unpack(ARGV)))",
    DESCRIBE "return d({pcall(redis.call, unpack(ARGV))})",
};

static const char *const snippets[] = {
    "return {1, 2.9, -3.9, 'x', false, true, nil, 5}",
    "return {1, {2, {3, {}}}, {err='A b'}, {ok='fine'}}",
    "return 9007199254740993",
    "return -0.5",
    "return nil",
    "return",
    "return false",
    "return {err='A b'}",
    "return {err='A\\nb\\n'}",
    "return {ok='a\\r\\nb'}",
    "return {double=2.5}",
    "return redis.error_reply('CODE words')",
    "return redis.error_reply('word')",
    "return redis.error_reply('-CODE words\\n')",
    "return redis.error_reply(1)",
    "return redis.status_reply('fine')",
    "return redis.status_reply()",
    "error('x')",
    "error('x', 0)",
    "\nerror({err='A b'})",
    "error({err='A b', line=7})",
    "local t = nil; return t.x",
    "assert(false)",
    "assert(tonumber('x'), 'no number')",
    "return no_such_global",
    "new_global = 1",
    "this does not compile",
    "return redis.call()",
    "return redis.pcall()",
    "return redis.call('SET', 'k1', 10)",
    "redis.call('SET', 'k1', 0.1) return redis.call('GET', 'k1')",
    "redis.call('SET', 'k1', 1e15) return redis.call('GET', 'k1')",
    "redis.call('SET', 'k1', 1e17) return redis.call('GET', 'k1')",
    "redis.call('SET', 'k1', -1e16) return redis.call('GET', 'k1')",
    "redis.call('SET', 'k1', 1e300) return redis.call('GET', 'k1')",
    "redis.call('SET', 'k1', 1/0) return redis.call('GET', 'k1')",
    "redis.call('SET', 'k1', -0.0) return redis.call('GET', 'k1')",
    "return redis.call('SET', 'k1', {})",
    "return redis.call('SET', 'k1', true)",
    "return redis.call('EVAL', 'return 1', 0)",
    "return redis.sha1hex('')",
    "return redis.sha1hex(string.rep('a', 119))",
    "return redis.sha1hex()",
    "return {pcall(error, {err='A b'})}",
    "return {pcall(error, 'plain')}",
    "return {pcall(error, {})}",
    "return {pcall(function() return 1, 2 end)}",
    "return {xpcall(function() error('x') end, function(e) return e end)}",
    "return {KEYS[1] or 'none', ARGV[1] or 'none', #KEYS, #ARGV}",
    "return {unpack(ARGV)}",
    "return string.format('%016.0f %s', 12345678901, 'x')",
    "return tostring(12345678901234567)",
    "return redis.call('TIME')",
    "local r = redis.call('TIME') return {type(r[1]), r[1] * 1, r[2] + 0}",
};

static inline void make_command(struct calls *calls, struct request *request)
{
    start(request);
    if (chance(calls, 60)) {
        add_command(calls, request);
        return;
    }
    bool has_command = chance(calls, 70);
    add(request, "EVAL");
    if (has_command) {
        ADD_ANY(calls, request, wrappers);
        add(request, "0");
        add_command(calls, request);
        if (request->is_scan) { /* keys in the order of Redis */
            request->argc = 3;
        }
        return;
    }
    ADD_ANY(calls, request, snippets);
    add_integer(calls, request);
    for (int64_t n = below(calls, 5); n > 0; n--) {
        add_value(calls, request);
    }
}

/* On a connection that sometimes subscribes. It leaves one channel before it
 * subscribes to the next: the order of several is that of Redis. */
static inline void make_listening(struct calls *calls, struct request *request)
{
    static const char *const commands[] = {"SUBSCRIBE", "UNSUBSCRIBE", "PING",
                                           "GET", "QUIET"};
    start(request);
    ADD_ANY(calls, request, commands);
    char first = request->argv[0].data[0];
    if (first == 'U' ? chance(calls, 50) : first != 'P' || chance(calls, 50)) {
        add(request, "f1");
    }
    if (first == 'S' && chance(calls, 30)) {
        add(request, "f1");
    }
}

#endif
