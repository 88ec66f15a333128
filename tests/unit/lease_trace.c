/* SPDX-License-Identifier: Apache-2.0 */
#include "lease_trace.h"

#include "nodes.h"

#include "core/lease_parts.h"
#include "core/validity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define LINE_MAX_LEN 256 /* bytes of a line, and of the actions of a step */
#define WORDS_MAX 12     /* of an event: an answer with each of its fields */

struct tracer {
    struct hf_nodes nodes;
    struct hf_lease *lease;
    struct hf_instant sent[HF_NODES_MAX][HF_VERB_SCAN + 1];
    struct hf_span ttl; /* from its last request */
    bool place_stays;
    struct hf_event event;
    struct hf_effects effects;
    char actions[LINE_MAX_LEN];
};

static struct hf_instant at_ms(long ms)
{
    return (struct hf_instant){(int64_t)ms * 1000000};
}

static void print_more(struct tracer *tracer, const char *format, ...)
{
    size_t len = strlen(tracer->actions);
    va_list args;
    va_start(args, format);
    vsnprintf(tracer->actions + len, LINE_MAX_LEN - len, format, args);
    va_end(args);
}

/* Begin an action: its word. */
static void print(struct tracer *tracer, const char *word)
{
    print_more(tracer, "%s%s", tracer->actions[0] == '\0' ? "" : ", ", word);
}

static const char *outcome_text(enum hf_outcome outcome)
{
    static const char *const texts[] = {
        [HF_OUT_NONE] = "",
        [HF_OUT_HELD] = "held",
        [HF_OUT_QUEUED] = "queued",
        [HF_OUT_TAKEN] = "taken",
        [HF_OUT_SPLIT] = "split",
        [HF_OUT_UNREACHED] = "unreached",
        [HF_OUT_TOO_SLOW] = "too-slow",
        [HF_OUT_EXTENDED] = "extended",
        [HF_OUT_UNEXTENDED] = "unextended",
        [HF_OUT_LOST] = "lost",
        [HF_OUT_RELEASED] = "released",
        [HF_OUT_UNKNOWN] = "unknown",
    };
    return texts[outcome];
}

/* A holder requests its own lease, a waiter that of its queue entry. A verb
 * without either gets one of these. */
static void check_ttl(const struct tracer *tracer, const struct hf_send *send)
{
    int64_t own_ns = tracer->ttl.ns;
    int64_t place_ns = hf_queue_lease(tracer->ttl, tracer->place_stays).ns;
    bool is_place = send->ticket != 0 || send->verb == HF_VERB_YIELD;
    if (send->verb == HF_VERB_RELEASE || send->verb == HF_VERB_CONFIRM) {
        assert_int_equal(send->queue.ns, 0);
        assert_int_equal(send->ticket, 0);
    }
    if (send->verb != HF_VERB_RELEASE) {
        assert_true(send->ttl.ns == place_ns ||
                    (send->ttl.ns == own_ns && !is_place));
        assert_true(send->ttl.ns == own_ns || !send->reacquires);
        assert_int_equal(hf_lease_ttl(tracer->lease).ns, own_ns);
    }
    if (send->queue.ns != 0) {
        assert_int_equal(send->queue.ns, place_ns);
    }
}

/* The words of a request. Two verbs have another one: for an ACQUIRE with a
 * place in the queue, and for a CONFIRM as holder. */
static const struct {
    enum hf_verb verb;
    const char *word, *other;
} verbs[] = {
    {HF_VERB_ACQUIRE, "acquire", "queue"},
    {HF_VERB_CONFIRM, "confirm", "renew"},
    {HF_VERB_RELEASE, "release", "release"},
    {HF_VERB_YIELD, "yield", "yield"},
};

static bool takes_place(const struct hf_send *send)
{
    return send->verb == HF_VERB_ACQUIRE && send->queue.ns > 0;
}

static const char *send_word(const struct hf_send *send)
{
    size_t i = 0;
    while (verbs[i].verb != send->verb) {
        i++;
        assert_true(i < sizeof(verbs) / sizeof(verbs[0]));
    }
    return takes_place(send) || send->reacquires ? verbs[i].other
                                                 : verbs[i].word;
}

/* The number that a request names: a ticket, or a counter. */
static uint64_t send_number(const struct hf_send *send)
{
    return takes_place(send) ? send->ticket : send->counter;
}

/* `follows`: the request before it, or NULL. The same to several nodes is one
 * action. */
static void print_send(struct tracer *tracer, const struct hf_send *send,
                       const struct hf_send *follows)
{
    uint64_t number = send_number(send);
    check_ttl(tracer, send);
    tracer->sent[send->node][send->verb] = tracer->event.now;
    if (follows == NULL || send_word(follows) != send_word(send) ||
        send_number(follows) != number) {
        print(tracer, send_word(send));
        if (number != 0 || send->verb != HF_VERB_ACQUIRE) {
            print_more(tracer, " %llu", (unsigned long long)number);
        }
        print_more(tracer, " at");
    }
    print_more(tracer, " %u", send->node);
}

