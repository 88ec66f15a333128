/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of sorted sets. The replies and the texts of errors are those of
 * Redis 7.0, which tests/conformance/sim_redis.c compares. A set is an array in
 * order of score, then of name (items.c), so a range of scores or of ranks is
 * one run of the array.
 *
 * Cost: to find a member, O(n) of the set; to find a score, O(log n). To add,
 * move or remove one moves the items behind it: O(n). Queues are short. */
#include "redis/server.h"

#include <math.h>
#include <stdlib.h>

/* ---- Adding -------------------------------------------------------------- */

struct add {
    bool nx;
    bool xx;
    bool gt;
    bool lt;
    bool ch;
    bool incr;
    size_t first; /* argument: the first score */
    int64_t added;
    int64_t updated;
    bool is_done; /* INCR: the score was changed or added */
    double score; /* INCR: the new score */
};

static void read_add_options(const struct sim_call *call, struct add *add)
{
    *add = (struct add){.first = 2};
    for (; add->first < call->argc; add->first++) {
        const struct sim_arg *word = &call->argv[add->first];
        bool *flag = sim_arg_is(word, "nx")     ? &add->nx
                     : sim_arg_is(word, "xx")   ? &add->xx
                     : sim_arg_is(word, "gt")   ? &add->gt
                     : sim_arg_is(word, "lt")   ? &add->lt
                     : sim_arg_is(word, "ch")   ? &add->ch
                     : sim_arg_is(word, "incr") ? &add->incr
                                                : NULL;
        if (flag == NULL) {
            return;
        }
        *flag = true;
    }
}

static bool may_add(struct sim_call *call, const struct add *add)
{
    size_t n = call->argc - add->first;
    const char *why = NULL;
    if (n == 0 || n % 2 == 1) {
        why = "syntax error";
    } else if (add->nx && add->xx) {
        why = "XX and NX options at the same time are not compatible";
    } else if ((add->gt && add->nx) || (add->lt && add->nx) ||
               (add->gt && add->lt)) {
        why = "GT, LT, and/or NX options at the same time are not compatible";
    } else if (add->incr && n > 2) {
        why = "INCR option supports a single increment-element pair";
    }
    if (why != NULL) {
        sim_reply_error(call->out, "ERR %s", why);
        return false;
    }
    double score;
    for (size_t i = add->first; i < call->argc; i += 2) {
        if (!sim_call_double(call, i, &score)) {
            return false;
        }
    }
    return true;
}

/* @return false: infinities of both signs, which is no number. */
static bool update(struct sim_key *key, size_t rank, double score,
                   struct add *add)
{
    double current = key->items[rank].score;
    if (add->nx) {
        return true;
    }
    if (add->incr) {
        score += current;
        if (isnan(score)) {
            return false;
        }
    }
    if ((add->lt && score >= current) || (add->gt && score <= current)) {
        return true;
    }
    add->is_done = true;
    add->score = score;
    if (score != current) {
        sim_zset_move(key, rank, score);
        add->updated++;
    }
    return true;
}

static bool add_one(struct sim_call *call, struct sim_key *key, size_t at,
                    struct add *add)
{
    const struct sim_arg *name = &call->argv[at + 1];
    double score;
    sim_double_parse(call->argv[at].data, call->argv[at].len, &score);
    size_t rank = sim_zset_find(key, name->data, name->len);
    if (rank < key->n_items) {
        return update(key, rank, score, add);
    }
    if (!add->xx) {
        sim_zset_add(&call->redis->keys, key, score, name->data, name->len);
        add->added++;
        add->is_done = true;
        add->score = score;
    }
    return true;
}

static void reply_add(struct sim_call *call, const struct add *add)
{
    if (!add->incr) {
        sim_reply_integer(call->out,
                          add->ch ? add->added + add->updated : add->added);
    } else if (add->is_done) {
        sim_reply_double(call->out, add->score);
    } else {
        sim_reply_null(call->out);
    }
}

void sim_zadd(struct sim_call *call)
{
    struct add add;
    struct sim_key *key;
    read_add_options(call, &add);
    if (!may_add(call, &add) || !sim_call_key(call, SIM_ZSET, &key)) {
        return;
    }
    if (key == NULL && !add.xx) {
        key = sim_call_key_or_new(call, SIM_ZSET);
    }
    for (size_t i = add.first; key != NULL && i < call->argc; i += 2) {
        if (!add_one(call, key, i, &add)) {
            sim_reply_error(call->out,
                            "ERR resulting score is not a number (NaN)");
            return;
        }
    }
    reply_add(call, &add);
}

