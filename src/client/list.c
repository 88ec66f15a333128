/* SPDX-License-Identifier: Apache-2.0 */
/* The held names, sorted. Every node is scanned page by page, and the names are
 * merged. Then they are inspected, WINDOW at a time: one round trip for each
 * window, not for each name.
 *
 * Cost: one round trip for each page of the scan (ask.c of the store says how
 * many names that is), and one for each 32 names. Every name is on the heap
 * until the end, and sorted once: O(n log n) of the names found. */
#include "client/callback.h"
#include "client/cancel.h"
#include "client/enter.h"
#include "client/inspect.h"
#include "client/op_async.h"
#include "client/request.h"
#include "client/thread.h"
#include "client/wait.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/fail.h"
#include "base/glob.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a pattern: each byte of the longest name escaped. */
#define PATTERN_MAX (2 * (size_t)HF_NAME_MAX)

/* Names: enough that a round trip is shared, few enough that the first lines
 * appear at once, and small in memory. */
#define WINDOW 32

struct listed_name {
    uint16_t len;
    char bytes[];
};

struct names {
    struct listed_name **list;
    size_t count;
    size_t capacity;
    bool is_short; /* memory ran out */
};

struct peek {
    struct hf_broadcast query;
    struct hf_info info;
    const struct listed_name *name;
};

/* The children are first the scan, then the inspections of one window. The last
 * child ends the operation, which is listed again for the next window when the
 * results have been reported. */
struct hf_list {
    struct hf_op op; /* first: it is the item in the tables */
    struct hf_broadcast scan;
    struct names names;
    struct peek *window; /* NULL: scanning */
    size_t n_peeks;
    size_t n_seen; /* names in windows so far */
    hf_list_fn *each;
    void *user; /* of `each` */
    char pattern[];
};

static struct hf_list *list_of(struct hf_op *op)
{
    return (struct hf_list *)(void *)op;
}

/* ---- Names ------------------------------------------------------------- */

static void add_name(struct names *names, const struct hf_bytes *bytes)
{
    if (bytes->len == 0 || bytes->len > HF_NAME_MAX) {
        return; /* cannot be a name of ours */
    }
    struct listed_name **list =
        hf_array_reserve(names->list, &names->capacity, names->count + 1,
                         sizeof(struct listed_name *));
    if (list == NULL) {
        names->is_short = true;
        return;
    }
    names->list = list;
    HF_ASSERT(names->count < names->capacity);
    struct listed_name *name = malloc(sizeof(*name) + bytes->len);
    if (name == NULL) {
        names->is_short = true;
        return;
    }
    name->len = (uint16_t)bytes->len;
    memcpy(name->bytes, bytes->data, bytes->len);
    names->list[names->count++] = name;
}

static int compare(const void *left, const void *right)
{
    const struct listed_name *a = *(struct listed_name *const *)left;
    const struct listed_name *b = *(struct listed_name *const *)right;
    size_t shorter = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->bytes, b->bytes, shorter);
    return order != 0 ? order : (int)a->len - (int)b->len;
}

static void sort_names(struct names *names)
{
    size_t kept = 0;
    if (names->count == 0) {
        return;
    }
    qsort(names->list, names->count, sizeof(struct listed_name *), compare);
    for (size_t i = 0; i < names->count; i++) {
        if (kept > 0 && compare(&names->list[kept - 1], &names->list[i]) == 0) {
            free(names->list[i]);
        } else {
            names->list[kept++] = names->list[i];
        }
    }
    HF_ASSERT(kept > 0 && kept <= names->count);
    names->count = kept;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->list[i]);
    }
    free(names->list);
}

/* ---- Scanning ---------------------------------------------------------- */

static bool on_page(struct hf_broadcast *query, const struct hf_answer *answer)
{
    struct names *names = query->user;
    const struct hf_order *order = &query->op.order;
    HF_ASSERT(answer->node < query->op.client->nodes.count);
    for (size_t i = 0; i < answer->n_names; i++) {
        const struct hf_bytes *name = &answer->names[i];
        if (order->name_len == 0 || hf_glob_match(order->name, order->name_len,
                                                  name->data, name->len)) {
            add_name(names, name);
        }
    }
    query->cursor[answer->node] = answer->counter;
    return answer->counter != 0 && !names->is_short;
}

static void add_child(struct hf_list *list, struct hf_broadcast *query)
{
    HF_ASSERT(list->op.n_children > 0); /* that of begin() */
    query->op.parent = &list->op;
    list->op.n_children++;
}

/** List the operation, with one child more until begin_done(), so that children
 * which end at once do not end it. @return false: no memory. */