static void print_state(struct tracer *tracer)
{
    enum hf_state state = hf_lease_state(tracer->lease);
    if (!tracer->effects.state_changed ||
        tracer->effects.outcome == HF_OUT_HELD) {
        return;
    }
    if (state == HF_STATE_AT_RISK) {
        print(tracer, "at-risk");
    } else if (state == HF_STATE_HELD) {
        print(tracer, "safe");
    }
}

static void print_effects(struct tracer *tracer)
{
    const struct hf_effects *effects = &tracer->effects;
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        if ((effects->missed & (1U << i)) != 0) {
            print(tracer, "late");
            print_more(tracer, " %u", i);
            nodes_miss(&tracer->nodes, i, tracer->event.now);
        }
    }
    if (effects->outcome != HF_OUT_NONE) {
        print(tracer, outcome_text(effects->outcome));
    }
    if (effects->outcome == HF_OUT_HELD) {
        print_more(tracer, " %llu",
                   (unsigned long long)hf_lease_fence(tracer->lease));
    }
    if (effects->outcome == HF_OUT_HELD ||
        effects->outcome == HF_OUT_EXTENDED) {
        print_more(tracer, " till %lld",
                   (long long)hf_lease_deadline(tracer->lease).ns / 1000000);
    }
    print_state(tracer);
    for (unsigned i = 0; i < effects->n_sends; i++) {
        print_send(tracer, &effects->sends[i],
                   i == 0 ? NULL : &effects->sends[i - 1]);
    }
    if (effects->done) {
        print(tracer, "done");
    }
}

/* ---- Reading a line ---------------------------------------------------- */

static bool is(const char *word, const char *text)
{
    return strcmp(word, text) == 0;
}

static enum hf_verb verb_of(const char *word)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (is(word, verbs[i].word) || is(word, verbs[i].other)) {
            return verbs[i].verb;
        }
    }
    fail_msg("a trace has no verb '%s'", word);
    return HF_VERB_ACQUIRE;
}

static const struct {
    const char *word;
    enum hf_verdict verdict;
    uint16_t poll_ms_max;
} verdicts[] = {
    {"ok", HF_VERDICT_OK, 0},           {"no", HF_VERDICT_REFUSED, 0},
    {"queued", HF_VERDICT_QUEUED, 0},   {"foreign", HF_VERDICT_QUEUED, 40},
    {"mortal", HF_VERDICT_QUEUED, 500}, {"unwatched", HF_VERDICT_QUEUED, 2000},
    {"unsent", HF_VERDICT_UNSENT, 0},   {"unknown", HF_VERDICT_UNKNOWN, 0},
    {"error", HF_VERDICT_ERROR, 0},
};

static void read_verdict(struct hf_event *event, const char *word)
{
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        if (is(word, verdicts[i].word)) {
            event->verdict = verdicts[i].verdict;
            event->poll_ms_max = verdicts[i].poll_ms_max;
            return;
        }
    }
    fail_msg("a trace has no verdict '%s'", word);
}

/* Of a field that an answer names; the others keep the values of a rival far
 * from its end. */
static void read_field(struct hf_event *event, const char *name,
                       const char *value)
{
    uint64_t number = strtoull(value, NULL, 10);
    if (is(name, "rival")) {
        event->rival = (uint32_t)number;
    } else if (is(name, "left")) {
        event->left = hf_span_ms_or_max(strtoll(value, NULL, 10));
    } else if (is(name, "time")) {
        event->ticket = number;
    } else if (is(name, "ahead")) {
        event->ahead = (uint32_t)number;
    } else if (is(name, "floor")) {
        event->floor = number;
    } else if (is(name, "bound")) {
        event->bound = number;
    } else {
        fail_msg("an answer of a trace has no '%s'", name);
    }
}

static void read_answer(struct tracer *tracer, unsigned node, char **words,
                        int n)
{
    struct hf_event *event = &tracer->event;
    event->node = (uint8_t)node;
    event->counter = n > 2 ? strtoull(words[n > 3 ? 3 : 2], NULL, 10) : 0;
    if (is(words[1], "grants")) {
        event->kind = HF_EV_GRANT;
        return;
    }
    event->kind = HF_EV_ANSWER;
    event->verb = verb_of(words[1]);
    event->sent = tracer->sent[node][event->verb];
    read_verdict(event, words[2]);
    if (event->verdict == HF_VERDICT_REFUSED ||
        event->verdict == HF_VERDICT_QUEUED) {
        event->rival = 99;
        event->left = hf_span_ms(20000);
    }
    if (event->verdict == HF_VERDICT_QUEUED) {
        event->ticket = 500;
    }
    for (int i = 4; i < n; i += 2) {
        if (is(words[i], "behind")) {
            event->ahead = 1;
            break;
        }
        assert_true(i + 1 < n);
        read_field(event, words[i], words[i + 1]);
    }
    if (event->verdict <= HF_VERDICT_QUEUED) {
        nodes_reply(&tracer->nodes, node, hf_span_us(1));
    }
}

