/* SPDX-License-Identifier: Apache-2.0 */
/* library: hf_sim_redis */
/* The node of the small world (world_node.c) against the shipped scripts, in
 * the simulated server that conformance/sim_redis compares with a real one.
 * Both get the same random requests. Each reply, each push and, after each
 * request, the holders and the waiters must be the same. Then one rule at a
 * time is removed from a script: each time a difference must be found.
 *
 *     test_world_node [SEED]
 *
 * Both use one clock. It may go back, but never so far that an expired entry is
 * live again: the world drops expired entries at once, and a server may keep
 * them. */
#include "world_scripts.h"

#include "story/random.h"

#include "io/clock.h"

#define PARTIES 6     /* that contend: enough for sharers, and waiters behind */
#define SEQUENCES 150 /* that must not differ: three times the rarest rule */
#define PATIENCE 4000 /* the rarest difference takes about 50 sequences */
#define STEPS 400     /* requests of a sequence, from an empty node on */

/* An attempt: an owner, exclusive or shared. */
struct party {
    uint32_t owner;
    bool is_shared;
    uint64_t own; /* by its last request */
};

struct both {
    struct sim_random random;
    struct scripts scripts;
    struct node node;
    struct pushes by_node;
    bool hears[PARTIES];
    struct party parties[PARTIES];
    uint32_t owners;
    int64_t wall_us;
    int64_t over_ms; /* the latest expiry in the past */
    uint64_t asked;  /* number of requests */
    uint64_t granted, queued, pushed, together;
    char why[600]; /* empty: no difference so far */
};

static int64_t below(struct both *both, int64_t n)
{
    return sim_draw_below(&both->random, n);
}

static bool chance(struct both *both, int percent)
{
    return below(both, 100) < percent;
}

/* ---- Pushes -------------------------------------------------------------- */

static bool push(void *user, uint32_t owner, uint64_t counter)
{
    struct both *both = user;
    for (int i = 0; i < PARTIES; i++) {
        if (both->parties[i].owner == owner && both->hears[i]) {
            note_push(&both->by_node, owner, counter);
            return true;
        }
    }
    return false;
}

static void set_ears(struct both *both, int i, bool hears)
{
    if (both->hears[i] != hears) {
        both->hears[i] = hears;
        scripts_subscribe(&both->scripts, both->parties[i].owner, hears);
    }
}

/* ---- Comparing ----------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
differ(struct both *both, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (both->why[0] == '\0') {
        vsnprintf(both->why, sizeof(both->why), format, args);
    }
    va_end(args);
}

static void print_answer(char text[200], const struct hf_event *answer)
{
    snprintf(text, 200,
             "verdict %d c %" PRIu64 " floor %" PRIu64 " bound %" PRIu64
             " rival %u left %" PRId64 " ahead %u ticket %" PRIu64,
             answer->verdict, answer->counter, answer->floor, answer->bound,
             answer->rival, hf_span_ms_floor(answer->left), answer->ahead,
             answer->ticket);
}

/* A grant or a confirmation does not report rivals and tickets. */
static void compare_answers(struct both *both, struct hf_event ours,
                            struct hf_event real)
{
    char left[200], right[200];
    if (ours.verdict == HF_VERDICT_OK) {
        ours.rival = 0;
        ours.ticket = 0;
        ours.left.ns = 0;
    }
    print_answer(left, &ours);
    print_answer(right, &real);
    if (strcmp(left, right) != 0) {
        differ(both, "world: %s\n#   redis: %s", left, right);
    }
}

static void compare_pushes(struct both *both)
{
    const struct pushes *ours = &both->by_node;
    const struct pushes *real = &both->scripts.pushes;
    if (ours->n != real->n) {
        differ(both, "world pushes %u times, redis %u", ours->n, real->n);
    }
    for (unsigned i = 0; i < ours->n && both->why[0] == '\0'; i++) {
        if (ours->of[i].owner != real->of[i].owner ||
            ours->of[i].counter != real->of[i].counter) {
            differ(both, "world pushes %u %" PRIu64 ", redis %u %" PRIu64,
                   ours->of[i].owner, ours->of[i].counter, real->of[i].owner,
                   real->of[i].counter);
        }
    }
}

static int64_t left_ms(const struct both *both, struct hf_instant end)
{
    return hf_span_ms_floor(hf_instant_until(both->node.now, end));
}

