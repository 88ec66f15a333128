/* SPDX-License-Identifier: Apache-2.0 */
/* Taken names, sorted. Every node is scanned page by page, the names of all
 * are merged, and each is inspected, a window of them at a time: one round
 * trip for the window, not for each. */
#include "client/inspect.h"

#include "base/fail.h"
#include "base/glob.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 32

struct name {
    uint16_t len;
    char bytes[];
};

struct names {
    struct name **list;
    size_t count;
    size_t capacity;
    bool is_short;       /* memory ran out */
    unsigned interrupts; /* of the client, when the call began */
};

struct peek {
    struct hf_look look;
    struct hf_info info;
    const struct name *name;
};

/* ---- Names ------------------------------------------------------------- */

static void add_name(struct names *names, const struct hf_bytes *bytes)
{
    if (bytes->len == 0 || bytes->len > HF_NAME_MAX) {
        return; /* no name of ours */
    }
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 64 : 2 * names->capacity;
        struct name **list =
            realloc(names->list, capacity * sizeof(struct name *));
        if (list == NULL) {
            names->is_short = true;
            return;
        }
        names->list = list;
        names->capacity = capacity;
    }
    struct name *name = malloc(sizeof(*name) + bytes->len);
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
    const struct name *a = *(struct name *const *)left;
    const struct name *b = *(struct name *const *)right;
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
    qsort(names->list, names->count, sizeof(struct name *), compare);
    for (size_t i = 0; i < names->count; i++) {
        if (kept > 0 && compare(&names->list[kept - 1], &names->list[i]) == 0) {
            free(names->list[i]);
        } else {
            names->list[kept++] = names->list[i];
        }
    }
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

static bool on_page(struct hf_look *look, const struct hf_answer *answer)
{
    struct names *names = look->user;
    const struct hf_order *order = &look->op.order;
    for (size_t i = 0; i < answer->n_names; i++) {
        const struct hf_bytes *name = &answer->names[i];
        if (order->name_len == 0 || hf_glob_match(order->name, order->name_len,
                                                  name->data, name->len)) {
            add_name(names, name);
        }
    }
    look->cursor[answer->node] = answer->counter;
    return answer->counter != 0 && !names->is_short;
}

static enum hf_status scan(struct hf_client *client, const char *pattern,
                           struct names *names, struct hf_error *error)
{
    struct hf_look look;
    hf_look_init(&look, client, HF_VERB_SCAN, pattern,
                 pattern == NULL ? 0 : strlen(pattern));
    look.heard = on_page;
    look.user = names;
    names->interrupts = look.op.interrupts;
    if (!hf_look_begin(&look)) {
        return hf_fail_memory(error);
    }
    enum hf_status status = hf_op_await(&look.op, error);
    if (status == HF_OK && names->is_short) {
        return hf_fail_memory(error);
    }
    sort_names(names);
    return status;
}

/* ---- Inspecting -------------------------------------------------------- */

/* The user's function may call anything, so the mutex is let go. */
static bool report(struct hf_client *client, const struct peek *peek,
                   hf_list_fn *each, void *user)
{
    if (peek->info.holder.kind == HF_HOLDER_NONE && !peek->info.split) {
        return true; /* freed since it was seen */
    }
    struct hf_caller self;
    hf_client_let_out(client, &self);
    bool goes_on = each(user, peek->name->bytes, peek->name->len, &peek->info);
    hf_client_take_in(client, &self);
    return goes_on && !client->is_closing;
}

/* Begin with up to WINDOW names from `first` on. @return how many; 0: no
 * memory. */
static size_t begin_window(struct hf_client *client, struct peek *window,
                           const struct names *names, size_t first)
{
    struct name **list = names->list + first;
    size_t count = names->count - first;
    size_t n = 0;
    for (; n < count && n < WINDOW; n++) {
        window[n].name = list[n];
        if (!hf_inspect_begin(&window[n].look, client, list[n]->bytes,
                              list[n]->len, &window[n].info)) {
            break;
        }
        window[n].look.op.interrupts = names->interrupts;
    }
    return n;
}

static void abandon_from(struct peek *window, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++) {
        if (!window[i].look.op.is_done) {
            hf_op_abandon(&window[i].look.op);
        }
    }
}

static enum hf_status report_window(struct hf_client *client,
                                    struct peek *window, size_t n,
                                    hf_list_fn *each, void *user, bool *goes_on,
                                    struct hf_error *error)
{
    for (size_t i = 0; i < n; i++) {
        enum hf_status status = hf_inspect_await(&window[i].look, error);
        if (status == HF_OK) {
            *goes_on = report(client, &window[i], each, user);
        }
        if (status != HF_OK || !*goes_on) {
            abandon_from(window, i + 1, n);
            return status;
        }
    }
    return HF_OK;
}

static enum hf_status report_all(struct hf_client *client,
                                 const struct names *names, hf_list_fn *each,
                                 void *user, struct hf_error *error)
{
    enum hf_status status = HF_OK;
    bool goes_on = true;
    struct peek *window = malloc(WINDOW * sizeof(*window));
    if (window == NULL) {
        return hf_fail_memory(error);
    }
    for (size_t i = 0; i < names->count && status == HF_OK && goes_on;) {
        size_t n = begin_window(client, window, names, i);
        i += n;
        status = n == 0 ? hf_fail_memory(error)
                        : report_window(client, window, n, each, user, &goes_on,
                                        error);
    }
    free(window);
    return status;
}

enum hf_status hf_client_list(struct hf_client *client, const char *pattern,
                              hf_list_fn *each, void *user,
                              struct hf_error *error)
{
    struct names names = {0};
    if (each == NULL) {
        return hf_fail(error, HF_INVALID, "no callback");
    }
    enum hf_status status = hf_client_begin(client, error);
    if (status != HF_OK) {
        return status;
    }
    status = scan(client, pattern, &names, error);
    if (status == HF_OK) {
        status = report_all(client, &names, each, user, error);
    }
    free_names(&names);
    hf_client_leave(client);
    return status;
}
