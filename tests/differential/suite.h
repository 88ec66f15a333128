/* SPDX-License-Identifier: Apache-2.0 */
/* The rules in a database, or in the embedded store, against the shipped Lua
 * scripts. Both get the same random requests of one name, by one clock, which
 * only the test moves. Each reply, each push and, after each request, the whole
 * state must be the same. Then rules are removed from the SQL, or broken in the
 * embedded store, one at a time, and one is removed from a script: each time a
 * difference must be found. A run removes a third of them, by its seed, and
 * with HF_TEST_ALL=1 all of them.
 *
 *     differential FOLDER [SEED [SEQUENCES]]     the folder of the schema
 *
 * What may differ, by design:
 *  - A waiter without a channel polls. A database leaves it its place; the
 *    scripts get a line that does the same. Where there are no pushes, all
 *    poll.
 *  - A place that has expired is gone in a database. In Redis it counts until
 *    the head of the queue reaches it: here it is removed before each request.
 *  - Where a script replies with a number alone, only that is compared.
 *  - Of the embedded store more: ../unit/test_local_differential.c has a list,
 *    which the test prints.
 *
 * At times all sessions end, and three times the database itself is restarted:
 * its data stays, no client listens, and one declares a marker.
 * Markers are declared in between too, by clients that expect another.
 *
 * The clock may go back, but never so far that an expired entry is live again:
 * Redis drops it, a database keeps the row. Sweeps of idle names come in
 * between, and must change nothing. */
#ifndef HF_TESTS_SUITE_H
#define HF_TESTS_SUITE_H

#include "embedded.h"
#include "restarts.h"

#include "io/clock.h"

#include <glob.h>

struct suite {
    const char *name;
    const struct node_ops *ops;
    const struct planted *in_sql; /* the rules that are removed */
    int64_t n_rules;
    const char *const *may_differ; /* ends with NULL. NULL: see above */
    uint64_t sequences;
};

#define PATIENCE 600      /* the rarest difference takes about 60 sequences */
#define STEPS 300         /* requests of a sequence, from an empty node on */
#define SERVER_RESTARTS 3 /* of a run: each takes seconds */

static void purge(struct both *both)
{
    static const char script[] =
        "for _, who in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do "
        "local r = redis.call('HGET', KEYS[2], who) "
        "if not r or tonumber(string.match(r, '^(%d+) ')) <= tonumber(ARGV[1])"
        " then redis.call('ZREM', KEYS[1], who) "
        "redis.call('HDEL', KEYS[2], who) end end return 1";
    struct sim_text text = {0};
    sim_reply_array(&text, 6);
    add(&text, "EVAL");
    sim_reply_bulk(&text, script, sizeof(script) - 1);
    add(&text, "2");
    add(&text, "hf:{" NAME "}:queue");
    add(&text, "hf:{" NAME "}:waiters");
    add(&text, "%" PRId64, both->wall_us / 1000);
    feed(&both->scripts, &text);
    assert_int_equal(both->scripts.reply.items[0].type, HF_REPLY_INTEGER);
}

/* ---- Requests ------------------------------------------------------------ */

static void set_ears(struct both *both, int i, bool hears)
{
    if (both->parties[i].hears != hears) {
        struct sim_text text = {0};
        char channel[16];
        snprintf(channel, sizeof(channel), "to:%d", i);
        both->parties[i].hears = hears;
        sim_reply_array(&text, 2);
        add(&text, hears ? "SUBSCRIBE" : "UNSUBSCRIBE");
        add(&text, "%s", channel);
        sim_redis_feed(both->scripts.ears, text.data, text.len);
        sim_text_fini(&text);
        scripts_hear(&both->scripts);
        both->ops->listen(both->node, channel, hears);
    }
}

static void new_owner(struct both *both, char owner[OWNER_LEN])
{
    snprintf(owner, OWNER_LEN, "%032x:host:%d:1",
             (unsigned)sim_mix(++both->owners), (int)below(both, 100));
}

static void renew(struct both *both, int i)
{
    static const char *const modes[] = {"x", "x", "s0", "s0", "s2"};
    new_owner(both, both->parties[i].owner);
    both->parties[i].mode = modes[below(both, COUNT(modes))];
    both->parties[i].own = 0;
    bool hears = both->ops->is_embedded || chance(both, 85);
    set_ears(both, i, hears && both->ops->listen != NULL);
}

