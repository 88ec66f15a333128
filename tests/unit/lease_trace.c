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

static void print(struct tracer *tracer, const char *format, ...)
{
    size_t len = strlen(tracer->actions);
    va_list args;
    if (len > 0 && len + 1 < LINE_MAX_LEN) {
        tracer->actions[len++] = ' ';
    }
    va_start(args, format);
    vsnprintf(tracer->actions + len, LINE_MAX_LEN - len, format, args);
    va_end(args);
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
        assert_true(send->ttl.ns == own_ns || !send->holder);
    }
    if (send->queue.ns != 0) {
        assert_int_equal(send->queue.ns, place_ns);
    }
}

static void print_send(struct tracer *tracer, const struct hf_send *send)
{
    static const char letters[] = "ACRY";
    check_ttl(tracer, send);
    tracer->sent[send->node][send->verb] = tracer->event.now;
    if (send->verb == HF_VERB_ACQUIRE && send->queue.ns > 0) {
        print(tracer, send->ticket == 0 ? "%uQ" : "%uQ%llu", send->node,
              (unsigned long long)send->ticket);
        return;
    }
    if (send->verb == HF_VERB_ACQUIRE && send->counter == 0) {
        print(tracer, "%uA", send->node);
        return;
    }
    print(tracer, "%u%c%llu%s", send->node, letters[send->verb],
          (unsigned long long)send->counter, send->holder ? "h" : "");
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
            print(tracer, "late %u", i);
            nodes_miss(&tracer->nodes, i, tracer->event.now);
        }
    }
    if (effects->outcome == HF_OUT_HELD) {
        print(tracer, "held %llu till %lld",
              (unsigned long long)hf_lease_fence(tracer->lease),
              (long long)(hf_lease_deadline(tracer->lease).ns / 1000000));
    } else if (effects->outcome == HF_OUT_EXTENDED) {
        print(tracer, "extended till %lld",
              (long long)(hf_lease_deadline(tracer->lease).ns / 1000000));
    } else if (effects->outcome != HF_OUT_NONE) {
        print(tracer, "%s", outcome_text(effects->outcome));
    }
    print_state(tracer);
    for (unsigned i = 0; i < effects->n_sends; i++) {
        print_send(tracer, &effects->sends[i]);
    }
    if (effects->done) {
        print(tracer, "done");
    }
}

/* ---- Reading a line ---------------------------------------------------- */

static enum hf_verb verb_of(char letter)
{
    switch (letter) {
    case 'A':
    case 'Q':
        return HF_VERB_ACQUIRE;
    case 'C':
        return HF_VERB_CONFIRM;
    case 'Y':
        return HF_VERB_YIELD;
    default:
        return HF_VERB_RELEASE;
    }
}

static void read_grant(struct tracer *tracer, unsigned node,
                       const char *counter)
{
    tracer->event.kind = HF_EV_GRANT;
    tracer->event.node = (uint8_t)node;
    tracer->event.counter = strtoull(counter, NULL, 10);
}

static void read_answer(struct tracer *tracer, unsigned node, char **words,
                        int n)
{
    struct hf_event *event = &tracer->event;
    const char *verdict = words[2];
    if (strcmp(words[1], "grants") == 0) {
        read_grant(tracer, node, verdict);
        return;
    }
    event->kind = HF_EV_ANSWER;
    event->node = (uint8_t)node;
    event->verb = verb_of(words[1][0]);
    event->sent = tracer->sent[node][event->verb];
    event->counter = n > 3 ? strtoull(words[3], NULL, 10) : 0;
    event->rival = 99;
    if (strcmp(verdict, "ok") == 0) {
        event->verdict = HF_VERDICT_OK;
        event->ahead = n > 4 && strcmp(words[4], "behind") == 0;
        bool is_bound = n > 5 && strcmp(words[4], "bound") == 0;
        event->bound = is_bound ? strtoull(words[5], NULL, 10) : 0;
        event->floor = n > 4 && event->ahead == 0 && !is_bound
                           ? strtoull(words[4], NULL, 10)
                           : 0;
    } else if (strcmp(verdict, "no") == 0) {
        event->verdict = HF_VERDICT_REFUSED;
        event->rival = n > 4 ? (uint32_t)atoi(words[4]) : 99;
        event->left = hf_span_ms(n > 5 ? atoi(words[5]) : 1000);
        event->ticket = n > 6 ? strtoull(words[6], NULL, 10) : 0;
    } else if (strcmp(verdict, "queued") == 0 ||
               strcmp(verdict, "foreign") == 0 ||
               strcmp(verdict, "unwatched") == 0 ||
               strcmp(verdict, "mortal") == 0) {
        event->verdict = HF_VERDICT_QUEUED;
        event->poll_ms_max = strcmp(verdict, "foreign") == 0     ? 40
                             : strcmp(verdict, "mortal") == 0    ? 500
                             : strcmp(verdict, "unwatched") == 0 ? 2000
                                                                 : 0;
        event->ahead = n > 4 ? (uint32_t)atoi(words[4]) : 0;
        event->left = hf_span_ms(n > 5 ? atoi(words[5]) : 20000);
        event->ticket = 500;
    } else if (strcmp(verdict, "unsent") == 0) {
        event->verdict = HF_VERDICT_UNSENT;
    } else if (strcmp(verdict, "unknown") == 0) {
        event->verdict = HF_VERDICT_UNKNOWN;
    } else {
        assert_string_equal(verdict, "error");
        event->verdict = HF_VERDICT_ERROR;
    }
    if (event->verdict <= HF_VERDICT_QUEUED) {
        nodes_reply(&tracer->nodes, node, hf_span_us(1));
    }
}