/* ---- Removing ------------------------------------------------------------ */

void sim_zrem(struct sim_call *call)
{
    struct sim_key *key;
    if (!sim_call_key(call, SIM_ZSET, &key)) {
        return;
    }
    int64_t removed = 0;
    for (size_t i = 2; key != NULL && i < call->argc; i++) {
        size_t rank = sim_zset_find(key, call->argv[i].data, call->argv[i].len);
        if (rank < key->n_items) {
            sim_zset_remove(&call->redis->keys, key, rank);
            removed++;
        }
    }
    if (key != NULL) {
        sim_call_remove_if_empty(call, key);
    }
    sim_reply_integer(call->out, removed);
}

static void reply_item(struct sim_call *call, const struct sim_item *item,
                       bool with_scores)
{
    sim_reply_bulk(call->out, item->name->data, item->name->len);
    if (with_scores) {
        sim_reply_double(call->out, item->score);
    }
}

void sim_zpopmin(struct sim_call *call)
{
    int64_t count = 1;
    struct sim_key *key;
    if (call->argc > 3) {
        sim_call_syntax_error(call);
        return;
    }
    bool is_number =
        call->argc == 2 ||
        sim_integer_parse(call->argv[2].data, call->argv[2].len, &count);
    if (!is_number || count < 0) {
        sim_reply_error(call->out,
                        "ERR value is out of range, must be positive");
        return;
    }
    if (!sim_call_key(call, SIM_ZSET, &key)) {
        return;
    }
    size_t n = key == NULL ? 0 : key->n_items;
    n = (uint64_t)count < n ? (size_t)count : n;
    sim_reply_array(call->out, 2 * n);
    for (; n > 0; n--) {
        reply_item(call, &key->items[0], true);
        sim_zset_remove(&call->redis->keys, key, 0);
    }
    if (key != NULL) {
        sim_call_remove_if_empty(call, key);
    }
}

/* ---- Queries ------------------------------------------------------------- */

void sim_zcard(struct sim_call *call)
{
    struct sim_key *key;
    if (sim_call_key(call, SIM_ZSET, &key)) {
        sim_reply_integer(call->out, key == NULL ? 0 : (int64_t)key->n_items);
    }
}

/* The rank of the member in the second argument. @return false: there is none;
 * that was replied. */
static bool find_member(struct sim_call *call, struct sim_key **key,
                        size_t *rank)
{
    if (!sim_call_key(call, SIM_ZSET, key)) {
        return false;
    }
    if (*key != NULL) {
        *rank = sim_zset_find(*key, call->argv[2].data, call->argv[2].len);
    }
    if (*key == NULL || *rank == (*key)->n_items) {
        sim_reply_null(call->out);
        return false;
    }
    return true;
}

void sim_zscore(struct sim_call *call)
{
    struct sim_key *key;
    size_t rank;
    if (find_member(call, &key, &rank)) {
        sim_reply_double(call->out, key->items[rank].score);
    }
}

void sim_zrank(struct sim_call *call)
{
    struct sim_key *key;
    size_t rank;
    if (find_member(call, &key, &rank)) {
        sim_reply_integer(call->out, (int64_t)rank);
    }
}

/* A bound: a number, with "(" before it if it is exclusive. Text after a NUL is
 * ignored, as in Redis. */
static bool read_bound(const struct sim_arg *arg, double *out, bool *is_open)
{
    char *end;
    *is_open = arg->data[0] == '(';
    *out = strtod(arg->data + *is_open, &end);
    return *end == '\0' && !isnan(*out);
}

/* The ranks [from, to) of a range of scores. */
struct range {
    double least;
    double most;
    bool is_least_open;
    bool is_most_open;
    size_t from;
    size_t to;
};

static bool read_range(struct sim_call *call, size_t least, size_t most,
                       struct range *out)
{
    if (!read_bound(&call->argv[least], &out->least, &out->is_least_open) ||
        !read_bound(&call->argv[most], &out->most, &out->is_most_open)) {
        sim_reply_error(call->out, "ERR min or max is not a float");
        return false;
    }
    return true;
}

static void find_range(const struct sim_key *key, struct range *range)
{
    range->from = sim_zset_from(key, range->least, range->is_least_open);
    range->to = sim_zset_from(key, range->most, !range->is_most_open);
    if (range->to < range->from) {
        range->to = range->from;
    }
}