/* A counter near the present ones, near the clock, or out of bounds. */
static uint64_t any_counter(struct both *both, const struct party *party)
{
    uint64_t c = both->counter;
    uint64_t us = (uint64_t)both->wall_us;
    uint64_t floor = us - us % FLOOR_STEP_US;
    uint64_t other = both->parties[below(both, PARTIES)].own;
    const uint64_t choices[] = {party->own,
                                party->own,
                                party->own,
                                c,
                                c,
                                c + 1,
                                c + (uint64_t)below(both, 5000),
                                other,
                                c > 0 ? c - 1 : 0,
                                floor,
                                floor - FLOOR_STEP_US,
                                us,
                                us + HF_FENCE_AHEAD_MAX - 5,
                                us + 5000000000};
    int64_t n = chance(both, 95) ? COUNT(choices) - 2 : COUNT(choices);
    return choices[below(both, n)];
}

static int64_t any_span(struct both *both)
{
    static const int64_t spans_ms[] = {1,    2,    20,    50,   300,
                                       1000, 5000, 30000, 90000};
    bool is_bounded = both->ops->is_embedded; /* by MAX_TTL_MS */
    return spans_ms[below(both, COUNT(spans_ms) - (is_bounded ? 1 : 0))];
}

static void any_acquire(struct both *both, struct request *ask,
                        const struct party *party)
{
    int64_t second = both->wall_us - both->wall_us % 1000000;
    bool is_yield = chance(both, 30);
    ask->flag = chance(both, 6) && !(both->ops->is_embedded && is_yield);
    ask->place_ms = chance(both, 75) ? any_span(both) : 0;
    ask->ticket = chance(both, 40)
                      ? 0
                      : (uint64_t)(chance(both, 50)
                                       ? second
                                       : both->wall_us - below(both, 3000000));
    ask->returned = is_yield ? any_counter(both, party) : 0;
    ask->counter = is_yield || chance(both, 75) ? 0 : any_counter(both, party);
    if (!is_yield && chance(both, 3)) {
        ask->counter = (uint64_t)both->wall_us + 5000000000; /* out of bounds */
    }
    bool polls = !both->ops->is_embedded && chance(both, 12);
    if (polls || both->ops->listen == NULL) {
        ask->channel[0] = '\0';
    }
}

static void any_back(struct both *both, struct request *ask)
{
    if (!both->ops->is_embedded) {
        strcpy(ask->other, both->parties[below(both, PARTIES)].owner);
    } else {
        strcpy(ask->other, both->taken_from);
    }
}

static void any_other(struct both *both, struct request *ask,
                      const struct party *party)
{
    ask->counter = any_counter(both, party);
    ask->flag = chance(both, 50);
    if (ask->verb == RELEASE) {
        ask->ttl_ms = chance(both, 10) ? any_span(both) : 0;
        ask->counter = chance(both, 40) ? 0 : ask->counter;
    } else if (ask->verb == BREAK && chance(both, 40)) {
        any_back(both, ask);
    } else if (ask->verb == MARK) {
        ask->counter = chance(both, 40) ? 0 : ask->counter;
        ask->flag = chance(both, 25);
    } else if (ask->verb == PUT) {
        ask->counter = chance(both, 70) ? both->version : ask->counter;
        ask->ticket = chance(both, 75);
        ask->flag = chance(both, 30);
        if (both->ops->is_embedded) {
            ask->ttl_ms = strtoll(KEEP_MS, NULL, 10);
        }
        if (chance(both, 70)) {
            new_owner(both, ask->owner);
        }
    } else if (ask->verb == AHEAD) {
        ask->flag = chance(both, 30);
    }
}

