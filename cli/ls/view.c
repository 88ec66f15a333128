/* SPDX-License-Identifier: Apache-2.0 */
#include "ls/view.h"

#include "clocks.h"
#include "format.h"
#include "text_size.h"
#include "timefmt.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* Longest slot number: three digits; see HF_PERMITS_MAX. */
#define SLOT_DIGITS 3

void cli_view_init(struct cli_view *view)
{
    *view = (struct cli_view){.rows = NULL};
}

void cli_view_fini(struct cli_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        free(view->rows[i]);
    }
    free(view->rows);
    cli_view_init(view);
}

/* ---- Rows -------------------------------------------------------------- */

static char *put(char *to, const char **field, const void *from, size_t len)
{
    memcpy(to, from, len);
    to[len] = '\0';
    *field = to;
    return to + len + 1;
}

/* One allocation for a row and its texts: --follow makes and frees all rows
 * four times a second. */
static struct cli_row *new_row(const void *name, size_t name_len,
                               const struct cli_info *info)
{
    const struct cli_holder *holder = &info->holder;
    size_t owner = strlen(holder->owner);
    size_t host = strlen(holder->host);
    size_t label = strlen(holder->label);
    struct cli_row *row =
        malloc(sizeof(*row) + name_len + owner + host + label + 4);
    if (row == NULL) {
        return NULL;
    }
    *row = (struct cli_row){
        .name_len = name_len,
        .pid = holder->pid,
        .since_s = holder->since_s,
        .remaining_ms = holder->remaining_ms,
        .fence = holder->fence,
        .holder_kind = holder->kind,
        .is_split = info->split,
        .sharers = holder->sharers,
        .permits = holder->permits,
        .waiting = info->waiting,
    };
    char *at = (char *)(row + 1);
    at = put(at, &row->name, name, name_len);
    at = put(at, &row->owner, holder->owner, owner);
    at = put(at, &row->host, holder->host, host);
    (void)put(at, &row->label, holder->label, label);
    return row;
}

static bool reserve(struct cli_view *view)
{
    if (view->count < view->capacity) {
        return true;
    }
    size_t capacity = view->capacity == 0 ? 64 : 2 * view->capacity;
    struct cli_row **rows =
        realloc(view->rows, capacity * sizeof(struct cli_row *));
    if (rows == NULL) {
        return false;
    }
    view->rows = rows;
    view->capacity = capacity;
    return true;
}

static bool add_row(struct cli_view *view, const void *name, size_t name_len,
                    const struct cli_info *info)
{
    struct cli_row *row = reserve(view) ? new_row(name, name_len, info) : NULL;
    if (row == NULL) {
        view->is_short = true;
        return false;
    }
    view->rows[view->count++] = row;
    return true;
}

static bool on_name(void *user, const void *name, size_t name_len,
                    const struct hf_info *info)
{
    struct cli_info read;
    cli_info_read(&read, info);
    return add_row(user, name, name_len, &read);
}

