/* SPDX-License-Identifier: Apache-2.0 */
/* Notes as lines: the time, the subject, the verb, and the details in words.
 *
 *     [    100.250] p1     acquire   a for 2s
 *     [    100.750] n1     yours 7   p1 acquire a, sent 100.250, back 101.250
 *     [    101.250] p1     held      a fence 7, until 2077.250
 */
#include "world/trace.h"

#include <inttypes.h>

static const char *verb_of(enum sim_note_kind kind)
{
    static const char *const verbs[] = {
        [SIM_NOTE_BEGIN] = "acquire",    [SIM_NOTE_GIVEN_UP] = "given up",
        [SIM_NOTE_HELD] = "held",        [SIM_NOTE_RENEWED] = "renewed",
        [SIM_NOTE_AT_RISK] = "at risk",  [SIM_NOTE_LOST] = "lost",
        [SIM_NOTE_RELEASED] = "release", [SIM_NOTE_GIVEN] = "given",
        [SIM_NOTE_ADOPTED] = "adopted",  [SIM_NOTE_WRITE] = "writes",
        [SIM_NOTE_REFUSED] = "refused",  [SIM_NOTE_ASKED] = "answers",
        [SIM_NOTE_PUSHED] = "grants",    [SIM_NOTE_FAULT] = "fault",
        [SIM_NOTE_NODE_DOWN] = "down",   [SIM_NOTE_NODE_UP] = "up",
        [SIM_NOTE_NODE_STATUS] = "sees", [SIM_NOTE_PAUSED] = "paused",
        [SIM_NOTE_CRASHED] = "crashed",  [SIM_NOTE_STARTED] = "started",
        [SIM_NOTE_CALM] = "calm",        [SIM_NOTE_VIOLATION] = "BROKEN",
        [SIM_NOTE_CALLED] = "calls",
    };
    return verbs[kind];
}

static void put_ms(FILE *out, int width, int64_t ns)
{
    fprintf(out, "%*" PRId64 ".%03d", width, ns / SIM_MS,
            (int)(ns / 1000 % 1000));
}

static bool is_of_turn(enum sim_note_kind kind)
{
    return kind <= SIM_NOTE_REFUSED || kind == SIM_NOTE_CALLED;
}

/* A node executes requests and pushes grants: such lines are its own, though
 * they name a process. */
static bool is_by_node(const struct sim_note *note)
{
    return note->node >= 0 &&
           (note->process < 0 || note->kind == SIM_NOTE_ASKED ||
            note->kind == SIM_NOTE_PUSHED);
}

/* As in a story's text: p1, n1; "p1.2" is its second lane. */
static void put_who(FILE *out, const struct sim_note *note)
{
    char who[32];
    if (is_by_node(note)) {
        snprintf(who, sizeof(who), "n%d", note->node + 1);
    } else if (note->process < 0) {
        snprintf(who, sizeof(who), "-");
    } else if (is_of_turn(note->kind) && note->lane > 0) {
        snprintf(who, sizeof(who), "p%d.%d", note->process + 1, note->lane + 1);
    } else if (note->node >= 0 && note->kind == SIM_NOTE_NODE_STATUS) {
        snprintf(who, sizeof(who), "p%d-n%d", note->process + 1,
                 note->node + 1);
    } else {
        snprintf(who, sizeof(who), "p%d", note->process + 1);
    }
    fprintf(out, "%-6s ", who);
}

/* The details after the verb of a line, separated by commas. */
struct list {
    FILE *out;
    int pad; /* columns left of the verb's */
    bool is_begun;
};

static void put_verb(struct list *list, const char *verb)
{
    list->pad = 10 - fprintf(list->out, "%s", verb);
}

static void put_gap(struct list *list)
{
    fprintf(list->out, "%*s ", list->pad > 0 ? list->pad : 0, "");
    list->pad = 0;
}

static void put_next(struct list *list)
{
    if (list->is_begun) {
        fputc(',', list->out);
    }
    put_gap(list);
    list->is_begun = true;
}

static void put_text(struct list *list, const char *text)
{
    if (text != NULL && *text != '\0') {
        put_next(list);
        fputs(text, list->out);
    }
}

static void put_number(struct list *list, const char *what, uint64_t number)
{
    if (number != 0) {
        put_next(list);
        fprintf(list->out, "%s %" PRIu64, what, number);
    }
}

static void put_time(struct list *list, const char *what, int64_t ns)
{
    put_next(list);
    fprintf(list->out, "%s ", what);
    put_ms(list->out, 0, ns);
}

static void put_arrival(struct list *list, const char *what, int64_t ns)
{
    if (ns < 0) {
        put_text(list, "never arrives");
    } else {
        put_time(list, what, ns);
    }
}

static void put_name(struct list *list, const struct sim_note *note)
{
    bool is_about_one =
        (is_of_turn(note->kind) && note->kind != SIM_NOTE_BEGIN) ||
        note->kind == SIM_NOTE_ASKED || note->kind == SIM_NOTE_PUSHED;
    if (is_about_one && note->name >= 0) {
        put_gap(list);
        fprintf(list->out, "%c%s", 'a' + note->name,
                note->is_shared ? " (shared)" : "");
    }
}

static void put_asked(struct list *list, const struct sim_note *note)
{
    put_verb(list, note->result == NULL ? "answers" : note->result);
    put_gap(list);
    fprintf(list->out, "p%d %s", note->process + 1,
            note->text == NULL ? "asks" : note->text);
    put_name(list, note);
    put_time(list, "sent", note->sent_ns);
    put_arrival(list, "back", note->until_ns);
}

static void put_pushed(struct list *list, const struct sim_note *note)
{
    put_verb(list, verb_of(note->kind));
    put_gap(list);
    fprintf(list->out, "p%d", note->process + 1);
    put_name(list, note);
    put_number(list, "fence", note->counter);
    put_arrival(list, "there", note->until_ns);
}

static void put_other(struct list *list, const struct sim_note *note)
{
    put_verb(list, verb_of(note->kind));
    put_name(list, note);
    put_number(list, "fence", note->fence);
    if (note->kind == SIM_NOTE_REFUSED) {
        put_number(list, "it has seen", note->counter);
    }
    if (note->other >= 0 &&
        (note->kind == SIM_NOTE_GIVEN || note->kind == SIM_NOTE_ADOPTED)) {
        put_next(list);
        fprintf(list->out, "%s p%d",
                note->kind == SIM_NOTE_GIVEN ? "to" : "from", note->other + 1);
    }
    put_text(list, note->text);
    put_text(list, note->result);
    if (note->until_ns > note->at_ns) {
        put_time(list, "until", note->until_ns);
    }
}

void sim_trace_text(void *user, const struct sim_note *note)
{
    struct list list = {.out = user};
    fputc('[', list.out);
    put_ms(list.out, 7, note->at_ns);
    fputs("] ", list.out);
    put_who(list.out, note);
    if (note->kind == SIM_NOTE_ASKED) {
        list.is_begun = true;
        put_asked(&list, note);
    } else if (note->kind == SIM_NOTE_PUSHED) {
        list.is_begun = true;
        put_pushed(&list, note);
    } else {
        put_other(&list, note);
    }
    fputc('\n', list.out);
}