/* Sharers by their owners, then waiters in order. */
static void print_node(const struct both *both, struct sim_text *text)
{
    const struct node *node = &both->node;
    for (uint32_t owner = 1; owner <= both->owners; owner++) {
        for (unsigned i = 0; i < node->n_sharers; i++) {
            const struct node_sharer *one = &node->sharers[i];
            if (one->owner == owner) {
                sim_text_print(text, ", %u by %" PRIu64 " for %" PRId64, owner,
                               one->counter, left_ms(both, one->end));
            }
        }
    }
    for (unsigned i = 0; i < node->n_waiters; i++) {
        const struct node_waiter *one = &node->waiters[i];
        if (hf_instant_before(node->now, one->end)) {
            sim_text_print(text, ", %u %s at %" PRIu64 " for %" PRId64,
                           one->owner, one->is_shared ? "s0" : "x", one->ticket,
                           left_ms(both, one->end));
        }
    }
}

static uint64_t vote_of(const struct both *both, uint32_t owner)
{
    static const char key[] = "hf:{lock:a}:votes";
    char field[16];
    size_t len;
    int n = snprintf(field, sizeof(field), "%08u", owner);
    const char *v = sim_redis_field(both->scripts.redis, key, sizeof(key) - 1,
                                    field, (size_t)n, &len);
    return v == NULL ? 0 : strtoull(v, NULL, 10);
}

static void print_queue(const struct both *both, struct sim_text *text)
{
    const struct hf_reply *reply = &both->scripts.reply;
    for (uint32_t owner = 1; owner <= both->owners; owner++) {
        for (size_t i = 12; i + 3 < reply->n; i += 4) {
            if (hf_reply_integer(reply, i + 2) == 0 &&
                owner_of(hf_reply_text(reply, i)) == owner) {
                sim_text_print(text, ", %u by %" PRIu64 " for %" PRId64, owner,
                               vote_of(both, owner),
                               hf_reply_integer(reply, i + 1));
            }
        }
    }
    for (size_t i = 12; i + 3 < reply->n; i += 4) {
        if (hf_reply_integer(reply, i + 2) != 0) {
            sim_text_print(
                text, ", %u %s at %" PRId64 " for %" PRId64,
                owner_of(hf_reply_text(reply, i)), hf_reply_text(reply, i + 3),
                hf_reply_integer(reply, i + 2), hf_reply_integer(reply, i + 1));
        }
    }
}

/* The last owner of the counter; the world does not store that of a group. */
static uint32_t last_of(const struct both *both)
{
    static const char key[] = "hf:{lock:a}:fence";
    size_t len;
    const char *fence =
        sim_redis_get(both->scripts.redis, key, sizeof(key) - 1, &len);
    uint32_t last = fence != NULL && len > 17 ? owner_of(fence + 17) : 0;
    return last == UINT32_MAX ? 0 : last;
}

static void compare_states(struct both *both)
{
    struct sim_text ours = {0}, real = {0};
    const struct node *node = &both->node;
    scripts_ask_queue(&both->scripts);
    int64_t left = hf_reply_integer(&both->scripts.reply, 3);
    uint32_t owner =
        left == -2 ? 0 : owner_of(hf_reply_text(&both->scripts.reply, 4));
    sim_text_print(&ours, "c %" PRIu64 " owner %u last %u", node->counter,
                   node->owner, node->last);
    sim_text_print(&real, "c %" PRIu64 " owner %u last %u",
                   (uint64_t)hf_reply_integer(&both->scripts.reply, 2),
                   owner == UINT32_MAX ? 0 : owner, last_of(both));
    if (node->owner != 0) {
        sim_text_print(&ours, " for %" PRId64, left_ms(both, node->expiry));
        sim_text_print(&real, " for %" PRId64, left);
    }
    print_node(both, &ours);
    print_queue(both, &real);
    if (strcmp(ours.data, real.data) != 0) {
        differ(both, "world: %s\n#   redis: %s", ours.data, real.data);
    }
    sim_text_fini(&ours);
    sim_text_fini(&real);
}

/* ---- Requests ------------------------------------------------------------ */

static void renew(struct both *both, int i)
{
    set_ears(both, i, false);
    both->parties[i] =
        (struct party){.owner = ++both->owners, .is_shared = chance(both, 60)};
    set_ears(both, i, chance(both, 85));
}

