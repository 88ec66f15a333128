/* SPDX-License-Identifier: Apache-2.0 */
/* Both nodes of the differential test, and the texts of their states. */
#ifndef HF_TESTS_BOTH_H
#define HF_TESTS_BOTH_H

#include "differential.h"

#include "story/random.h"

#define PARTIES 6
#define BREAKER PARTIES
#define ENDS_MAX 200
#define LINES_MAX 120

struct party {
    char owner[OWNER_LEN];
    const char *mode;
    uint64_t own; /* by its last grant */
    bool hears;
};

struct both {
    struct sim_random random;
    struct scripts scripts;
    struct pg pg;
    struct party parties[PARTIES + 1];
    unsigned owners;
    int64_t wall_us;
    int64_t over_ms; /* the latest end in the past */
    int64_t ends_ms[ENDS_MAX];
    int n_ends;
    uint64_t counter, version;
    uint64_t asked, granted, queued, pushed, together, broken, batched;
    struct sim_text lua, sql; /* what is compared */
    bool differs;
};

static inline int64_t below(struct both *both, int64_t n)
{
    return sim_draw_below(&both->random, n);
}

static inline bool chance(struct both *both, int percent)
{
    return below(both, 100) < percent;
}

/* ---- State --------------------------------------------------------------- */

static inline void note_end(struct both *both, int64_t ms)
{
    if (ms >= both->wall_us / 1000 && ms < INT64_MAX &&
        both->n_ends < ENDS_MAX) {
        both->ends_ms[both->n_ends++] = ms;
    }
}

static inline void note_key(struct both *both, const char *key)
{
    note_end(both, sim_redis_end_ms(both->scripts.redis, key, strlen(key)));
}

static inline int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

struct line {
    char text[200];
};

/* Sharers that were raised to one counter have no order in Redis. */
static inline void print_sorted(struct sim_text *text, struct line *lines,
                                size_t n)
{
    qsort(lines, n, sizeof(*lines), by_text);
    for (size_t i = 0; i < n; i++) {
        sim_text_print(text, "\n#      %s", lines[i].text);
    }
}

static inline void print_lua_fence(struct both *both)
{
    static const char key[] = "hf:{" NAME "}:fence";
    const struct sim_redis *redis = both->scripts.redis;
    size_t len;
    const char *fence = sim_redis_get(redis, key, sizeof(key) - 1, &len);
    sim_text_print(
        &both->lua, " last '%s' kept %" PRId64,
        fence != NULL && len > 17 ? fence + 17 : "",
        fence == NULL ? 0 : sim_redis_end_ms(redis, key, sizeof(key) - 1));
}

static inline void print_lua_value(struct both *both)
{
    static const char key[] = "hf:{" NAME "}:value";
    size_t len;
    const char *value =
        sim_redis_get(both->scripts.redis, key, sizeof(key) - 1, &len);
    bool is_live = value != NULL && len > 49;
    uint64_t last = value == NULL ? 0 : strtoull(value, NULL, 10);
    both->version = is_live ? last : 0;
    sim_text_print(
        &both->lua,
        " value %" PRIu64 " %s by %.32s last %" PRIu64 " until %" PRId64,
        both->version, is_live ? value + 50 : "",
        value == NULL ? "" : value + 17, last,
        value == NULL || is_live
            ? 0
            : sim_redis_end_ms(both->scripts.redis, key, sizeof(key) - 1));
}

static inline void print_lua_state(struct both *both)
{
    static const char votes[] = "hf:{" NAME "}:votes";
    struct scripts *scripts = &both->scripts;
    const struct hf_reply *r = &scripts->reply;
    struct line lines[LINES_MAX];
    size_t n = 0;
    scripts_ask_queue(scripts);
    sim_text_print(&both->lua,
                   " state: c %" PRId64 " left %" PRId64 " %s terms %" PRId64
                   " sharers %" PRId64 " waiters %" PRId64,
                   item(r, 2), item(r, 3), hf_reply_text(r, 4), item(r, 9),
                   item(r, 10), item(r, 11));
    print_lua_fence(both);
    print_lua_value(both);
    for (size_t i = 12; i + 3 < r->n; i += 4) {
        size_t len;
        const char *who = hf_reply_text(r, i);
        const char *v = sim_redis_field(
            scripts->redis, votes, sizeof(votes) - 1, who, strlen(who), &len);
        bool shares = item(r, i + 2) == 0;
        note_end(both, both->wall_us / 1000 + item(r, i + 1));
        assert_true(n < LINES_MAX);
        snprintf(lines[n++].text, sizeof(lines[0].text),
                 "%c %016" PRId64 " %s %s for %" PRId64 " at %.16s",
                 shares ? 'h' : 'w', item(r, i + 2), who,
                 hf_reply_text(r, i + 3), item(r, i + 1),
                 shares && v != NULL ? v : "");
    }
    print_sorted(&both->lua, lines, n);
}

