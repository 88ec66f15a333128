/* SPDX-License-Identifier: Apache-2.0 */
/* Both nodes of the differential test, and the texts of their states. */
#ifndef HF_TESTS_BOTH_H
#define HF_TESTS_BOTH_H

#include "node.h"

#include "story/random.h"

#define PARTIES 6 /* that contend: enough for sharers, and waiters behind */
#define BREAKER PARTIES
/* Ends in the future to which the clock may be moved; further ones are not
 * noted. */
#define ENDS_MAX 200
/* Lines of a printed state, such as the entries of a queue: asserted. */
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
    const struct node_ops *ops;
    void *node;
    struct party parties[PARTIES + 1];
    unsigned owners;
    int64_t wall_us;
    int64_t over_ms; /* the latest end in the past */
    int64_t ends_ms[ENDS_MAX];
    int n_ends;
    char taken_from[OWNER_LEN]; /* from which the breaker has the name; or empty
                                 */
    uint64_t counter, version;
    char marker[FIELD_LEN];
    unsigned markers; /* in this sequence */
    bool has_restarted;
    unsigned may_restart; /* the server itself, so often */
    uint64_t asked, granted, queued, pushed, together, broken, batched;
    uint64_t declared, restarted;
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

/* ---- The state that the scripts keep ------------------------------------- */

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
    const char *last = fence != NULL && len > 17 ? fence + 17 : "";
    if (both->ops->is_embedded) {
        bool has_breaker = both->taken_from[0] != '\0';
        bool is_owner = !has_breaker && strncmp(last, "shared:", 7) != 0;
        sim_text_print(&both->lua, " last '%s'", is_owner ? last : "");
        return;
    }
    sim_text_print(
        &both->lua, " last '%s' kept %" PRId64, last,
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
        value == NULL || is_live || both->ops->is_embedded
            ? 0
            : sim_redis_end_ms(both->scripts.redis, key, sizeof(key) - 1));
}

/* The marker and its entries, in the order of their names. */
static inline void print_lua_node(struct both *both)
{
    struct sim_text text = {0};
    struct line lines[LINES_MAX];
    const struct hf_reply *r = &both->scripts.reply;
    size_t n = 0;
    sim_reply_array(&text, 2);
    add(&text, "HGETALL");
    add(&text, "hf:node");
    feed(&both->scripts, &text);
    for (size_t i = 1; i + 1 < r->n; i += 2) {
        assert_true(n < LINES_MAX);
        snprintf(lines[n++].text, sizeof(lines[0].text), "%s=%s",
                 hf_reply_text(r, i), hf_reply_text(r, i + 1));
    }
    print_sorted(&both->lua, lines, n);
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
    if (!both->ops->is_embedded) {
        print_lua_node(both);
    }
}

/* ---- The database's state ------------------------------------------------ */

static inline const char *sql_text(const struct both *both, int row,
                                   const char *column)
{
    const char *text = both->ops->text(both->node, row, column);
    return text == NULL ? "" : text;
}

static inline int64_t sql_number(const struct both *both, int row,
                                 const char *column)
{
    return strtoll(sql_text(both, row, column), NULL, 10);
}

static inline void print_sql_seats(struct both *both)
{
    struct line lines[LINES_MAX];
    size_t n = 0;
    int rows = both->ops->rows(both->node);
    for (int i = 0;
         i < rows && both->ops->text(both->node, i, "seat_owner") != NULL;
         i++) {
        bool shares = sql_number(both, i, "seat_ticket") == 0;
        assert_true(n < LINES_MAX);
        snprintf(lines[n++].text, sizeof(lines[0].text),
                 "%c %016" PRId64 " %.60s %s for %" PRId64 " at %.16s",
                 shares ? 'h' : 'w', sql_number(both, i, "seat_ticket"),
                 sql_text(both, i, "seat_owner"),
                 sql_text(both, i, "seat_mode"),
                 sql_number(both, i, "seat_left_ms"), sql_text(both, i, "v"));
    }
    print_sorted(&both->sql, lines, n);
}