static enum hf_node_status status_of(const char *word)
{
    if (is(word, "voting")) {
        return HF_NODE_STATUS_VOTING;
    }
    if (is(word, "repairing")) {
        return HF_NODE_STATUS_REPAIRING;
    }
    return is(word, "connecting") ? HF_NODE_STATUS_CONNECTING
                                  : HF_NODE_STATUS_DOWN;
}

static const struct event_word {
    const char *word;
    enum hf_event_kind kind;
    bool names_node;          /* else a counter, a hint or a ttl follows */
    bool queues, place_stays; /* of an ACQUIRE */
} event_words[] = {
    {"acquire", HF_EV_ACQUIRE, false, false, false},
    {"queue", HF_EV_ACQUIRE, false, true, false},
    {"stay", HF_EV_ACQUIRE, false, true, true},
    {"adopt", HF_EV_ADOPT, false, false, false},
    {"extend", HF_EV_EXTEND, false, false, false},
    {"release", HF_EV_RELEASE, false, false, false},
    {"release-foreign", HF_EV_RELEASE_FOREIGN, false, false, false},
    {"detach", HF_EV_DETACH, false, false, false},
    {"timer", HF_EV_TIMER, false, false, false},
    {"overdue", HF_EV_TIMER, false, false, false},
    {"node", HF_EV_NODE, true, false, false},
    {"reset", HF_EV_NODE_RESET, true, false, false},
    {"doubt", HF_EV_DOUBT, true, false, false},
    {"listen", HF_EV_LISTEN, true, false, false},
    {"unlisten", HF_EV_LISTEN, true, false, false},
};

static const struct event_word *find_event(const char *word)
{
    for (size_t i = 0; i < sizeof(event_words) / sizeof(event_words[0]); i++) {
        if (is(word, event_words[i].word)) {
            return &event_words[i];
        }
    }
    fail_msg("a trace has no event '%s'", word);
    return NULL;
}

static void read_event(struct tracer *tracer, char **words, int n)
{
    const struct event_word *found = find_event(words[0]);
    struct hf_event *event = &tracer->event;
    uint64_t number = n > 1 ? strtoull(words[1], NULL, 10) : 0;
    event->kind = found->kind;
    event->queues = found->queues;
    event->place_stays = found->place_stays;
    tracer->place_stays |= found->place_stays;
    if (found->names_node) {
        event->node = (uint8_t)number;
    } else {
        event->counter = number;
        event->ttl = hf_span_ms((int64_t)number);
    }
    if (event->kind == HF_EV_EXTEND && number != 0) {
        tracer->ttl = event->ttl;
    }
    if (event->kind == HF_EV_NODE) {
        nodes_set(&tracer->nodes, event->node, status_of(words[2]));
    }
    if (event->kind == HF_EV_LISTEN) {
        nodes_listen(&tracer->nodes, event->node, is(words[0], "listen"));
    }
    if (event->kind == HF_EV_RELEASE_FOREIGN && n > 2) {
        event->spared = (uint16_t)(1U << strtoul(words[2], NULL, 10));
    }
}

/* A timer comes when it is due, and none is due before; unless it is overdue.
 */
static void check_timer(const struct tracer *tracer, const char *word,
                        const char *line)
{
    int64_t wake_ns = hf_lease_wake(tracer->lease).ns;
    int64_t early_ns = wake_ns - tracer->event.now.ns;
    if (tracer->event.kind != HF_EV_TIMER) {
        return;
    }
    bool is_late = early_ns <= -at_ms(1).ns;
    if (early_ns > 0 || is_late != is(word, "overdue")) {
        fail_msg("%s\n  but the timer is due at %lld ns", line,
                 (long long)wake_ns);
    }
}

static void check_granted(const struct tracer *tracer, const char *line,
                          char **words)
{
    uint64_t counter =
        hf_lease_granted(tracer->lease, (unsigned)atoi(words[1]));
    if (counter != strtoull(words[2], NULL, 10)) {
        fail_msg("%s\n  but it is %llu", line, (unsigned long long)counter);
    }
}