void sim_zcount(struct sim_call *call)
{
    struct range range = {0};
    struct sim_key *key;
    if (!read_range(call, 2, 3, &range) ||
        !sim_call_key(call, SIM_ZSET, &key)) {
        return;
    }
    if (key != NULL) {
        find_range(key, &range);
    }
    sim_reply_integer(call->out, (int64_t)(range.to - range.from));
}

/* ---- Ranges -------------------------------------------------------------- */

struct query {
    bool by_score;
    bool is_reverse;
    bool may_choose; /* by options: ZRANGE itself */
    bool with_scores;
    int64_t offset;
    int64_t limit; /* negative: none */
};

static bool read_limit(struct sim_call *call, size_t at, struct query *query)
{
    return sim_call_integer(call, at, &query->offset) &&
           sim_call_integer(call, at + 1, &query->limit);
}

static bool read_query(struct sim_call *call, struct query *query)
{
    query->limit = -1;
    for (size_t i = 4; i < call->argc; i++) {
        const struct sim_arg *word = &call->argv[i];
        bool may_choose = query->may_choose;
        if (sim_arg_is(word, "withscores")) {
            query->with_scores = true;
        } else if (sim_arg_is(word, "limit") && call->argc - i > 2) {
            if (!read_limit(call, i + 1, query)) {
                return false;
            }
            i += 2;
        } else if (may_choose && sim_arg_is(word, "rev") &&
                   !query->is_reverse) {
            query->is_reverse = true;
        } else if (may_choose && sim_arg_is(word, "byscore") &&
                   !query->by_score) {
            query->by_score = true;
        } else {
            sim_call_syntax_error(call);
            return false;
        }
    }
    if (query->limit != -1 && !query->by_score) {
        sim_reply_error(call->out,
                        "ERR syntax error, LIMIT is only supported in "
                        "combination with either BYSCORE or BYLEX");
        return false;
    }
    return true;
}

/* Ranks [from, to), counted from the other end if reverse. */
static void reply_ranks(struct sim_call *call, const struct sim_key *key,
                        const struct query *query, size_t from, size_t to)
{
    sim_reply_array(call->out, (to - from) * (query->with_scores ? 2 : 1));
    for (size_t i = from; i < to; i++) {
        size_t rank = query->is_reverse ? key->n_items - 1 - i : i;
        reply_item(call, &key->items[rank], query->with_scores);
    }
}

static void range_by_rank(struct sim_call *call, const struct query *query)
{
    int64_t from;
    int64_t to;
    struct sim_key *key;
    if (!sim_call_integer(call, 2, &from) || !sim_call_integer(call, 3, &to) ||
        !sim_call_key(call, SIM_ZSET, &key)) {
        return;
    }
    int64_t n = key == NULL ? 0 : (int64_t)key->n_items;
    from = from < 0 ? from + n : from;
    to = to < 0 ? to + n : to;
    from = from < 0 ? 0 : from;
    if (from > to || from >= n) {
        sim_reply_array(call->out, 0);
        return;
    }
    to = to >= n ? n - 1 : to;
    reply_ranks(call, key, query, (size_t)from, (size_t)to + 1);
}

static void range_by_score(struct sim_call *call, const struct query *query)
{
    struct range range = {0};
    struct sim_key *key;
    bool ok = query->is_reverse ? read_range(call, 3, 2, &range)
                                : read_range(call, 2, 3, &range);
    if (!ok || !sim_call_key(call, SIM_ZSET, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_array(call->out, 0);
        return;
    }
    find_range(key, &range);
    size_t from = query->is_reverse ? key->n_items - range.to : range.from;
    size_t n = range.to - range.from;
    size_t skip = query->offset < 0 || (uint64_t)query->offset > n
                      ? n
                      : (size_t)query->offset;
    n -= skip;
    n = query->limit >= 0 && (uint64_t)query->limit < n ? (size_t)query->limit
                                                        : n;
    reply_ranks(call, key, query, from + skip, from + skip + n);
}

static void range(struct sim_call *call, struct query query)
{
    if (!read_query(call, &query)) {
        return;
    }
    if (query.by_score) {
        range_by_score(call, &query);
    } else {
        range_by_rank(call, &query);
    }
}

void sim_zrange(struct sim_call *call)
{
    range(call, (struct query){.may_choose = true});
}

void sim_zrevrange(struct sim_call *call)
{
    range(call, (struct query){.is_reverse = true});
}

void sim_zrangebyscore(struct sim_call *call)
{
    range(call, (struct query){.by_score = true});
}