static struct request any_request(struct both *both, int *party_at)
{
    static const enum verb verbs[] = {
        ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE, ACQUIRE,
        ACQUIRE, CONFIRM, CONFIRM, CONFIRM, CONFIRM, RELEASE, RELEASE,
        RELEASE, RELEASE, RELEASE, MARK,    PUT,     PUT};
    struct request ask = {.verb = verbs[below(both, COUNT(verbs))]};
    int i = (int)below(both, PARTIES);
    if (chance(both, 4)) {
        bool is_ahead = !both->ops->is_embedded && chance(both, 15);
        ask.verb = is_ahead ? AHEAD : BREAK;
    }
    if (both->ops->restart != NULL &&
        (both->has_restarted || chance(both, 2))) {
        ask.verb = MARKER;
    }
    if (ask.verb == BREAK || (ask.verb == RELEASE && chance(both, 10))) {
        i = BREAKER;
    }
    const struct party *party = &both->parties[i];
    strcpy(ask.owner, party->owner);
    strcpy(ask.mode,
           chance(both, 95) || both->ops->is_embedded ? party->mode : "s3");
    snprintf(ask.channel, sizeof(ask.channel), "to:%d", i);
    ask.cookie = (unsigned)i;
    ask.ttl_ms = any_span(both);
    know_marker(both, &ask);
    if (ask.verb == ACQUIRE) {
        any_acquire(both, &ask, party);
    } else if (ask.verb == MARKER) {
        any_marker(both, &ask);
    } else {
        any_other(both, &ask, party);
    }
    *party_at = i;
    return ask;
}

/* ---- Time ---------------------------------------------------------------- */

/* Often exactly to the millisecond in which something ends. */
static int64_t any_time(struct both *both)
{
    static const int64_t steps_us[] = {0,     0,     0,      900,    1000,
                                       20000, 20000, 300000, 6000000};
    int64_t us = both->wall_us;
    if (chance(both, 5)) {
        us -= below(both, 2000000);
    } else {
        us += below(both, steps_us[below(both, COUNT(steps_us))] + 1);
    }
    if (chance(both, 15) && both->n_ends > 0) {
        int64_t end_ms = both->ends_ms[below(both, both->n_ends)];
        /* seldom as far as a counter's end */
        if (end_ms < both->wall_us / 1000 + 100000 || chance(both, 2)) {
            us = (end_ms + below(both, 3) - 1) * 1000 + below(both, 1000);
        }
    }
    int64_t least_us = (both->over_ms + 1) * 1000;
    us = us < both->wall_us && us < least_us ? both->wall_us : us;
    while (both->ops->is_embedded && is_last_ms(both, us / 1000)) {
        us += 1000;
    }
    return us;
}

static void set_time(struct both *both, int64_t us)
{
    for (int i = 0; i < both->n_ends; i++) {
        int64_t ms = both->ends_ms[i];
        if (ms <= us / 1000 && ms > both->over_ms) {
            both->over_ms = ms;
        }
    }
    both->wall_us = us;
    scripts_set_time(&both->scripts, us);
    both->ops->set_clock(both->node, us);
}

/* ---- A step -------------------------------------------------------------- */

static void ask_lua(struct both *both, const struct request *ask,
                    bool *is_short)
{
    struct scripts *scripts = &both->scripts;
    scripts->pushes.n = 0;
    lua_ask(scripts, ask);
    *is_short = lua_is_short(&scripts->reply);
    lua_print(&both->lua, &scripts->reply, ask->verb, both->ops->is_embedded);
    scripts_hear(scripts);
    for (unsigned i = 0; i < scripts->pushes.n; i++) {
        const struct push *one = &scripts->pushes.of[i];
        sim_text_print(&both->lua, " to:%u<%u %" PRIu64, one->owner, one->owner,
                       one->counter);
        both->parties[one->owner].own = one->counter;
    }
    both->pushed += scripts->pushes.n;
}

/* Most renewals come in a batch; what it leaves out is a CONFIRM. */
static void ask_database(struct both *both, const struct request *ask)
{
    if (ask->verb == CONFIRM && both->ops->renew != NULL && chance(both, 75) &&
        both->ops->renew(both->node, ask)) {
        both->batched++;
        return;
    }
    both->ops->ask(both->node, ask);
}

static void ask_sql(struct both *both, const struct request *ask, int party,
                    bool is_short)
{
    ask_database(both, ask);
    print_sql_answer(both, ask->verb, is_short);
    if (ask->verb == ACQUIRE || ask->verb == CONFIRM) {
        int64_t verdict = sql_number(both, 0, "verdict");
        both->granted += verdict == 1;
        both->queued += verdict == 2;
        if (verdict == 1) {
            both->parties[party].own = (uint64_t)sql_number(both, 0, "counter");
        }
    }
    both->broken += ask->verb == BREAK;
    if (both->ops->hear != NULL) {
        both->ops->hear(both->node, &both->sql);
    }
}