static enum hf_node_status status_of(const char *word)
{
    if (strcmp(word, "voting") == 0) {
        return HF_NODE_STATUS_VOTING;
    }
    if (strcmp(word, "repairing") == 0) {
        return HF_NODE_STATUS_REPAIRING;
    }
    return strcmp(word, "connecting") == 0 ? HF_NODE_STATUS_CONNECTING
                                           : HF_NODE_STATUS_DOWN;
}

static void read_listen(struct tracer *tracer, const char *word, unsigned node)
{
    tracer->event.node = (uint8_t)node;
    nodes_listen(&tracer->nodes, node, strcmp(word, "listen") == 0);
}

static void read_event(struct tracer *tracer, char **words, int n)
{
    static const struct {
        const char *word;
        enum hf_event_kind kind;
    } kinds[] = {
        {"acquire", HF_EV_ACQUIRE},
        {"adopt", HF_EV_ADOPT},
        {"release-foreign", HF_EV_RELEASE_FOREIGN},
        {"extend", HF_EV_EXTEND},
        {"release", HF_EV_RELEASE},
        {"detach", HF_EV_DETACH},
        {"timer", HF_EV_TIMER},
        {"node", HF_EV_NODE},
        {"reset", HF_EV_NODE_RESET},
        {"queue", HF_EV_ACQUIRE},
        {"stay", HF_EV_ACQUIRE},
        {"doubt", HF_EV_DOUBT},
        {"listen", HF_EV_LISTEN},
        {"unlisten", HF_EV_LISTEN},
        {"overdue", HF_EV_TIMER},
    };
    struct hf_event *event = &tracer->event;
    if (words[0][0] >= '0' && words[0][0] <= '9') {
        read_answer(tracer, (unsigned)atoi(words[0]), words, n);
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(words[0], kinds[i].word) == 0) {
            event->kind = kinds[i].kind;
            uint64_t number = n > 1 ? strtoull(words[1], NULL, 10) : 0;
            event->counter = number;
            event->place_stays = strcmp(words[0], "stay") == 0;
            event->queues =
                event->place_stays || strcmp(words[0], "queue") == 0;
            tracer->place_stays |= event->place_stays;
            if (event->kind == HF_EV_LISTEN) {
                read_listen(tracer, words[0], (unsigned)number);
            }
            event->ttl = hf_span_ms((int64_t)number);
            event->spared =
                (uint16_t)(n > 2 && event->kind == HF_EV_RELEASE_FOREIGN
                               ? 1U << strtoul(words[2], NULL, 10)
                               : 0);
            if (event->kind == HF_EV_NODE || event->kind == HF_EV_NODE_RESET ||
                event->kind == HF_EV_DOUBT) {
                event->node = (uint8_t)number;
            }
            if (event->kind == HF_EV_NODE) {
                nodes_set(&tracer->nodes, event->node, status_of(words[2]));
            }
            return;
        }
    }
    fail_msg("a trace has no event '%s'", words[0]);
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
    if (early_ns > 0 || is_late != (strcmp(word, "overdue") == 0)) {
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

static void run_line(struct tracer *tracer, const char *line)
{
    char copy[LINE_MAX_LEN];
    char *words[8] = {0};
    int n = 0;
    char *save = NULL;
    snprintf(copy, sizeof(copy), "%s", line);
    char *bar = strchr(copy, '|');
    assert_non_null(bar);
    *bar = '\0';
    char *expected = bar + 1 + strspn(bar + 1, " ");
    char *close = strchr(copy, ']');
    assert_non_null(close);
    memset(&tracer->event, 0, sizeof(tracer->event));
    tracer->event.now = at_ms(strtol(copy + 1, NULL, 10));
    for (char *word = strtok_r(close + 1, " ", &save); word != NULL && n < 8;
         word = strtok_r(NULL, " ", &save)) {
        words[n++] = word;
    }
    assert_true(n > 0);
    if (strcmp(words[0], "slow") == 0) {
        tracer->nodes.misses[atoi(words[1])] = HF_NODE_MISSES_MAX;
        return;
    }
    if (strcmp(words[0], "up") == 0) {
        nodes_set(&tracer->nodes, (unsigned)atoi(words[1]),
                  HF_NODE_STATUS_VOTING);
        return;
    }
    if (strcmp(words[0], "spread") == 0 || strcmp(words[0], "sparse") == 0) {
        bool is_spread = hf_lease_is_spread(tracer->lease, &tracer->nodes);
        if (is_spread != (strcmp(words[0], "spread") == 0)) {
            fail_msg("%s\n  but it is not", line);
        }
        return;
    }
    if (strcmp(words[0], "granted") == 0) {
        assert_true(n == 3);
        check_granted(tracer, line, words);
        return;
    }
    read_event(tracer, words, n);
    check_timer(tracer, words[0], line);
    if (tracer->event.kind == HF_EV_EXTEND && tracer->event.ttl.ns > 0) {
        tracer->ttl = tracer->event.ttl;
    }
    tracer->actions[0] = '\0';
    hf_lease_step(tracer->lease, &tracer->nodes, &tracer->event,
                  &tracer->effects);
    print_effects(tracer);
    if (strcmp(tracer->actions, expected) != 0) {
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
