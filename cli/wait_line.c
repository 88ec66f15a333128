/* SPDX-License-Identifier: Apache-2.0 */
#include "wait_line.h"

#include "clocks.h"
#include "format.h"
#include "message.h"
#include "signals.h"
#include "snapshot.h"
#include "timefmt.h"
#include "width.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The line counts whole seconds, so a redraw before the next one would show the
 * same; a wait that is shorter leaves no trace on the terminal. */
#define SHOW_EVERY_MS 1000

/* Room for the text of a wide terminal with an escaped name. */
#define LINE_ROOM (4 * HF_NAME_MAX + 4096)

/* The name gets a third of the line, less if the rest needs it, and at least
 * this. */
#define NAME_PART 3
#define NAME_LEAST 8

/* A holder or a label that would be truncated below this is omitted. */
#define WHO_LEAST 16
#define LABEL_LEAST 5

/* A time, and its text. */
#define TIME_ROOM 64

/* "1234 ahead, " */
#define PLACE_ROOM 40

/* Two readings of the end of a lease that was not renewed differ by at most
 * this. */
#define SAME_END_MS 1000

/* Longest wait for a keeper that is writing the line; it may be stopped. */
#define HIDE_MS 200

/* To the first column, and clear the line. */
#define CLEAR "\r\033[K"

enum { GATE_FREE, GATE_WRITING, GATE_HIDDEN };

void cli_line_init(struct cli_line *line, bool is_wanted, pid_t foreground,
                   struct cli_line_gate *gate)
{
    *line = (struct cli_line){
        .is_wanted = is_wanted && isatty(STDERR_FILENO) != 0,
        .foreground = foreground,
        .gate = gate,
        .began = cli_time_now(),
    };
    line->next = hf_instant_add(line->began, hf_span_ms(SHOW_EVERY_MS));
}

int cli_line_timeout(const struct cli_line *line)
{
    if (!line->is_wanted) {
        return -1;
    }
    return (int)hf_span_ms_ceil(hf_instant_until(cli_time_now(), line->next));
}

/* ---- The terminal ------------------------------------------------------ */

/* True if the terminal can be written: our group is in the foreground, and the
 * output is not paused. */
static bool is_ours(pid_t foreground)
{
    return tcgetpgrp(STDERR_FILENO) == foreground &&
           cli_message_fits(STDERR_FILENO);
}

static bool enter_gate(struct cli_line_gate *gate, int32_t state)
{
    int32_t expected = GATE_FREE;
    return atomic_compare_exchange_strong(&gate->state, &expected, state);
}

static void put_cut(struct cli_out *out, const char *text)
{
    /* The last column stays free: some terminals wrap as soon as it is written
     * to. */
    (void)cli_width_cut(out, text, cli_width(STDERR_FILENO) - 1);
}

/* `text` NULL: clear it. */
static void write_line(struct cli_line *line, const char *text)
{
    struct cli_out out;
    if (!enter_gate(line->gate, GATE_WRITING)) {
        return;
    }
    if (is_ours(line->foreground)) {
        cli_out_init(&out, STDERR_FILENO);
        cli_out_text(&out, CLEAR);
        if (text != NULL) {
            put_cut(&out, text);
        }
        (void)cli_out_flush(&out);
        atomic_store(&line->gate->is_shown, text != NULL);
    }
    atomic_store(&line->gate->state, GATE_FREE);
}

void cli_line_clear(struct cli_line *line)
{
    if (atomic_load(&line->gate->is_shown) != 0) {
        write_line(line, NULL);
    }
}

/* @return false if it is still being written. */
static bool hide(struct cli_line_gate *gate)
{
    struct hf_instant end = hf_instant_add(cli_time_now(), hf_span_ms(HIDE_MS));
    while (!enter_gate(gate, GATE_HIDDEN)) {
        if (!hf_instant_before(cli_time_now(), end)) {
            return false;
        }
        (void)sched_yield();
    }
    if (atomic_exchange(&gate->is_shown, 0) != 0 && is_ours(getpgrp())) {
        (void)!write(STDERR_FILENO, CLEAR, strlen(CLEAR));
    }
    return true;
}

void cli_line_stop(struct cli_line_gate *gate)
{
    bool is_hidden = hide(gate);
    (void)cli_signals_stop(getpid(), SIGTSTP);
    if (is_hidden) {
        atomic_store(&gate->state, GATE_FREE);
    }
}

/* ---- Text -------------------------------------------------------------- */

/* Apart, since a narrow terminal leaves some of them out (put_holder()). */
struct holder_parts {
    char who[LINE_ROOM];
    char since[TIME_ROOM];
    char lease[TIME_ROOM];
    const char *label;
    bool is_renewed;
};

