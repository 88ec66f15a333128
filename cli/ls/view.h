/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of the names that are held, sorted by name, with the slots of a
 * semaphore counted together. For ls, ls --follow and top.
 *
 *     struct cli_view view;
 *     cli_view_init(&view);
 *     if (cli_view_look(&view, client, "job*", &error) == HF_OK)
 *         for (size_t i = 0; i < view.count; i++) … view.rows[i] …
 *     cli_view_fini(&view);
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "out.h"
#include "snapshot.h"

#include <holdfast/holdfast.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One name that is held. More compact than a struct cli_holder: that has texts
 * of fixed size. */
struct cli_row {
    const char *name; /* a NUL follows it */
    size_t name_len;
    const char *owner, *host, *label; /* empty: none */
    int64_t pid;
    int64_t since_s;      /* 0: unknown */
    int64_t remaining_ms; /* -1: no expiry */
    uint64_t fence;       /* 0: unknown */
    enum hf_kind holder_kind;
    bool is_split;
    uint32_t sharers; /* SHARED: how many hold it, or wait for a permit */
    uint32_t permits; /* SHARED: size of the semaphore, or 0 */
    uint32_t waiting; /* in the queue of this very name */
    /* A semaphore and its slots, which are names of their own. */
    const struct cli_row *slot_of;    /* of a slot: the semaphore */
    const struct cli_row *first_slot; /* of a semaphore: one that is held */
};

struct cli_view {
    struct cli_row **rows; /* sorted by bytes, slots among them */
    size_t count;
    size_t capacity;
    bool is_short; /* memory ran out */
};

/* Without rows, and without memory. */
void cli_view_init(struct cli_view *view);

/* Free the rows. Without rows again. */
void cli_view_fini(struct cli_view *view);

/* Names that match `pattern` (NULL: all), into an empty view. */
enum hf_status cli_view_look(struct cli_view *view, struct hf_client *client,
                             const char *pattern, struct hf_error *error);

/* One name; if it is a semaphore, its slots too. No scan of all names, unless
 * it is one. */
enum hf_status cli_view_look_name(struct cli_view *view,
                                  struct hf_client *client, const char *name,
                                  struct hf_error *error);

/* Wait between two snapshots: until `ms` are over (below 0: for ever),
 * `wake_fd` is readable, or the reader of `out_fd` has closed it (-1: not
 * checked). The client runs during the wait, for example to reconnect. @return
 * false if `out_fd` is closed. */
bool cli_view_pause(struct hf_client *client, int64_t ms, int wake_fd,
                    int out_fd);

/* Link semaphores with their slots. cli_view_look() calls it. */
void cli_view_fold(struct cli_view *view);

/* The place of a name among the rows, or NULL. */
struct cli_row **cli_view_find(const struct cli_view *view, const char *name,
                               size_t name_len);

/* Bytes order, as the rows are in. */
int cli_row_compare(const struct cli_row *a, const struct cli_row *b);

/* Whether its holders have permits: then it has slots, or is being acquired.
 */
bool cli_row_is_semaphore(const struct cli_row *row);

/* Permits of a semaphore that are taken. */
uint32_t cli_row_held(const struct cli_row *row);

/* How many wait; of a semaphore, for a permit too. */
uint32_t cli_row_waiting(const struct cli_row *row);

/* The row as a copy of the library's report. */
void cli_row_read(const struct cli_row *row, struct cli_holder *out);

/* "exclusive", "shared 3", "permits 2/5". */
void cli_row_mode(struct cli_out *out, const struct cli_row *row);

/* "db3 4711", "db3 4711 +1", "(another kind of client)", "-". */
void cli_row_holder(struct cli_out *out, const struct cli_row *row);

/* In eight columns: "02:00:04", "11-20" if that was not today, "-". */
void cli_row_since(struct cli_out *out, const struct cli_row *row);

/* The remaining time of the lease as text: "29s", "9.5s", "never". */
void cli_row_left(struct cli_out *out, const struct cli_row *row);

/* The row that supplies the shown start, fence and label: for a semaphore with
 * one holder that slot, else the row itself. */
const struct cli_row *cli_row_shown(const struct cli_row *row);

#endif