static bool begin(struct hf_list *list)
{
    HF_ASSERT(list->op.n_children == 0 && !list->op.is_listed);
    list->op.is_done = false;
    list->op.n_children = 1;
    return hf_op_list(&list->op);
}

static void begin_done(struct hf_list *list)
{
    hf_op_end_child(&list->op);
}

static enum hf_status scan(struct hf_list *list, struct hf_error *error)
{
    struct hf_broadcast *query = &list->scan;
    enum hf_status status = hf_client_need_records(
        list->op.client,
        "its key tells no name; holdfast ls NAME shows its holder", error);
    if (status != HF_OK) {
        return status;
    }
    if (!begin(list)) {
        return hf_fail_memory(error);
    }
    hf_broadcast_init(query, list->op.client, HF_VERB_SCAN, list->pattern,
                      strlen(list->pattern));
    query->on_reply = on_page;
    query->user = &list->names;
    add_child(list, query);
    if (!hf_broadcast_begin(query)) {
        list->op.n_children--;
        hf_op_unlist(&list->op);
        return hf_fail_memory(error);
    }
    begin_done(list);
    return HF_OK;
}

static void fini(struct hf_op *op)
{
    struct hf_list *list = list_of(op);
    free_names(&list->names);
    free(list->window);
}

static void end_query(struct hf_broadcast *query)
{
    if (!query->op.is_done) {
        hf_op_abandon(&query->op);
    }
}

static void abandon(struct hf_op *op)
{
    struct hf_list *list = list_of(op);
    HF_ASSERT(list->n_peeks <= WINDOW);
    end_query(&list->scan);
    for (size_t i = 0; i < list->n_peeks; i++) {
        end_query(&list->window[i].query);
    }
}

static const struct hf_op_handlers handlers = {
    .kind = HF_OP_LIST,
    .abandon = abandon,
};

/** @return NULL with a status: HF_INVALID, HF_NO_MEMORY. */
static struct hf_list *list_new(struct hf_client *client, const char *pattern,
                                hf_list_fn *each, void *user,
                                enum hf_status *status, struct hf_error *error)
{
    size_t len = pattern == NULL ? 0 : strlen(pattern);
    if (len > PATTERN_MAX) {
        *status = hf_fail(error, HF_INVALID, "the pattern is too long");
        return NULL;
    }
    struct hf_list *list = malloc(sizeof(*list) + len + 1);
    if (list == NULL) {
        *status = hf_fail_memory(error);
        return NULL;
    }
    hf_op_init(&list->op, client, &handlers);
    memcpy(list->pattern, len == 0 ? "" : pattern, len + 1);
    list->names = (struct names){0};
    list->window = NULL;
    list->n_peeks = 0;
    list->n_seen = 0;
    list->each = each;
    list->user = user;
    list->scan.op.is_done = true;
    return list;
}

/* ---- Inspecting -------------------------------------------------------- */

/** The user may call any function from there, so it runs without the mutex.
 * @return false: stop. */
static bool tell(struct hf_list *list, const struct peek *peek)
{
    struct hf_client *client = list->op.client;
    HF_ASSERT(peek->query.op.is_done); /* `info` is complete */
    if (peek->info.holder.kind == HF_HOLDER_NONE && !peek->info.split) {
        return true; /* freed since the scan */
    }
    struct hf_caller self;
    hf_client_let_out(client, &self);
    bool goes_on =
        list->each(list->user, peek->name->bytes, peek->name->len, &peek->info);
    hf_client_take_in(client, &self);
    return goes_on && !client->is_closing && !list->op.is_dropped;
}

/* Inspect up to WINDOW more names. If memory runs out, the rest is inspected in
 * the next window; if it runs out at the first name, that is an error. */
static enum hf_status begin_window(struct hf_list *list)
{
    struct hf_client *client = list->op.client;
    HF_ASSERT(list->n_seen < list->names.count);
    list->n_peeks = 0;
    if (list->window == NULL) {
        list->window = malloc(WINDOW * sizeof(*list->window));
    }
    if (list->window == NULL || !begin(list)) {
        return hf_fail_memory(&list->op.error);
    }
    while (list->n_peeks < WINDOW && list->n_seen < list->names.count) {
        struct peek *peek = &list->window[list->n_peeks];
        peek->name = list->names.list[list->n_seen];
        hf_inspect_init(&peek->query, client, peek->name->bytes,
                        peek->name->len, &peek->info);
        add_child(list, &peek->query);
        if (!hf_broadcast_begin(&peek->query)) {
            list->op.n_children--;
            break;
        }
        list->n_peeks++;
        list->n_seen++;
    }
    if (list->n_peeks == 0) {
        hf_op_unlist(&list->op);
        list->op.is_done = true;
        return hf_fail_memory(&list->op.error);
    }
    begin_done(list);
    return HF_OK;
}