/* `rest`: columns that are needed after it. */
static void put_name(struct cli_out *out, const void *name, size_t name_len,
                     size_t rest)
{
    char shown_name[4 * HF_NAME_MAX + 1];
    struct cli_out shown;
    size_t width = cli_width(STDERR_FILENO);
    size_t used = cli_width_of(out->text) + rest + 1;
    size_t room = width > used ? width - used : 0;
    room = room < width / NAME_PART ? room : width / NAME_PART;
    cli_out_init_text(&shown, shown_name, sizeof(shown_name));
    shown.hides = true; /* it is for stderr */
    (void)cli_out_shown(&shown, name, name_len);
    (void)cli_width_cut(out, shown_name, room > NAME_LEAST ? room : NAME_LEAST);
}

/* `rest`: columns that are needed after it. */
static void put_head(struct cli_out *out, const struct cli_line *line,
                     const void *name, size_t name_len, size_t rest)
{
    char text[CLI_DURATION_TEXT];
    int64_t waited_ms =
        hf_span_ms_floor(hf_instant_until(line->began, cli_time_now()));
    cli_out_text(out, "waiting ");
    cli_out_text(out, cli_duration_text(waited_ms - waited_ms % 1000, text));
    cli_out_text(out, " for ");
    put_name(out, name, name_len, strlen(": ") + rest);
    cli_out_text(out, ": ");
}

/* True if the lease was renewed during this wait: its end has moved since the
 * first reading, with the same owner. (Between two readings it may move too
 * little to tell.) */
static bool note_renewal(struct cli_line *line, const struct cli_holder *holder)
{
    struct hf_instant end =
        hf_instant_add(cli_time_now(), hf_span_ms(holder->remaining_ms));
    if (strcmp(line->owner, holder->owner) != 0) {
        memcpy(line->owner, holder->owner, sizeof(line->owner));
        line->lease_end = end;
        line->is_renewed = false;
    } else if (hf_instant_until(line->lease_end, end).ns >
               hf_span_ms(SAME_END_MS).ns) {
        line->is_renewed = true;
    }
    return line->is_renewed;
}

/* The end of a lease that is being renewed is not the time at which the name is
 * free. @return true if the lease is known to be renewed. */
static bool put_lease(struct cli_out *out, struct cli_line *line,
                      const struct cli_holder *holder)
{
    if (holder->kind == HF_HOLDER_NONE || holder->kind == HF_HOLDER_ENDED ||
        holder->remaining_ms < 0) {
        cli_format_frees(out, holder);
        return false;
    }
    if (holder->remaining_ms == 0) {
        return false; /* renewed or expired: the next reply will tell */
    }
    cli_out_text(out, ", lease until ");
    cli_format_end(out, holder);
    return holder->kind != HF_HOLDER_SHARED && note_renewal(line, holder);
}

static void fit(char *text, size_t *left)
{
    size_t columns = cli_width_of(text);
    if (columns > *left) {
        text[0] = '\0';
    } else {
        *left -= columns;
    }
}

static void put_label(struct cli_out *out, const char *label, size_t left)
{
    char text[4 * sizeof(((struct cli_holder *)NULL)->label) + 1];
    struct cli_out shown;
    if (label[0] == '\0' || left < LABEL_LEAST + strlen(" ()")) {
        return;
    }
    cli_out_init_text(&shown, text, sizeof(text));
    (void)cli_out_shown(&shown, label, strlen(label));
    cli_out_text(out, " (");
    (void)cli_width_cut(out, text, left - strlen(" ()"));
    cli_out_text(out, ")");
}

/* parts->label points into `holder`, which must outlive it. */
static void read_holder(struct holder_parts *parts, struct cli_line *line,
                        const struct cli_holder *holder)
{
    struct cli_out part;
    cli_out_init_text(&part, parts->who, sizeof(parts->who));
    cli_format_who(&part, holder);
    cli_out_init_text(&part, parts->since, sizeof(parts->since));
    cli_format_since(&part, holder);
    cli_out_init_text(&part, parts->lease, sizeof(parts->lease));
    parts->is_renewed = put_lease(&part, line, holder);
    parts->label = holder->kind == HF_HOLDER_NONE ? "" : holder->label;
}

/* What a narrow terminal leaves out last. */
static size_t columns_of(const struct holder_parts *parts)
{
    return cli_width_of(parts->who) + cli_width_of(parts->lease);
}

/* The holder and its lease, in the rest of the line. Parts that do not fit are
 * left out, or cut: first the label, then since when, then "(renewed)". */
static void put_holder(struct cli_out *out, struct holder_parts *parts)
{
    char renewed[] = " (renewed)";
    size_t used = cli_width_of(out->text);
    size_t left = cli_width(STDERR_FILENO) - 1;
    left = left > used ? left - used : 0;
    if (!parts->is_renewed) {
        renewed[0] = '\0';
    }
    size_t lease_columns = cli_width_of(parts->lease);
    size_t who_room =
        left >= WHO_LEAST + lease_columns ? left - lease_columns : SIZE_MAX;
    size_t fixed = cli_width_cut(out, parts->who, who_room) + lease_columns;
    left = left > fixed ? left - fixed : 0;
    fit(renewed, &left);
    fit(parts->since, &left);
    cli_out_text(out, parts->since);
    put_label(out, parts->label, left);
    cli_out_text(out, parts->lease);
    cli_out_text(out, renewed);
}