static inline void print_sql_seats(struct both *both, const PGresult *r)
{
    struct line lines[LINES_MAX];
    size_t n = 0;
    int owner = PQfnumber(r, "seat_owner");
    for (int i = 0; i < PQntuples(r) && !PQgetisnull(r, 0, owner); i++) {
        struct sim_text who = {0};
        bool shares = pg_number(r, i, "seat_ticket") == 0;
        pg_print(&who, r, i, "seat_owner");
        assert_true(n < LINES_MAX);
        snprintf(lines[n++].text, sizeof(lines[0].text),
                 "%c %016" PRId64 " %.60s %s for %" PRId64 " at %.16s",
                 shares ? 'h' : 'w', pg_number(r, i, "seat_ticket"), who.data,
                 PQgetvalue(r, i, PQfnumber(r, "seat_mode")),
                 pg_number(r, i, "seat_left_ms"),
                 PQgetvalue(r, i, PQfnumber(r, "v")));
        sim_text_fini(&who);
    }
    print_sorted(&both->sql, lines, n);
}

/* As a reader gets it, and its row: the last version, and of a deleted value
 * how long that is kept. */
static inline void print_sql_value(struct both *both, const PGresult *r)
{
    sim_text_print(&both->sql, " value %" PRId64 " ",
                   pg_number(r, 0, "version"));
    pg_print(&both->sql, r, 0, "data");
    sim_text_print(&both->sql, " by %.32s last %" PRId64 " until %" PRId64,
                   PQgetvalue(r, 0, PQfnumber(r, "id")),
                   pg_number(r, 0, "last_version"),
                   pg_number(r, 0, "until_ms"));
}

/* One statement: the list, the counters of the sharers, the last owner and the
 * value. */
static inline void print_sql_state(struct both *both)
{
    static const char query[] =
        "SELECT s.*, h.counter AS v, coalesce(l.last, '') AS last_owner,"
        " coalesce(l.kept_until, 0) AS kept, v.version, v.data, v.id,"
        " coalesce(p.version, 0) AS last_version,"
        " coalesce(p.until, 0) AS until_ms"
        " FROM holdfast.list('" NAME "', 1000) AS s"
        " CROSS JOIN holdfast.value_get('" NAME "') AS v"
        " LEFT JOIN holdfast.sharer h ON h.name = '" NAME "'"
        " AND h.owner = s.seat_owner AND s.seat_ticket = 0"
        " LEFT JOIN holdfast.value p ON p.name = '" NAME "'"
        " AND (p.data IS NOT NULL OR p.until * 1000 + 999"
        " >= current_setting('holdfast.test_us')::bigint)"
        " LEFT JOIN holdfast.lock l ON l.name = '" NAME "'"
        " AND l.kept_until * 1000 + 999"
        " >= current_setting('holdfast.test_us')::bigint";
    const PGresult *r = pg_run(&both->pg, "state", query, 0, NULL);
    both->counter = (uint64_t)pg_number(r, 0, "counter");
    sim_text_print(&both->sql, " state: c %" PRIu64 " left %" PRId64 " ",
                   both->counter, pg_number(r, 0, "left_ms"));
    pg_print(&both->sql, r, 0, "owner");
    sim_text_print(&both->sql,
                   " terms %" PRId64 " sharers %" PRId64 " waiters %" PRId64
                   " last '",
                   pg_number(r, 0, "terms"), pg_number(r, 0, "sharers"),
                   pg_number(r, 0, "waiters"));
    pg_print(&both->sql, r, 0, "last_owner");
    sim_text_print(&both->sql, "' kept %" PRId64, pg_number(r, 0, "kept"));
    print_sql_value(both, r);
    both->together += pg_number(r, 0, "sharers") > 1;
    print_sql_seats(both, r);
}

static inline void note_ends(struct both *both)
{
    both->n_ends = 0;
    note_key(both, NAME);
    note_key(both, "hf:{" NAME "}:fence");
    note_key(both, "hf:{" NAME "}:once");
    note_key(both, "hf:{" NAME "}:value");
}

#endif