/* A line that is no event; @return false if it is one. */
static bool run_claim(struct tracer *tracer, const char *line, char **words,
                      int n)
{
    unsigned node = n > 1 ? (unsigned)atoi(words[1]) : 0;
    if (is(words[0], "slow")) {
        tracer->nodes.misses[node] = HF_NODE_MISSES_MAX;
    } else if (is(words[0], "up")) {
        nodes_set(&tracer->nodes, node, HF_NODE_STATUS_VOTING);
    } else if (is(words[0], "spread") || is(words[0], "sparse")) {
        bool is_spread = hf_lease_is_spread(tracer->lease, &tracer->nodes);
        if (is_spread != is(words[0], "spread")) {
            fail_msg("%s\n  but it is not", line);
        }
    } else if (is(words[0], "granted")) {
        assert_true(n == 3);
        check_granted(tracer, line, words);
    } else {
        return false;
    }
    return true;
}

static void check_step(const struct tracer *tracer, const char *line,
                       const char *expected)
{
    if (!is(tracer->actions, expected)) {
        fail_msg("%s\n  but the actions are: %s", line, tracer->actions);
    }
    bool is_held = tracer->lease->phase == HF_PHASE_HOLDING;
    if (is_held == (hf_lease_state(tracer->lease) == HF_STATE_RELEASED)) {
        fail_msg("%s\n  and its state does not fit its phase", line);
    }
    if (tracer->event.kind == HF_EV_TIMER && !tracer->effects.done &&
        !hf_instant_before(tracer->event.now, hf_lease_wake(tracer->lease))) {
        fail_msg("%s\n  and the timer is due at once again", line);
    }
}

static int split_words(char *text, char **words)
{
    int n = 0;
    char *save = NULL;
    for (char *word = strtok_r(text, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        assert_true(n < WORDS_MAX);
        words[n++] = word;
    }
    assert_true(n > 0);
    return n;
}

static void run_line(struct tracer *tracer, const char *line)
{
    char copy[LINE_MAX_LEN];
    char *words[WORDS_MAX] = {0};
    snprintf(copy, sizeof(copy), "%s", line);
    char *bar = strchr(copy, '|');
    char *close = strchr(copy, ']');
    assert_non_null(bar);
    assert_non_null(close);
    *bar = '\0';
    int n = split_words(close + 1, words);
    if (run_claim(tracer, line, words, n)) {
        return;
    }
    memset(&tracer->event, 0, sizeof(tracer->event));
    tracer->event.now = at_ms(strtol(copy + 1, NULL, 10));
    if (words[0][0] >= '0' && words[0][0] <= '9') {
        read_answer(tracer, (unsigned)atoi(words[0]), words, n);
    } else {
        read_event(tracer, words, n);
    }
    check_timer(tracer, words[0], line);
    tracer->actions[0] = '\0';
    hf_lease_step(tracer->lease, &tracer->nodes, &tracer->event,
                  &tracer->effects);
    assert_false(
        hf_instant_before(tracer->event.now, hf_lease_round_at(tracer->lease)));
    print_effects(tracer);
    check_step(tracer, line, bar + 1 + strspn(bar + 1, " "));
}

/* The votes end where memory does, so that a lease that reads or writes the
 * vote after the last one is killed. All bytes are nonzero, so that a field
 * that is never set shows. */
static struct hf_lease *map_lease(unsigned n_nodes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = hf_lease_size(n_nodes);
    assert_true(size <= page);
    unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    memset(pages, 0xa5, page);
    return (struct hf_lease *)(void *)(pages + page - size);
}

static void unmap_lease(struct hf_lease *lease, unsigned n_nodes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *end = (unsigned char *)lease + hf_lease_size(n_nodes);
    assert_int_equal(munmap(end - page, 2 * page), 0);
}

int64_t trace_wake(unsigned n_nodes, int ttl_ms, uint8_t jitter,
                   const char *text)
{
    struct tracer tracer;
    memset(&tracer, 0, sizeof(tracer));
    hf_nodes_init(&tracer.nodes, n_nodes, hf_span_ms(50), hf_span_ms(1000));
    for (unsigned i = 0; i < n_nodes; i++) {
        nodes_set(&tracer.nodes, i, HF_NODE_STATUS_VOTING);
        nodes_listen(&tracer.nodes, i, true);
    }
    tracer.ttl = hf_span_ms(ttl_ms);
    tracer.lease = map_lease(n_nodes);
    hf_lease_init(tracer.lease, n_nodes, tracer.ttl, jitter);
    while (*text != '\0') {
        char line[LINE_MAX_LEN];
        size_t len = strcspn(text, "\n");
        assert_true(len < sizeof(line));
        memcpy(line, text, len);
        line[len] = '\0';
        text += len + (text[len] == '\n');
        run_line(&tracer, line);
    }
    int64_t wake_ns = hf_lease_wake(tracer.lease).ns;
    unmap_lease(tracer.lease, n_nodes);
    return wake_ns;
}

void trace(unsigned n_nodes, int ttl_ms, const char *text)
{
    trace_wake(n_nodes, ttl_ms, 0, text);
}