/* From what the nodes last sent: the line costs no request. */
static void put_waiting(struct cli_out *out, struct cli_line *line,
                        const struct cli_waiting *waiting)
{
    struct holder_parts holder;
    char place[PLACE_ROOM];
    struct cli_out part;
    cli_out_init_text(&part, place, sizeof(place));
    if (waiting->ahead > 0) {
        cli_out_int(&part, waiting->ahead);
        cli_out_text(&part, " ahead, ");
    } else {
        cli_out_text(&part, "next, ");
    }
    read_holder(&holder, line, &waiting->holder);
    put_head(out, line, waiting->name, waiting->name_len,
             cli_width_of(place) + columns_of(&holder));
    cli_out_text(out, place);
    put_holder(out, &holder);
}

/* The nodes of that health. @return the reason of the first, or NULL if there
 * is none. */
static const char *put_nodes(struct cli_out *out, const struct cli_node *nodes,
                             int n_nodes, enum hf_health health,
                             const char *before)
{
    const struct cli_node *first = NULL;
    int64_t left_ms = 0;
    int count = 0;
    for (int i = 0; i < n_nodes; i++) {
        const struct cli_node *node = &nodes[i];
        if (node->health != health) {
            continue;
        }
        cli_out_text(out, count++ > 0 ? ", " : before);
        (void)cli_out_shown(out, node->address, strlen(node->address));
        first = first == NULL ? node : first;
        left_ms = node->quarantine_left_ms > left_ms ? node->quarantine_left_ms
                                                     : left_ms;
    }
    if (first == NULL) {
        return NULL;
    }
    if (health != HF_NODE_QUARANTINED) {
        cli_out_text(out, health == HF_NODE_DOWN ? " down" : " connecting");
        return first->reason;
    }
    cli_out_text(out, count > 1 ? " count in " : " counts in ");
    cli_out_int(out, (left_ms + 999) / 1000);
    cli_out_text(out, "s");
    return first->reason;
}

/* If no majority of the nodes is available: the nodes that are not, and the
 * reason of the first. @return false: a majority is available. */
static bool put_unavailable(struct cli_out *out, const struct cli_line *line,
                            struct hf_client *client,
                            const struct hf_request *request)
{
    static const enum hf_health states[] = {HF_NODE_DOWN, HF_NODE_CONNECTING,
                                            HF_NODE_QUARANTINED};
    struct cli_node nodes[HF_NODES_MAX];
    int n_nodes = hf_client_nodes(client);
    int n_up = 0;
    const char *reason = NULL;
    n_nodes = n_nodes < HF_NODES_MAX ? n_nodes : HF_NODES_MAX;
    for (int i = 0; i < n_nodes; i++) {
        cli_node(client, i, &nodes[i]);
        n_up += nodes[i].health == HF_NODE_UP;
    }
    if (n_up > n_nodes / 2) {
        return false;
    }
    put_head(out, line, request->name, request->name_len, 0);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        const char *first = put_nodes(out, nodes, n_nodes, states[i],
                                      reason == NULL ? "" : "; ");
        reason = reason == NULL ? first : reason;
    }
    if (reason != NULL && reason[0] != '\0') {
        cli_out_text(out, ": ");
        cli_out_plain(out, reason);
    }
    return true;
}

/* A waiter in no queue hears nothing of the holder: the store is asked each
 * time the line is drawn. */
static void put_inspected(struct cli_out *out, struct cli_line *line,
                          struct hf_client *client,
                          const struct hf_request *request)
{
    struct cli_info info;
    struct holder_parts holder;
    enum hf_status status =
        cli_inspect(client, request->name, request->name_len, &info, NULL);
    if (status != HF_OK) {
        put_head(out, line, request->name, request->name_len, 0);
        cli_out_text(out, hf_status_text(status));
        return;
    }
    read_holder(&holder, line, &info.holder);
    put_head(out, line, request->name, request->name_len, columns_of(&holder));
    put_holder(out, &holder);
}

void cli_line_tick(struct cli_line *line, struct hf_client *client,
                   struct hf_op *op, const struct hf_request *request)
{
    char text[LINE_ROOM];
    struct cli_out out;
    struct cli_waiting waiting;
    if (!line->is_wanted || hf_instant_before(cli_time_now(), line->next)) {
        return;
    }
    line->next = hf_instant_add(cli_time_now(), hf_span_ms(SHOW_EVERY_MS));
    cli_out_init_text(&out, text, sizeof(text));
    if (!put_unavailable(&out, line, client, request)) {
        if (cli_waiting(op, &waiting)) {
            put_waiting(&out, line, &waiting);
        } else {
            put_inspected(&out, line, client, request);
        }
    }
    write_line(line, text);
}