/* The list of the name, with the counters of the sharers (v), the last owner
 * and the end of the counter (last_owner, kept); its value as a reader gets it
 * (version, data, id), and its row: the last version, and of a deleted value
 * how long that is kept (last_version, until_ms). Where there is a marker, it
 * and its entries, a line each (node). */
static inline void print_sql_state(struct both *both)
{
    both->ops->look(both->node);
    both->counter = (uint64_t)sql_number(both, 0, "counter");
    sim_text_print(&both->sql,
                   " state: c %" PRIu64 " left %" PRId64 " %s terms %" PRId64
                   " sharers %" PRId64 " waiters %" PRId64,
                   both->counter, sql_number(both, 0, "left_ms"),
                   sql_text(both, 0, "owner"), sql_number(both, 0, "terms"),
                   sql_number(both, 0, "sharers"),
                   sql_number(both, 0, "waiters"));
    sim_text_print(&both->sql, " last '%s'", sql_text(both, 0, "last_owner"));
    if (!both->ops->is_embedded) {
        sim_text_print(&both->sql, " kept %" PRId64,
                       sql_number(both, 0, "kept"));
    }
    sim_text_print(&both->sql,
                   " value %" PRId64 " %s by %.32s last %" PRId64
                   " until %" PRId64,
                   sql_number(both, 0, "version"), sql_text(both, 0, "data"),
                   sql_text(both, 0, "id"), sql_number(both, 0, "last_version"),
                   sql_number(both, 0, "until_ms"));
    both->together += sql_number(both, 0, "sharers") > 1;
    print_sql_seats(both);
    if (!both->ops->is_embedded) {
        sim_text_print(&both->sql, "\n#      %s", sql_text(both, 0, "node"));
    }
}

/* ---- The database's replies ---------------------------------------------- */

static inline void print_sql_holder(struct both *both)
{
    sim_text_print(
        &both->sql, " left %" PRId64 " %s terms %" PRId64 " sharers %" PRId64,
        sql_number(both, 0, "left_ms"), sql_text(both, 0, "owner"),
        sql_number(both, 0, "terms"), sql_number(both, 0, "sharers"));
}

/* Where the script replied with a number alone (is_short), its clock is left
 * out. */
static inline void print_sql_answer(struct both *both, enum verb verb,
                                    bool is_short)
{
    struct sim_text *text = &both->sql;
    if (verb == AHEAD) {
        int64_t n = sql_number(both, 0, "ahead");
        sim_text_print(text, n == -1 ? "changed" : "%" PRId64 " are ahead", n);
        return;
    }
    if (verb == MARKER) {
        sim_text_print(text, "%" PRId64 " written",
                       sql_number(both, 0, "verdict"));
        return;
    }
    int64_t verdict = sql_number(both, 0, "verdict");
    if (verdict == -1) {
        sim_text_print(text, "changed");
        return;
    }
    sim_text_print(text, "%" PRId64 " at %" PRId64, verdict,
                   sql_number(both, 0, verb == PUT ? "version" : "counter"));
    if (verb == PUT) {
        return;
    }
    if (verdict != 1 || verb == BREAK || verb == MARK) {
        print_sql_holder(both);
    }
    if (verb == CONFIRM) {
        sim_text_print(text, " floor %" PRId64 " bound %" PRId64,
                       sql_number(both, 0, "floor"),
                       sql_number(both, 0, "bound"));
    } else if (verdict == 2) {
        sim_text_print(text, " ticket %" PRId64 " ahead %" PRId64,
                       sql_number(both, 0, "ticket"),
                       sql_number(both, 0, "ahead"));
    } else if (verb == ACQUIRE) {
        if (!is_short) {
            sim_text_print(text, " us %" PRId64,
                           sql_number(both, 0, "node_us"));
        }
        sim_text_print(text, " ahead %" PRId64, sql_number(both, 0, "ahead"));
    }
}

static inline void note_ends(struct both *both)
{
    both->n_ends = 0;
    note_key(both, NAME);
    note_key(both, "hf:{" NAME "}:once");
    if (!both->ops->is_embedded) {
        note_key(both, "hf:{" NAME "}:fence");
        note_key(both, "hf:{" NAME "}:value");
    }
}

#endif