static void empty(struct sim_text *text)
{
    text->len = 0;
    sim_text_add(text, "", 0);
}

static void step(struct both *both, bool is_quiet)
{
    int i = (int)below(both, PARTIES);
    bool is_short;
    if (chance(both, 5)) {
        renew(both, i);
    } else if (!both->ops->is_embedded && chance(both, 4)) {
        set_ears(both, i, !both->parties[i].hears && both->ops->listen != NULL);
    } else if (chance(both, 2) && both->taken_from[0] == '\0') {
        new_owner(both, both->parties[BREAKER].owner);
    }
    if (both->ops->restart != NULL && below(both, 2 * STEPS) == 0) {
        restart(both);
    }
    set_time(both, any_time(both));
    purge(both);
    if (both->ops->is_embedded) {
        forget_broken(both);
    }
    if (chance(both, 10)) {
        both->ops->sweep(both->node);
    }
    struct request ask = any_request(both, &i);
    empty(&both->lua);
    empty(&both->sql);
    ask_lua(both, &ask, &is_short);
    note_marker(both, &ask);
    if (both->ops->is_embedded) {
        note_broken(both, &ask);
    }
    ask_sql(both, &ask, i, is_short);
    note_ends(both);
    print_lua_state(both);
    print_sql_state(both);
    both->asked++;
    if (strcmp(both->lua.data, both->sql.data) != 0) {
        both->differs = true;
        if (!is_quiet) {
            struct sim_text text = {0};
            print_request(&text, &ask);
            printf("# request %" PRIu64 " at %" PRId64 ": %s\n# lua: %s\n"
                   "# sql: %s\n",
                   both->asked, both->wall_us, text.data, both->lua.data,
                   both->sql.data);
            sim_text_fini(&text);
        }
    }
}

/* ---- Runs ---------------------------------------------------------------- */

static struct suite suite;
static const char *schema_folder;
static uint64_t seed;

static void both_open(struct both *both, const char *schema,
                      const struct planted *planted)
{
    memset(both, 0, sizeof(*both));
    scripts_open(&both->scripts, planted);
    both->scripts.everywhere =
        (struct planted){.text = "told = redis.pcall('PUBLISH', first.channel,",
                         .instead = "told = first.channel == '' and {} or "
                                    "redis.pcall('PUBLISH', first.channel,"};
    both->ops = suite.ops;
    both->node = both->ops->open(schema);
}

static void both_close(struct both *both)
{
    scripts_close(&both->scripts);
    both->ops->close(both->node);
    sim_text_fini(&both->lua);
    sim_text_fini(&both->sql);
}

/* @return whether both behaved the same, beginning with an empty node. */
static bool run_sequence(struct both *both, uint64_t number, bool is_quiet)
{
    both->random = sim_random_of(number, 0);
    both->over_ms = 0;
    both->n_ends = 0;
    both->counter = 0;
    both->version = 0;
    strcpy(both->marker, "m1");
    both->markers = 1;
    both->has_restarted = false;
    both->taken_from[0] = '\0';
    both->differs = false;
    scripts_reset(&both->scripts);
    both->ops->reset(both->node);
    set_time(both, EPOCH_US + below(both, 10000000));
    for (int i = 0; i <= BREAKER; i++) {
        renew(both, i);
    }
    for (int i = 0; i < STEPS && !both->differs; i++) {
        if (i == STEPS / 2 && both->may_restart > 0) {
            restart(both);
        }
        step(both, is_quiet);
    }
    return !both->differs;
}

static void add_file(struct sim_text *text, const char *path)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while ((n = fread(part, 1, sizeof(part), file)) > 0) {
        sim_text_add(text, part, n);
    }
    fclose(file);
}