int cli_row_compare(const struct cli_row *a, const struct cli_row *b)
{
    size_t shorter = a->name_len < b->name_len ? a->name_len : b->name_len;
    int order = memcmp(a->name, b->name, shorter);
    if (order != 0) {
        return order;
    }
    return (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

/* ---- Semaphores -------------------------------------------------------- */

bool cli_row_is_semaphore(const struct cli_row *row)
{
    return row->holder_kind == HF_HOLDER_SHARED && row->permits > 0;
}

static int compare_found(const void *left, const void *right)
{
    return cli_row_compare(*(struct cli_row *const *)left,
                           *(struct cli_row *const *)right);
}

struct cli_row **cli_view_find(const struct cli_view *view, const char *name,
                               size_t name_len)
{
    struct cli_row key = {.name = name, .name_len = name_len};
    struct cli_row *wanted = &key;
    return view->count == 0 ? NULL
                            : bsearch(&wanted, view->rows, view->count,
                                      sizeof(struct cli_row *), compare_found);
}

/* A name "gpu#012" is no slot: slots have no leading zeros. @return the length
 * of the name before the #; 0: no slot. */
static size_t split_slot(const struct cli_row *row, uint32_t *slot)
{
    size_t at = row->name_len;
    uint32_t unit = 1;
    *slot = 0;
    while (at > 0 && row->name_len - at < SLOT_DIGITS &&
           row->name[at - 1] >= '0' && row->name[at - 1] <= '9') {
        at--;
        *slot += unit * (uint32_t)(row->name[at] - '0');
        unit *= 10;
    }
    size_t digits = row->name_len - at;
    bool is_plain = digits == 1 || (digits > 1 && row->name[at] != '0');
    return is_plain && at > 0 && row->name[at - 1] == '#' ? at - 1 : 0;
}

static struct cli_row *find_whole(const struct cli_view *view,
                                  const struct cli_row *row)
{
    uint32_t slot;
    size_t len = split_slot(row, &slot);
    struct cli_row **whole =
        len > 0 ? cli_view_find(view, row->name, len) : NULL;
    return whole != NULL && cli_row_is_semaphore(*whole) &&
                   slot < (*whole)->permits
               ? *whole
               : NULL;
}

/* Rows are in the order of bytes: the first slot that is met is the semaphore's
 * first_slot. */
void cli_view_fold(struct cli_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        struct cli_row *row = view->rows[i];
        struct cli_row *whole = find_whole(view, row);
        row->slot_of = whole;
        row->first_slot = NULL;
        if (whole != NULL && whole->first_slot == NULL) {
            whole->first_slot = row;
        }
    }
}

/* A waiter for a permit already shares the name of the semaphore, so its count
 * of sharers is the sum of holders and waiters. */
uint32_t cli_row_held(const struct cli_row *row)
{
    return row->sharers < row->permits ? row->sharers : row->permits;
}

uint32_t cli_row_waiting(const struct cli_row *row)
{
    return cli_row_is_semaphore(row)
               ? row->waiting + row->sharers - cli_row_held(row)
               : row->waiting;
}

/* ---- Reading the store ------------------------------------------------- */

static enum hf_status fill(struct cli_view *view, struct hf_client *client,
                           const char *pattern, struct hf_error *error)
{
    enum hf_status status =
        hf_client_list(client, pattern, on_name, view, error);
    if (status == HF_OK && view->is_short) {
        cli_format_error(error, HF_NO_MEMORY);
        return HF_NO_MEMORY;
    }
    return status;
}

enum hf_status cli_view_look(struct cli_view *view, struct hf_client *client,
                             const char *pattern, struct hf_error *error)
{
    enum hf_status status = fill(view, client, pattern, error);
    cli_view_fold(view);
    return status;
}

/* Wildcards in the name are escaped: otherwise "a*" would list slots of "ab",
 * too. */
static void slots_pattern(char pattern[2 * HF_NAME_MAX + 4], const char *name)
{
    char *to = pattern;
    for (const char *p = name; *p != '\0'; p++) {
        if (strchr("*?[]\\^-", *p) != NULL) {
            *to++ = '\\';
        }
        *to++ = *p;
    }
    memcpy(to, "#*", sizeof("#*"));
}

enum hf_status cli_view_look_name(struct cli_view *view,
                                  struct hf_client *client, const char *name,
                                  struct hf_error *error)
{
    struct cli_info info;
    char pattern[2 * HF_NAME_MAX + 4];
    enum hf_status status =
        cli_inspect(client, name, strlen(name), &info, error);
    if (status != HF_OK ||
        (info.holder.kind == HF_HOLDER_NONE && !info.split)) {
        return status;
    }
    (void)add_row(view, name, strlen(name), &info);
    if (info.holder.permits > 0) {
        slots_pattern(pattern, name);
        status = fill(view, client, pattern, error);
    }
    cli_view_fold(view);
    return status;
}

bool cli_view_pause(struct hf_client *client, int64_t ms, int wake_fd,
                    int out_fd)
{
    struct hf_instant end =
        hf_instant_add(cli_time_now(), hf_span_ms_or_max(ms));
    struct pollfd fds[] = {
        {.fd = hf_client_fd(client), .events = POLLIN},
        {.fd = wake_fd, .events = POLLIN},
        {.fd = out_fd, .events = 0},
    };
    for (;;) {
        int64_t left_ms =
            hf_span_ms_ceil(hf_instant_until(cli_time_now(), end));
        if (left_ms == 0) {
            return true;
        }
        int timeout_ms = left_ms < INT_MAX ? (int)left_ms : INT_MAX;
        int n = poll(fds, 3, ms < 0 ? -1 : timeout_ms);
        hf_client_process(client);
        if (n < 0 || fds[1].revents != 0 || fds[2].revents != 0) {
            return n < 0 || fds[2].revents == 0;
        }
    }
}

/* ---- As the library's structs ------------------------------------------ */

static void copy(char *to, size_t room, const char *from)
{
    size_t len = strlen(from);
    memcpy(to, from, len < room ? len + 1 : 0);
}

void cli_row_read(const struct cli_row *row, struct cli_holder *out)
{
    *out = (struct cli_holder){
        .kind = row->holder_kind,
        .pid = row->pid,
        .since_s = row->since_s,
        .remaining_ms = row->remaining_ms,
        .fence = row->fence,
        .sharers = row->sharers,
        .permits = row->permits,
    };
    copy(out->owner, sizeof(out->owner), row->owner);
    copy(out->host, sizeof(out->host), row->host);
    copy(out->label, sizeof(out->label), row->label);
}

/* ---- Text -------------------------------------------------------------- */

void cli_row_mode(struct cli_out *out, const struct cli_row *row)
{
    if (row->holder_kind != HF_HOLDER_SHARED) {
        cli_out_text(out, "exclusive");
        return;
    }
    if (row->permits == 0) {
        cli_out_text(out, "shared ");
        cli_out_int(out, row->sharers);
        return;
    }
    cli_out_text(out, "permits ");
    cli_out_int(out, cli_row_held(row));
    cli_out_text(out, "/");
    cli_out_int(out, row->permits);
}

static void put_process(struct cli_out *out, const struct cli_row *row)
{
    (void)cli_out_shown(out, row->host, strlen(row->host));
    cli_out_text(out, " ");
    cli_out_int(out, row->pid);
}

void cli_row_holder(struct cli_out *out, const struct cli_row *row)
{
    if (row->is_split) {
        cli_out_text(out, "(split vote)");
    } else if (row->holder_kind == HF_HOLDER_FOREIGN ||
               row->holder_kind == HF_HOLDER_TYPE) {
        cli_out_text(out, "(another kind of client)");
    } else if (row->first_slot != NULL) {
        cli_row_holder(out, row->first_slot);
        if (cli_row_held(row) > 1) {
            cli_out_text(out, " +");
            cli_out_int(out, cli_row_held(row) - 1);
        }
    } else if (row->holder_kind == HF_HOLDER_SHARED) {
        cli_out_text(out, "-");
    } else {
        put_process(out, row);
        cli_out_text(out,
                     row->holder_kind == HF_HOLDER_ENDED ? " (ended)" : "");
    }
}

const struct cli_row *cli_row_shown(const struct cli_row *row)
{
    return row->first_slot != NULL && cli_row_held(row) == 1 ? row->first_slot
                                                             : row;
}

/* The time alone would mislead if that was not today. */
void cli_row_since(struct cli_out *out, const struct cli_row *row)
{
    char text[HF_TEXT_PHRASE];
    struct cli_out when;
    cli_out_init_text(&when, text, sizeof(text));
    if (row->since_s == 0) {
        cli_out_text(out, "-");
        return;
    }
    cli_time_text(&when, row->since_s);
    /* "2026-11-20 02:00:04": month and day. */
    cli_out_bytes(out, when.len > 8 ? text + 5 : text,
                  when.len > 8 ? 5 : when.len);
}

/* Tenths only where they matter. */
void cli_row_left(struct cli_out *out, const struct cli_row *row)
{
    char text[CLI_DURATION_TEXT];
    int64_t left_ms = row->remaining_ms;
    if (left_ms < 0) {
        cli_out_text(out, "never");
        return;
    }
    left_ms -= left_ms % (left_ms >= 10000 ? 1000 : 100);
    cli_out_text(out, cli_duration_text(left_ms, text));
}
