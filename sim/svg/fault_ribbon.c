/* SPDX-License-Identifier: Apache-2.0 */
/* The faults, in words, on a ribbon above the lanes. */
#include "story/story_parts.h"
#include "svg/svg.h"

/* If there are more faults, their begins are not drawn through all lanes: so
 * many lines would hide the holds. */
#define SINCE_MAX 8

static void say_mask(uint32_t mask, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < 16 + SIM_NODES_MAX && at + 4 < size; i++) {
        if ((mask >> i & 1) != 0) {
            at += (size_t)snprintf(text + at, size - at, "%s%c%d",
                                   at > 0 ? " " : "", i < 16 ? 'p' : 'n',
                                   i < 16 ? i + 1 : i - 15);
        }
    }
}

static void say_who(const struct sim_fault *fault, char *text, size_t size)
{
    char process[16] = "";
    char node[16] = "";
    const struct sim_fault_form *form = sim_fault_form(fault->kind);
    if (form->has_process && fault->process >= 0) {
        snprintf(process, sizeof(process), "p%d", fault->process + 1);
    }
    if (form->has_node && fault->node >= 0) {
        snprintf(node, sizeof(node), "n%d", fault->node + 1);
    }
    const char *all = form->has_process && form->has_node ? "all links"
                      : form->has_process                 ? "all processes"
                                                          : "all servers";
    if (*process == '\0' && *node == '\0') {
        snprintf(text, size, "%s", all);
    } else {
        snprintf(text, size, "%s%s%s", process,
                 *process != '\0' && *node != '\0' ? "-" : "", node);
    }
}

static const char *verb_of(enum sim_fault_kind kind)
{
    static const char *const verbs[] = {
        [SIM_FAULT_CUT] = ": cut",
        [SIM_FAULT_SILENCE] = ": requests lost",
        [SIM_FAULT_DEAFNESS] = ": replies lost",
        [SIM_FAULT_PARTITION] = "cut off:",
        [SIM_FAULT_SLOW] = ": slow",
        [SIM_FAULT_GHOST] = ": cut, requests delivered late",
        [SIM_FAULT_PAUSE] = " stands still",
        [SIM_FAULT_PAUSE_MIDWAY] = " stands still in the middle of a call",
        [SIM_FAULT_CRASH] = " crashes",
        [SIM_FAULT_STOP] = " stands still",
        [SIM_FAULT_RESTART] = " restarts with its memory",
        [SIM_FAULT_AGE] = " restarts with an older memory",
        [SIM_FAULT_EMPTY] = " restarts empty",
        [SIM_FAULT_PROMOTE] = ": a lagging replica takes over",
        [SIM_FAULT_FLUSH] = ": FLUSHALL",
        [SIM_FAULT_EVICT] = " evicts keys",
        [SIM_FAULT_FULL] = ": out of memory",
        [SIM_FAULT_FORGET_SCRIPTS] = ": SCRIPT FLUSH",
        [SIM_FAULT_NODE_CLOCK] = ": clock jumps",
        [SIM_FAULT_PROCESS_CLOCK] = ": clock jumps",
        [SIM_FAULT_REBOOT] = ": its host restarts",
        [SIM_FAULT_REPLICA] = ": replaced by a lagging replica",
        [SIM_FAULT_RETURN] = ": the old primary is back",
        [SIM_FAULT_EVERYSEC] = ": appendfsync everysec",
        [SIM_FAULT_UNSYNCED] = ": no-appendfsync-on-rewrite",
    };
    return verbs[kind];
}

static void say_fault(const struct svg_span *span, char *text, size_t size)
{
    char who[48];
    if (span->fault == NULL) {
        snprintf(text, size, "%s", span->text == NULL ? "" : span->text);
    } else if (span->fault->kind == SIM_FAULT_PARTITION) {
        say_mask(span->fault->mask, who, sizeof(who));
        snprintf(text, size, "%s %s", verb_of(span->fault->kind), who);
    } else {
        say_who(span->fault, who, sizeof(who));
        snprintf(text, size, "%s%s", who, verb_of(span->fault->kind));
    }
}

/* In the ribbon's second row if a fault in the first row has not ended. */
static int fault_y(const struct svg_page *page, const struct svg_span *span,
                   int64_t *busy_ns)
{
    bool is_free = span->from_ns >= *busy_ns || page->faults_rows < 2;
    if (is_free && span->to_ns > *busy_ns) {
        *busy_ns = span->to_ns;
    }
    return page->faults_y + (is_free ? 0 : 200);
}

static void draw_fault(struct svg_page *page, const struct svg_span *span,
                       int y)
{
    int x = svg_x(page, span->from_ns);
    svg_put_rect(page->out, x, y, svg_x(page, span->to_ns) - x, 160, "fault");
    if (page->n_faults <= SINCE_MAX) {
        svg_put_line(page->out, x, y, x, page->legend_y - 260, "since");
    }
    svg_page_take(page, x, y, 10, 160); /* no label runs over its beginning */
}

static void label_fault(struct svg_page *page, const struct svg_span *span,
                        int y)
{
    char text[96];
    int x = svg_x(page, span->from_ns);
    say_fault(span, text, sizeof(text));
    if (svg_text_width(text) + x > page->right) {
        svg_page_label(page, x - 30, y + 118, "small end", text);
    } else {
        svg_page_label(page, x + 40, y + 118, "small", text);
    }
}

static void each_fault(struct svg_page *page,
                       void (*draw)(struct svg_page *page,
                                    const struct svg_span *span, int y))
{
    int64_t busy_ns = INT64_MIN;
    for (size_t i = 0; i < page->model.n_spans; i++) {
        const struct svg_span *span = &page->model.spans[i];
        if (span->kind == SVG_FAULT) {
            draw(page, span, fault_y(page, span, &busy_ns));
        }
    }
}

void svg_draw_faults(struct svg_page *page)
{
    if (page->faults_rows > 0) {
        svg_put_text(page->out, 240, page->faults_y + 120, "what", "faults");
    }
    each_fault(page, draw_fault);
    each_fault(page, label_fault);
}