/* A counter near the present ones, near the clock, or out of bounds. */
static uint64_t any_counter(struct both *both, const struct party *party)
{
    uint64_t c = both->node.counter;
    uint64_t us = (uint64_t)both->wall_us;
    uint64_t floor = us - us % FLOOR_STEP_US;
    uint64_t other = both->parties[below(both, PARTIES)].own;
    const uint64_t choices[] = {party->own,
                                party->own,
                                party->own,
                                c,
                                c + 1,
                                c + (uint64_t)below(both, 5000),
                                other,
                                c > 0 ? c - 1 : 0,
                                floor,
                                floor - FLOOR_STEP_US,
                                us,
                                us + HF_FENCE_AHEAD_MAX,
                                us + 5000000000};
    int64_t n = chance(both, 90) ? COUNT(choices) - 2 : COUNT(choices);
    uint64_t counter = choices[below(both, n)];
    return counter == 0 ? 1 : counter;
}

static uint64_t any_ticket(struct both *both)
{
    uint64_t second = (uint64_t)(both->wall_us - both->wall_us % 1000000);
    return chance(both, 40) ? 0
           : chance(both, 50)
               ? second
               : (uint64_t)(both->wall_us - below(both, 3000000));
}

static struct node_ask any_ask(struct both *both, const struct party *party)
{
    static const enum hf_verb verbs[] = {
        HF_VERB_ACQUIRE, HF_VERB_ACQUIRE, HF_VERB_ACQUIRE,
        HF_VERB_ACQUIRE, HF_VERB_CONFIRM, HF_VERB_CONFIRM,
        HF_VERB_RELEASE, HF_VERB_RELEASE, HF_VERB_YIELD};
    static const int64_t spans_ms[] = {1, 2, 20, 50, 300, 1000, 5000, 30000};
    struct node_ask ask = {
        .owner = party->owner,
        .verb = verbs[below(both, COUNT(verbs))],
        .is_shared = party->is_shared,
        .ttl = hf_span_ms(spans_ms[below(both, COUNT(spans_ms))]),
    };
    bool asks = ask.verb == HF_VERB_ACQUIRE || ask.verb == HF_VERB_YIELD;
    ask.reacquires = ask.verb == HF_VERB_CONFIRM && chance(both, 60);
    if (asks && chance(both, 75)) {
        ask.queue = hf_span_ms(spans_ms[2 + below(both, COUNT(spans_ms) - 2)]);
    }
    ask.ticket = asks ? any_ticket(both) : 0;
    ask.counter = ask.verb == HF_VERB_ACQUIRE && chance(both, 75)
                      ? 0
                      : any_counter(both, party);
    return ask;
}

static void note_end(struct both *both, struct hf_instant end, int64_t to_ms)
{
    int64_t ms = end.ns / 1000000;
    if (ms <= to_ms && ms > both->over_ms) {
        both->over_ms = ms;
    }
}

/* Note the entries that expire up to @p to_ms. */
static void note_ends(struct both *both, int64_t to_ms)
{
    const struct node *node = &both->node;
    if (node->owner != 0) {
        note_end(both, node->expiry, to_ms);
    }
    for (unsigned i = 0; i < node->n_sharers; i++) {
        note_end(both, node->sharers[i].end, to_ms);
    }
    for (unsigned i = 0; i < node->n_waiters; i++) {
        note_end(both, node->waiters[i].end, to_ms);
    }
}

/* Often exactly to the millisecond in which an entry expires. */
static int64_t any_time(struct both *both)
{
    static const int64_t steps_us[] = {0,     0,     0,      900,    1000,
                                       20000, 20000, 300000, 6000000};
    const struct node *node = &both->node;
    int64_t us = both->wall_us;
    if (chance(both, 5)) {
        us -= below(both, 2000000);
    } else {
        us += below(both, steps_us[below(both, COUNT(steps_us))] + 1);
    }
    struct hf_instant end = node->owner != 0 ? node->expiry : HF_LONG_AGO;
    if (node->n_sharers > 0 && chance(both, 80)) {
        end = node->sharers[below(both, node->n_sharers)].end;
    } else if (node->n_waiters > 0 && chance(both, 60)) {
        end = node->waiters[below(both, node->n_waiters)].end;
    }
    if (chance(both, 25) && end.ns / 1000 > both->wall_us) {
        us = end.ns / 1000 + below(both, 1000);
    }
    int64_t least_us = (both->over_ms + 1) * 1000;
    return us < both->wall_us && us < least_us ? both->wall_us : us;
}