static struct sim_text read_schema(void)
{
    struct sim_text text = {0};
    char pattern[500];
    glob_t parts; /* sorted by name, as the build joins them */
    if (suite.ops->plant != NULL) {
        return text; /* it has none */
    }
    snprintf(pattern, sizeof(pattern), "%s/*.sql", schema_folder);
    assert_int_equal(glob(pattern, 0, NULL, &parts), 0);
    for (size_t i = 0; i < parts.gl_pathc; i++) {
        add_file(&text, parts.gl_pathv[i]);
    }
    globfree(&parts);
    return text;
}

static void print_differences(void)
{
    for (const char *const *one = suite.may_differ; one != NULL && *one != NULL;
         one++) {
        print_message("# may differ: %s\n", *one);
    }
}

static void sql_does_as_the_scripts_do(void **state)
{
    struct both both;
    struct sim_text schema = read_schema();
    (void)state;
    print_differences();
    both_open(&both, schema.data, NULL);
    both.may_restart = both.ops->restart != NULL ? SERVER_RESTARTS : 0;
    for (uint64_t i = 0; i < suite.sequences; i++) {
        if (!run_sequence(&both, seed + i, false)) {
            fail_msg("they differ: differential %s %" PRIu64, schema_folder,
                     seed + i);
        }
    }
    print_message(
        "# seeds %" PRIu64 " on: %" PRIu64 " requests, %" PRIu64
        " granted, %" PRIu64 " queued, %" PRIu64 " pushes, %" PRIu64
        " breaks, together after %" PRIu64 ", %" PRIu64
        " renewed in a batch, %" PRIu64 " markers, %" PRIu64 " restarts\n",
        seed, both.asked, both.granted, both.queued, both.pushed, both.broken,
        both.together, both.batched, both.declared, both.restarted);
    assert_true(both.granted > both.asked / 10);
    assert_true(both.queued > both.asked / 20);
    if (both.ops->listen != NULL) {
        assert_true(both.pushed > both.asked / 200);
    }
    assert_true(both.together > both.asked / 50);
    if (both.ops->renew != NULL) {
        assert_true(both.batched > both.asked / 2000);
    }
    if (both.ops->restart != NULL) {
        assert_true(both.declared > both.asked / 200);
        assert_int_equal(both.may_restart, 0);
    }
    both_close(&both);
    sim_text_fini(&schema);
}

static const struct planted in_lua = {
    &hf_script_confirm, "a sharer stays no shorter", "if till < now + ms then",
    "if true then"};

static void find(const struct planted *lua, const char *schema,
                 const struct planted *rule)
{
    struct both both;
    uint64_t n = 0;
    both_open(&both, schema, lua);
    if (suite.ops->plant != NULL) {
        suite.ops->plant(rule);
    }
    while (n < PATIENCE && run_sequence(&both, seed + n, true)) {
        n++;
    }
    if (n == PATIENCE) {
        fail_msg("not seen to be missing: %s", rule->rule);
    }
    print_message("# after %" PRIu64 " requests: %s\n", both.asked, rule->rule);
    both_close(&both);
}

static void a_rule_that_is_missing_is_seen(void **state)
{
    const char *all = getenv("HF_TEST_ALL");
    bool is_all = all != NULL && all[0] != '\0';
    (void)state;
    for (int64_t i = 0; i < suite.n_rules; i++) {
        if (!is_all && (uint64_t)i % 3 != seed % 3) {
            continue;
        }
        struct sim_text schema = read_schema();
        const struct planted *rule = &suite.in_sql[i];
        if (suite.ops->plant == NULL &&
            !replace(&schema, rule->text, rule->instead)) {
            fail_msg("the schema has changed: update \"%s\"", rule->rule);
        }
        find(NULL, schema.data, rule);
        sim_text_fini(&schema);
    }
    struct sim_text schema = read_schema();
    find(&in_lua, schema.data, &in_lua);
    sim_text_fini(&schema);
}

static int suite_main(const struct suite *of, int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sql_does_as_the_scripts_do),
        cmocka_unit_test(a_rule_that_is_missing_is_seen),
    };
    suite = *of;
    hf_entropy(&seed, sizeof(seed));
    schema_folder = argc > 1 ? argv[1] : "";
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed % 1000000;
    if (argc > 3) {
        suite.sequences = strtoull(argv[3], NULL, 10);
    }
    return cmocka_run_group_tests_name(suite.name, tests, NULL, NULL);
}

#endif
