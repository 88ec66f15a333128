/* SPDX-License-Identifier: Apache-2.0 */
#include "wait_line.h"

#include "duration.h"
#include "message.h"
#include "show.h"
#include "snapshot.h"
#include "utf8.h"
#include "when.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Who waits less does not want to read. */
#define SHOW_EVERY_MS 1000

/* Of a terminal that does not say. */
#define COLUMNS 80

/* Room for all that fits a terminal, and a name of control characters. */
#define LINE_ROOM 4096

/* To the first column, and clear the line. */
#define CLEAR "\r\033[K"

void cli_line_init(struct cli_line *line, bool is_wanted, pid_t foreground)
{
    line->is_wanted = is_wanted;
    line->is_shown = false;
    line->foreground = foreground;
    line->began_ns = cli_when_now_ns();
    line->next_ns = line->began_ns + SHOW_EVERY_MS * CLI_NS_PER_MS;
}

int cli_line_timeout(const struct cli_line *line)
{
    if (!line->is_wanted) {
        return -1;
    }
    int64_t left = line->next_ns - cli_when_now_ns();
    return left <= 0 ? 0 : (int)((left + CLI_NS_PER_MS - 1) / CLI_NS_PER_MS);
}

/* Ours to write on: in the foreground, and not paused. */
static bool is_ours(const struct cli_line *line)
{
    return tcgetpgrp(STDERR_FILENO) == line->foreground &&
           cli_message_fits(STDERR_FILENO);
}

static size_t terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : COLUMNS;
}

/* How many bytes of `text` fit `columns`. Characters beyond ASCII may be two
 * columns wide, and are taken to be: cut early rather than wrapped. */
static size_t fitting(const char *text, size_t len, size_t columns)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t done = 0;
    while (done < len) {
        size_t n = cli_utf8_len(p + done, len - done);
        size_t wide = n > 1 ? 2 : 1;
        if (wide > columns) {
            break;
        }
        columns -= wide;
        done += n > 0 ? n : 1;
    }
    return done;
}

static void write_cut(const char *text, size_t len)
{
    struct cli_out out;
    cli_out_init(&out, STDERR_FILENO);
    cli_out_text(&out, CLEAR);
    /* The last column stays free: some terminals wrap as soon as it is
     * written to. */
    cli_out_bytes(&out, text, fitting(text, len, terminal_columns() - 1));
    (void)cli_out_flush(&out);
}

static void put_head(struct cli_out *out, const struct cli_line *line,
                     const void *name, size_t name_len)
{
    char text[CLI_DURATION_TEXT];
    int64_t waited_ms = (cli_when_now_ns() - line->began_ns) / CLI_NS_PER_MS;
    cli_out_text(out, "waiting ");
    cli_out_text(out, cli_duration_text(waited_ms - waited_ms % 1000, text));
    cli_out_text(out, " for ");
    (void)cli_out_shown(out, name, name_len);
    cli_out_text(out, ": ");
}

/* As the nodes last said to one who stands in the queue. */
static void put_waiting(struct cli_out *out, const struct cli_line *line,
                        const struct cli_waiting *waiting)
{
    put_head(out, line, waiting->name, waiting->name_len);
    cli_show_held(out, &waiting->holder);
    if (waiting->ahead > 0) {
        cli_out_text(out, ", ");
        cli_out_int(out, waiting->ahead);
        cli_out_text(out, " ahead");
    } else {
        cli_out_text(out, ", next");
    }
    cli_show_frees(out, &waiting->holder);
}

/* Nodes that do not count yet, and leave no majority: until when, and why.
 * @return false: a majority counts. */
static bool put_quarantined(struct cli_out *out, const struct cli_line *line,
                            struct hf_client *client,
                            const struct hf_request *request)
{
    struct cli_node found[HF_NODES_MAX];
    int n_nodes = hf_client_nodes(client);
    int n_up = 0;
    int n_found = 0;
    int64_t left_ms = 0;
    for (int i = 0; i < n_nodes && i < HF_NODES_MAX; i++) {
        struct cli_node *node = &found[n_found];
        cli_node(client, i, node);
        n_up += node->health == HF_NODE_UP;
        if (node->health == HF_NODE_QUARANTINED) {
            left_ms = node->quarantine_left_ms > left_ms
                          ? node->quarantine_left_ms
                          : left_ms;
            n_found++;
        }
    }
    if (n_found == 0 || n_up > n_nodes / 2) {
        return false;
    }
    put_head(out, line, request->name, request->name_len);
    for (int i = 0; i < n_found; i++) {
        cli_out_text(out, i > 0 ? ", " : "");
        (void)cli_out_shown(out, found[i].address, strlen(found[i].address));
    }
    cli_out_text(out, n_found > 1 ? " count in " : " counts in ");
    cli_out_int(out, (left_ms + 999) / 1000);
    cli_out_text(out, n_found > 1 ? "s: each " : "s: it ");
    cli_out_text(out, found[0].reason);
    return true;
}

/* Of one who only tries from time to time. */
static void put_inspected(struct cli_out *out, const struct cli_line *line,
                          struct hf_client *client,
                          const struct hf_request *request)
{
    struct cli_info info;
    enum hf_status status =
        cli_inspect(client, request->name, request->name_len, &info, NULL);
    put_head(out, line, request->name, request->name_len);
    if (status == HF_OK) {
        cli_show_holder(out, &info.holder);
    } else {
        cli_out_text(out, hf_status_text(status));
    }
}

void cli_line_tick(struct cli_line *line, struct hf_client *client,
                   struct hf_op *op, const struct hf_request *request)
{
    char text[LINE_ROOM];
    struct cli_out out;
    struct cli_waiting waiting;
    if (!line->is_wanted || cli_when_now_ns() < line->next_ns) {
        return;
    }
    line->next_ns = cli_when_now_ns() + SHOW_EVERY_MS * CLI_NS_PER_MS;
    cli_out_init_text(&out, text, sizeof(text));
    if (cli_waiting(op, &waiting)) {
        put_waiting(&out, line, &waiting);
    } else if (!put_quarantined(&out, line, client, request)) {
        put_inspected(&out, line, client, request);
    }
    if (is_ours(line)) {
        write_cut(text, out.len);
        line->is_shown = true;
    }
}

void cli_line_clear(const struct cli_line *line)
{
    if (line->is_shown && is_ours(line)) {
        (void)!write(STDERR_FILENO, CLEAR, strlen(CLEAR));
    }
}