static void set_time(struct both *both, int64_t wall_us)
{
    note_ends(both, wall_us / 1000);
    both->wall_us = wall_us;
    scripts_set_time(&both->scripts, wall_us);
    both->node.time_us = (uint64_t)wall_us;
    both->node.now = (struct hf_instant){wall_us / 1000 * 1000000};
}

static void explain(struct both *both, const struct node_ask *ask)
{
    static const char *const verbs[] = {
        [HF_VERB_ACQUIRE] = "ACQUIRE",
        [HF_VERB_CONFIRM] = "CONFIRM",
        [HF_VERB_RELEASE] = "RELEASE",
        [HF_VERB_YIELD] = "YIELD",
    };
    if (both->why[0] != '\0' && both->scripts.planted == NULL) {
        printf("# request %" PRIu64 " at %" PRId64
               " us: %u %s %s%s ttl %" PRId64 " counter %" PRIu64
               " place %" PRId64 " ticket %" PRIu64 "\n#   %s\n",
               both->asked, both->wall_us, ask->owner, verbs[ask->verb],
               ask->is_shared ? "shared" : "alone",
               ask->reacquires ? " reacquires" : "", hf_span_ms_floor(ask->ttl),
               ask->counter, hf_span_ms_floor(ask->queue), ask->ticket,
               both->why);
    }
}

static void step(struct both *both)
{
    int i = (int)below(both, PARTIES);
    struct party *party = &both->parties[i];
    struct hf_event ours = {0};
    if (chance(both, 5)) {
        renew(both, i);
    } else if (chance(both, 5)) {
        set_ears(both, i, !both->hears[i]);
    }
    set_time(both, any_time(both));
    struct node_ask ask = any_ask(both, party);
    both->by_node.n = 0;
    node_expire(&both->node);
    node_execute(&both->node, &ask, &ours);
    struct hf_event real = scripts_ask(&both->scripts, &ask);
    compare_answers(both, ours, real);
    compare_pushes(both);
    compare_states(both);
    explain(both, &ask);
    both->asked++;
    both->queued += ours.verdict == HF_VERDICT_QUEUED;
    both->pushed += both->by_node.n;
    both->together += both->node.n_sharers > 1;
    if (ours.verdict == HF_VERDICT_OK && ask.verb != HF_VERB_RELEASE) {
        party->own = ours.counter;
        both->granted++;
    }
    for (unsigned n = 0; n < both->by_node.n; n++) {
        for (int j = 0; j < PARTIES; j++) {
            if (both->parties[j].owner == both->by_node.of[n].owner) {
                both->parties[j].own = both->by_node.of[n].counter;
            }
        }
    }
}

/* ---- Runs ---------------------------------------------------------------- */

static void both_open(struct both *both, const struct planted *planted)
{
    memset(both, 0, sizeof(*both));
    scripts_open(&both->scripts, planted);
}

/* @return whether both behaved the same, beginning with an empty server. */
static bool run_sequence(struct both *both, uint64_t seed)
{
    both->random = sim_random_of(seed, 0);
    both->node = (struct node){.push = push, .user = both};
    both->over_ms = 0;
    both->why[0] = '\0';
    scripts_reset(&both->scripts);
    set_time(both, EPOCH_US + below(both, 10000000));
    for (int i = 0; i < PARTIES; i++) {
        renew(both, i);
    }
    for (int i = 0; i < STEPS && both->why[0] == '\0'; i++) {
        step(both);
    }
    return both->why[0] == '\0';
}

static uint64_t seed;

static void the_world_does_as_the_scripts_do(void **state)
{
    struct both both;
    (void)state;
    both_open(&both, NULL);
    for (uint64_t i = 0; i < SEQUENCES; i++) {
        if (!run_sequence(&both, seed + i)) {
            fail_msg("they differ: test_world_node %" PRIu64, seed + i);
        }
    }
    print_message("# seeds %" PRIu64 " on: %" PRIu64 " requests, %" PRIu64
                  " granted, %" PRIu64 " queued, %" PRIu64
                  " pushes, together after %" PRIu64 "\n",
                  seed, both.asked, both.granted, both.queued, both.pushed,
                  both.together);
    assert_true(both.granted > both.asked / 10);
    assert_true(both.queued > both.asked / 20);
    assert_true(both.pushed > both.asked / 100);
    assert_true(both.together > both.asked / 50);
    scripts_close(&both.scripts);
}

