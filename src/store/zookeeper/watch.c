/* SPDX-License-Identifier: Apache-2.0 */
/* WATCHES
 *
 *   children, and a watch ──▶ the server says once that they have changed
 *        ▲                          │
 *        └──────────────────────────┘  was there, and is not: has ended
 *
 *   data, and a watch ──▶ the server says once that the node is gone: ended;
 *        ▲                          │      or that it has changed
 *        └──────────────────────────┘  there is no such node: it has ended
 *
 * One for each name with waiters, on the main connection, of the container or
 * of one entry. The first list of children is compared with the moment of the
 * machine's own list: if there was a change between them, an end is reported,
 * without a number. The library sets its watches again when it has found
 * another server, and reports the entries that have ended since.
 *
 * A node that is gone leaves no watch (`exists` would leave one), and comes
 * never again, since its name has its number. The library does not report when
 * it has gone, so its end is reported without a revision.
 *
 * The library forgets a watch only by a request. So a watch
 * that was dropped stays with it until the server has said something, or the
 * handle is closed; the next watch of that name takes it over.
 *
 * Cost: one request to begin, and no connection. Of all entries, each change is
 * a list of their names for each client that watches them; of one entry, its
 * end is one message. */
#include "store/zookeeper/watch.h"
#include "store/zookeeper/handle.h"
#include "store/zookeeper/key.h"
#include "store/zookeeper/zookeeper.h"

#include <stdlib.h>
#include <string.h>

static void set(struct hf_zk_watch *watch);

static void fail(struct hf_zk_watch *watch)
{
    watch->is_failed = true;
    hf_timer_set(&watch->zk->timer, HF_LONG_AGO);
}

/* ---- Ends ---------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a;
    uint32_t other = *(const uint32_t *)b;
    return one < other ? -1 : one > other ? 1 : 0;
}

static size_t read_sequences(const struct String_vector *children,
                             uint32_t *out)
{
    size_t n = 0;
    size_t len;
    for (int i = 0; i < children->count; i++) {
        n += hf_zk_key_sequence(children->data[i], &out[n], &len);
    }
    qsort(out, n, sizeof(*out), compare);
    return n;
}

/* Each report may make the machine unwatch it. */
static void report(struct hf_zk_watch *watch, uint64_t number,
                   struct hf_instant now)
{
    if (!watch->is_dropped) {
        hf_ordered_ended(&watch->zk->ordered, watch->user, number,
                         watch->revision, now);
    }
}

/* A sequence may be there twice: of ours, and as another program chose it. */
static void report_ends(struct hf_zk_watch *watch, int64_t czxid,
                        const uint32_t *old, size_t n_old, const uint32_t *new,
                        size_t n_new, struct hf_instant now)
{
    size_t at = 0;
    for (size_t i = 0; i < n_old; i++) {
        while (at < n_new && new[at] < old[i]) {
            at++;
        }
        if (at < n_new && new[at] == old[i]) {
            at++;
        } else {
            report(watch, hf_zk_number(czxid, old[i]), now);
        }
    }
}

static void take_list(struct hf_zk_watch *watch,
                      const struct String_vector *children,
                      const struct Stat *stat, struct hf_instant now)
{
    uint32_t *old = watch->sequences;
    size_t n_old = watch->n_sequences;
    bool had_list = watch->has_list && watch->czxid == stat->czxid;
    bool has_moved = (uint64_t)stat->pzxid != watch->revision;
    uint32_t *sequences =
        calloc((size_t)children->count + 1, sizeof(*sequences));
    if (sequences == NULL) {
        fail(watch);
        return;
    }
    size_t n = read_sequences(children, sequences);
    watch->sequences = sequences;
    watch->n_sequences = n;
    watch->has_list = true;
    watch->czxid = stat->czxid;
    watch->revision = (uint64_t)stat->pzxid;
    if (had_list) {
        report_ends(watch, stat->czxid, old, n_old, sequences, n, now);
    } else if (has_moved) {
        report(watch, 0, now);
    }
    free(old);
}

/* ---- The library --------------------------------------------------------- */

static void report_end(struct hf_zk_watch *watch)
{
    if (!watch->is_dropped) {
        hf_ordered_ended(&watch->zk->ordered, watch->user, watch->number, 0,
                         watch->zk->now);
    }
}

static void on_event(zhandle_t *library, int type, int state, const char *path,
                     void *context)
{
    struct hf_zk_watch *watch = context;
    (void)library;
    (void)state;
    (void)path;
    if (type == ZOO_SESSION_EVENT) {
        return; /* it stays */
    }
    watch->is_set = false;
    if (watch->is_dropped) {
        hf_timer_set(&watch->zk->timer, HF_LONG_AGO);
    } else if (type == ZOO_DELETED_EVENT && watch->number != 0) {
        report_end(watch);
    } else if (watch->asking == 0) {
        set(watch);
    } else {
        watch->must_ask = true;
    }
}

/** An answer leaves the watch set. An error does not end one that was set
 * before: the library keeps it, and sets it again at another server.
 * @return true: the reply is to be taken. */
static bool note_reply(struct hf_zk_watch *watch, int rc)
{
    watch->asking--;
    watch->is_set |= rc == ZOK;
    if (watch->is_dropped || watch->zk->is_closing) {
        hf_timer_set(&watch->zk->timer, HF_LONG_AGO);
        return false;
    }
    if (rc != ZOK && (rc != ZNONODE || watch->number == 0)) {
        fail(watch);
        return false;
    }
    return true;
}

