/* SPDX-License-Identifier: Apache-2.0 */
#include "top/look.h"

#include "clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The pause is at least so many times the duration of a poll: however many
 * names there are, the servers are scanned a fifth of the time at most. */
#define REST 4

void top_look_free(struct top_look *look)
{
    if (look != NULL) {
        cli_view_fini(&look->view);
        cli_entries_fini(&look->entries);
        free(look);
    }
}

/* ---- The thread -------------------------------------------------------- */

static void look_at_entries(struct top_look *look, struct hf_client *client,
                            const struct top_wish *wish)
{
    struct hf_error error;
    if (look->status != HF_OK || wish->name_len == 0) {
        return;
    }
    if (cli_entries_look(&look->entries, client, wish->name, wish->name_len,
                         &error) == HF_OK) {
        memcpy(look->name, wish->name, wish->name_len);
        look->name_len = wish->name_len;
    }
}

static struct top_look *look_now(const struct top_looker *looker,
                                 const struct top_wish *wish)
{
    struct top_look *look = calloc(1, sizeof(*look));
    if (look == NULL) {
        return NULL;
    }
    cli_view_init(&look->view);
    cli_entries_init(&look->entries);
    look->status = cli_view_look(&look->view, looker->client, looker->pattern,
                                 &look->error);
    look_at_entries(look, looker->client, wish);
    look->n_nodes = hf_client_nodes(looker->client);
    for (int i = 0; i < look->n_nodes; i++) {
        cli_node(looker->client, i, &look->nodes[i]);
    }
    return look;
}

/* The length of the pause; below 0: until woken. */
static int64_t rest_ms(const struct top_wish *wish, int64_t took_ms)
{
    int64_t pause_ms = wish->interval_ms - took_ms;
    return wish->is_paused             ? -1
           : pause_ms < REST * took_ms ? REST * took_ms
                                       : pause_ms;
}

/* Pause after a poll of that duration. A new request restarts the pause, unless
 * it is urgent. @return false: the thread must end. */
static bool rest(struct top_looker *looker, int64_t took_ms)
{
    eventfd_t count;
    for (;;) {
        pthread_mutex_lock(&looker->mutex);
        bool is_hurried = looker->is_hurried;
        bool is_ending = looker->is_ending;
        int64_t ms = rest_ms(&looker->wish, took_ms);
        looker->is_hurried = false;
        pthread_mutex_unlock(&looker->mutex);
        if (is_ending || is_hurried) {
            return !is_ending;
        }
        (void)cli_view_pause(looker->client, ms, looker->wake_fd, -1);
        if (eventfd_read(looker->wake_fd, &count) < 0) {
            return true;
        }
    }
}

static void *look_on(void *user)
{
    struct top_looker *looker = user;
    int64_t took_ms;
    do {
        pthread_mutex_lock(&looker->mutex);
        struct top_wish wish = looker->wish;
        pthread_mutex_unlock(&looker->mutex);
        struct hf_instant began = cli_time_now();
        struct top_look *look = look_now(looker, &wish);
        bool is_outage = look != NULL && look->status != HF_OK;
        took_ms =
            is_outage
                ? 0
                : hf_span_ms_floor(hf_instant_until(began, cli_time_now()));
        pthread_mutex_lock(&looker->mutex);
        top_look_free(looker->latest);
        looker->latest = look;
        pthread_mutex_unlock(&looker->mutex);
        (void)eventfd_write(looker->fd, 1);
    } while (rest(looker, took_ms));
    return NULL;
}

/* ---- The main thread --------------------------------------------------- */

int top_looker_start(struct top_looker *looker, struct hf_client *client,
                     const char *pattern, const struct top_wish *wish)
{
    *looker = (struct top_looker){
        .client = client,
        .pattern = pattern,
        .wish = *wish,
        .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
    };
    if (looker->fd < 0 || looker->wake_fd < 0) {
        return errno;
    }
    (void)pthread_mutex_init(&looker->mutex, NULL);
    return pthread_create(&looker->thread, NULL, look_on, looker);
}

static bool is_same(const struct top_wish *a, const struct top_wish *b)
{
    return a->interval_ms == b->interval_ms && a->is_paused == b->is_paused &&
           a->name_len == b->name_len &&
           memcmp(a->name, b->name, a->name_len) == 0;
}

void top_looker_wish(struct top_looker *looker, const struct top_wish *wish)
{
    pthread_mutex_lock(&looker->mutex);
    if (!is_same(&looker->wish, wish)) {
        bool is_other =
            looker->wish.name_len != wish->name_len ||
            memcmp(looker->wish.name, wish->name, wish->name_len) != 0;
        looker->is_hurried |= is_other && wish->name_len > 0;
        looker->wish = *wish;
        (void)eventfd_write(looker->wake_fd, 1);
    }
    pthread_mutex_unlock(&looker->mutex);
}

struct top_look *top_looker_take(struct top_looker *looker)
{
    eventfd_t count;
    pthread_mutex_lock(&looker->mutex);
    struct top_look *look = looker->latest;
    looker->latest = NULL;
    (void)eventfd_read(looker->fd, &count);
    pthread_mutex_unlock(&looker->mutex);
    return look;
}

void top_looker_stop(struct top_looker *looker)
{
    pthread_mutex_lock(&looker->mutex);
    looker->is_ending = true;
    pthread_mutex_unlock(&looker->mutex);
    (void)eventfd_write(looker->wake_fd, 1);
    hf_client_interrupt(looker->client);
    (void)pthread_join(looker->thread, NULL);
    top_look_free(looker->latest);
    (void)close(looker->fd);
    (void)close(looker->wake_fd);
    (void)pthread_mutex_destroy(&looker->mutex);
}