static const struct planted planted[] = {
    {&hf_script_acquire, "every grant moves the counter",
     "math.max(c + 1, hint,", "math.max(c, hint,"},
    {&hf_script_acquire, "a hint beyond the bound is ignored",
     "(hint > math.max(c, us) + AHEAD_MAX", "(false"},
    {&hf_script_acquire, "no grant below the floor",
     ", hint, us - us % FLOOR_STEP)", ", hint)"},
    {&hf_script_acquire, "a request that is repeated refreshes the expiry",
     "elseif left < ttl then", "elseif false then"},
    {&hf_script_acquire, "no lease becomes shorter", "elseif left < ttl then",
     "else"},
    {&hf_script_acquire, "a try does not overtake waiters",
     "(first and first.who ~= me)", "false"},
    {&hf_script_acquire, "YIELD names the grant that it gives back",
     "mine() == given then", "mine() then"},
    {&hf_script_acquire, "sharers keep writers out", "mode == 's' .. terms)",
     "true)"},
    {&hf_script_acquire, "a dead waiter is passed over",
     "tonumber(till) > now then", "true then"},
    {&hf_script_acquire, "a place keeps its ticket", "'ZADD', KEYS[3], 'NX',",
     "'ZADD', KEYS[3],"},
    {&hf_script_acquire, "neighbours come in together", "serve(nil, 0, 0)",
     "local _ = 0"},
    {&hf_script_confirm, "the actual counter is answered, not T",
     "return {1, v, redis.call('PTTL', KEYS[1]), owner, floor}", "return T"},
    {&hf_script_confirm, "an attempt takes nothing",
     "ARGV[6] == '1' and admits", "admits"},
    {&hf_script_confirm, "only the last owner takes back the same counter",
     "string.sub(fence, 18) == me", "true"},
    {&hf_script_confirm, "no raise below the floor",
     "T >= us - us % FLOOR_STEP and", "true and"},
    {&hf_script_confirm, "no raise beyond the bound",
     "c < T and T >= us - us % FLOOR_STEP and T <= most",
     "c < T and T >= us - us % FLOOR_STEP"},
    {&hf_script_confirm, "a sharer is judged by its own counter",
     "if v < T and T >= floor", "if c < T and T >= floor"},
    {&hf_script_confirm, "a sharer stays no shorter", "if till < now + ms then",
     "if true then"},
    {&hf_script_release, "only the owner releases", "is_mine = owner == me",
     "is_mine = owner"},
    {&hf_script_release, "a release forgets the last owner", "if is_last then",
     "if false then"},
    {&hf_script_release, "a free name is aligned to T",
     "T > c and (is_mine or not owner) and", "false and"},
    {&hf_script_release, "T is not aligned while others share",
     "(is_mine or not owner) and", "true and"},
    {&hf_script_release, "a group ends with its last live sharer",
     "'(' .. now, '+inf'", "now, '+inf'"},
    {&hf_script_release, "a place is live before its end",
     "tonumber(till) > math.floor", "tonumber(till) >= math.floor"},
};

static void a_rule_that_is_missing_is_seen(void **state)
{
    (void)state;
    for (int64_t i = 0; i < COUNT(planted); i++) {
        struct both both;
        uint64_t n = 0;
        both_open(&both, &planted[i]);
        while (n < PATIENCE && run_sequence(&both, seed + n)) {
            n++;
        }
        if (n == PATIENCE) {
            fail_msg("not seen to be missing: %s", planted[i].rule);
        }
        print_message("# after %" PRIu64 " requests: %s\n", both.asked,
                      planted[i].rule);
        scripts_close(&both.scripts);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_world_does_as_the_scripts_do),
        cmocka_unit_test(a_rule_that_is_missing_is_seen),
    };
    hf_entropy(&seed, sizeof(seed));
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed % 1000000;
    return cmocka_run_group_tests_name("world_node", tests, NULL, NULL);
}