static void set_again(struct hf_zk_watch *watch)
{
    if (watch->must_ask && !watch->is_dropped) {
        set(watch);
    }
}

static void on_children(int rc, const struct String_vector *children,
                        const struct Stat *stat, const void *data)
{
    struct hf_zk_watch *watch = (struct hf_zk_watch *)(uintptr_t)data;
    if (note_reply(watch, rc)) {
        take_list(watch, children, stat, watch->zk->now);
        set_again(watch);
    }
}

static void on_data(int rc, const char *value, int len, const struct Stat *stat,
                    const void *data)
{
    struct hf_zk_watch *watch = (struct hf_zk_watch *)(uintptr_t)data;
    (void)value;
    (void)len;
    (void)stat;
    if (!note_reply(watch, rc)) {
        return;
    }
    if (rc == ZNONODE) {
        report_end(watch);
    } else {
        set_again(watch);
    }
}

static int read_path(struct hf_zk_watch *watch, zhandle_t *library)
{
    return watch->number != 0
               ? zoo_awget(library, watch->path, on_event, watch, on_data,
                           watch)
               : zoo_awget_children2(library, watch->path, on_event, watch,
                                     on_children, watch);
}

static void set(struct hf_zk_watch *watch)
{
    struct hf_zk_handle *main = watch->zk->main;
    watch->must_ask = false;
    int rc = main == NULL || main->library == NULL
                 ? ZINVALIDSTATE
                 : read_path(watch, main->library);
    if (rc == ZOK) {
        watch->asking++;
        hf_zk_handle_wake(main);
    } else {
        fail(watch);
    }
}

/* ---- Life ---------------------------------------------------------------- */

static struct hf_zk_watch *find_dropped(struct hf_zk *zk, const char *path)
{
    struct hf_zk_watch *watch = zk->watches;
    while (watch != NULL && !(watch->is_dropped && watch->is_set &&
                              strcmp(watch->path, path) == 0)) {
        watch = watch->next;
    }
    return watch;
}

static struct hf_zk_watch *add(struct hf_zk *zk, char *path)
{
    struct hf_zk_watch *watch = calloc(1, sizeof(*watch));
    if (watch != NULL) {
        watch->zk = zk;
        watch->path = path;
        watch->next = zk->watches;
        zk->watches = watch;
    }
    return watch;
}

/** @return NULL: no memory. */
static char *path_of(const struct hf_zk *zk,
                     const struct hf_wire_watched *scope)
{
    char *folder = hf_zk_key_folder(zk->base, scope->name);
    if (folder == NULL || scope->id.len == 0) {
        return folder;
    }
    char *node = strndup(scope->id.data, scope->id.len);
    char *path = node == NULL ? NULL : hf_zk_key_join(folder, node);
    free(folder);
    free(node);
    return path;
}

bool hf_zk_watch(struct hf_wire *wire, const struct hf_wire_watched *scope,
                 void *user, struct hf_instant now, struct hf_wire_watch **out)
{
    struct hf_zk *zk = hf_zk_of_wire(wire);
    char *path = hf_zk_is_ready(zk) ? path_of(zk, scope) : NULL;
    (void)now;
    *out = NULL;
    if (path == NULL) {
        return false;
    }
    struct hf_zk_watch *dropped = find_dropped(zk, path);
    struct hf_zk_watch *watch = dropped != NULL ? dropped : add(zk, path);
    if (watch == NULL || watch == dropped) {
        free(path); /* else the watch has it */
    }
    if (watch == NULL) {
        return false;
    }
    watch->user = user;
    watch->number = scope->number;
    watch->revision = scope->revision;
    watch->has_list = false;
    watch->is_dropped = watch->is_failed = false;
    set(watch); /* for the list; the library keeps one watch of it */
    *out = (struct hf_wire_watch *)(void *)watch;
    return true;
}

void hf_zk_unwatch(struct hf_wire *wire, struct hf_wire_watch *watch)
{
    struct hf_zk_watch *dropped = (struct hf_zk_watch *)(void *)watch;
    dropped->is_dropped = true;
    hf_timer_set(&hf_zk_of_wire(wire)->timer, HF_LONG_AGO);
}

static void free_watch(struct hf_zk_watch *watch)
{
    free(watch->path);
    free(watch->sequences);
    free(watch);
}

/* From the first one each time: a report may change the list. */
static struct hf_zk_watch *next_failed(struct hf_zk *zk)
{
    struct hf_zk_watch *watch = zk->watches;
    while (watch != NULL && !(watch->is_failed && !watch->is_dropped)) {
        watch = watch->next;
    }
    return watch;
}

void hf_zk_watches_tell(struct hf_zk *zk, struct hf_instant now)
{
    struct hf_zk_watch *watch;
    while ((watch = next_failed(zk)) != NULL) {
        watch->is_dropped = true;
        hf_ordered_unwatched(&zk->ordered, watch->user, now);
    }
}

void hf_zk_watches_fail(struct hf_zk *zk)
{
    for (struct hf_zk_watch *watch = zk->watches; watch != NULL;
         watch = watch->next) {
        watch->is_set = false;
        fail(watch);
    }
}

void hf_zk_watches_free(struct hf_zk *zk, bool all)
{
    for (struct hf_zk_watch **at = &zk->watches; *at != NULL;) {
        struct hf_zk_watch *watch = *at;
        if (all ||
            (watch->is_dropped && !watch->is_set && watch->asking == 0)) {
            *at = watch->next;
            free_watch(watch);
        } else {
            at = &watch->next;
        }
    }
}