/** Report the window. *goes_on = false: the user stops. @return HF_OK, or the
 * error of an inspection. */
static enum hf_status report_window(struct hf_list *list, bool *goes_on)
{
    HF_ASSERT(list->n_peeks > 0 && list->n_peeks <= list->n_seen);
    for (size_t i = 0; i < list->n_peeks; i++) {
        struct peek *peek = &list->window[i];
        if (peek->query.op.status != HF_OK) {
            list->op.error = peek->query.op.error;
            return peek->query.op.status;
        }
        hf_inspect_merge(&peek->query);
        *goes_on = tell(list, peek);
        if (!*goes_on) {
            return list->op.client->is_closing
                       ? hf_fail(&list->op.error, HF_CANCELLED,
                                 "the client was closed")
                       : HF_OK;
        }
    }
    return HF_OK;
}

static enum hf_status report_scan(struct hf_list *list)
{
    HF_ASSERT(list->n_seen == 0);
    if (list->scan.op.status != HF_OK) {
        list->op.error = list->scan.op.error;
        return list->scan.op.status;
    }
    if (list->names.is_short) {
        return hf_fail_memory(&list->op.error);
    }
    sort_names(&list->names);
    return HF_OK;
}

/** @return true: the list is over, with op->status; false: the next window has
 * begun. */
static bool report(struct hf_op *op)
{
    struct hf_list *list = list_of(op);
    bool goes_on = true;
    HF_ASSERT(op->is_done && op->n_children == 0);
    enum hf_status status = list->window == NULL
                                ? report_scan(list)
                                : report_window(list, &goes_on);
    goes_on &= status == HF_OK && list->n_seen < list->names.count;
    if (goes_on && hf_op_is_cancelled(op)) {
        status = hf_fail(&op->error, HF_CANCELLED, "%s",
                         hf_status_text(HF_CANCELLED));
    } else if (goes_on) {
        status = begin_window(list);
    }
    goes_on &= status == HF_OK;
    if (!goes_on) {
        op->status = status;
    }
    return !goes_on;
}

static enum hf_status run(struct hf_list *list, struct hf_error *error)
{
    enum hf_status status = scan(list, error);
    while (status == HF_OK) {
        status = hf_op_await(&list->op, error);
        if (status != HF_OK || report(&list->op)) {
            break;
        }
    }
    if (list->op.is_done && list->op.status != HF_OK && error != NULL) {
        *error = list->op.error;
    }
    return status != HF_OK ? status : list->op.status;
}

enum hf_status hf_client_list(struct hf_client *client, const char *pattern,
                              hf_list_fn *each, void *user,
                              struct hf_error *error)
{
    enum hf_status status =
        hf_op_enter(client, each == NULL ? "no callback" : NULL, NULL, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_list *list =
        list_new(client, pattern, each, user, &status, error);
    if (list != NULL) {
        status = run(list, error);
        fini(&list->op);
        free(list);
    }
    hf_client_leave(client);
    return status;
}

/* ---- Asynchronous ------------------------------------------------------ */

static enum hf_status start(struct hf_client *client, const char *pattern,
                            hf_list_fn *each, hf_op_fn *done, void *user,
                            struct hf_op **out, struct hf_error *error)
{
    enum hf_status status = hf_client_start_thread(client, error);
    if (status != HF_OK) {
        return status;
    }
    struct hf_list *list =
        list_new(client, pattern, each, user, &status, error);
    if (list == NULL) {
        return status;
    }
    hf_op_set_done(&list->op, done, user);
    list->op.report = report;
    list->op.fini = fini;
    status = scan(list, error);
    if (status != HF_OK) {
        hf_op_free(&list->op);
    } else if (out != NULL) {
        *out = &list->op;
    }
    return status;
}

enum hf_status hf_op_start_list(struct hf_client *client, const char *pattern,
                                hf_list_fn *each, hf_op_fn *done, void *user,
                                struct hf_op **out, struct hf_error *error)
{
    const char *missing = done == NULL ? "no callback for the end" : NULL;
    enum hf_status status =
        hf_op_enter(client, each == NULL ? "no callback" : missing, out, error);
    if (status == HF_OK) {
        status = start(client, pattern, each, done, user, out, error);
        hf_client_leave(client);
    }
    return status;
}
