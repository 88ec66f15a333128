/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a client: options, URL, loop, store; and what it was opened with. */
#include "client/answer.h"
#include "client/cancel.h"
#include "client/client.h"
#include "client/close.h"
#include "client/fence.h"
#include "client/fork.h"
#include "client/log.h"
#include "client/login.h"
#include "client/mutex.h"
#include "client/notify.h"
#include "client/wait.h"

#include "base/assert.h"
#include "base/fail.h"
#include "base/sized.h"
#include "io/clock.h"
#include "io/standard_fds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void on_log(void *user, enum hf_log_level level, const char *text)
{
    hf_client_log(user, level, "%s", text);
}

/* The size of the struct in version 0.1.0. */
#define OPTIONS_SIZE_MIN offsetof(struct hf_client_options, is_for_setup)

void hf_client_options_init_sized(struct hf_client_options *options,
                                  size_t size)
{
    const struct hf_client_options defaults = {.size = size};
    if (options == NULL) {
        return;
    }
    hf_sized_write(options, size, &defaults, sizeof(defaults));
}

static enum hf_status read_options(const struct hf_client_options *options,
                                   struct hf_client_options *out,
                                   struct hf_error *error)
{
    hf_client_options_init(out);
    if (options == NULL) {
        return HF_OK;
    }
    if (options->size < OPTIONS_SIZE_MIN) {
        return hf_fail(error, HF_INVALID,
                       "the options were not set up by "
                       "hf_client_options_init()");
    }
    if (!hf_sized_read(out, sizeof(*out), options, options->size)) {
        return hf_fail(error, HF_UNSUPPORTED,
                       "the options have members that this version of the "
                       "library does not know");
    }
    if (out->thread != HF_THREAD_AUTO && out->thread != HF_THREAD_NONE) {
        return hf_fail(error, HF_INVALID, "no such thread mode: %d",
                       (int)out->thread);
    }
    return HF_OK;
}

/* Set each descriptor to -1 before any step that can fail, so that one function
 * can close a client that is only half open. */
static struct hf_client *make(void)
{
    struct hf_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return NULL;
    }
    pthread_mutex_init(&client->mutex, NULL);
    hf_item_table_init(&client->items);
    hf_timer_heap_init(&client->heap);
    client->events_first = client->events_last = HF_NOWHERE;
    client->calls_first = client->calls_last = HF_NOWHERE;
    hf_notify_init(&client->notifier);
    client->poke.fd = -1;
    client->poke.ready = hf_client_on_poke;
    client->alarm = HF_ALARM_CLOSED;
    client->loop_fd = -1;
    client->done_fd = -1;
    client->now = hf_clock_now();
    client->reading_since = HF_LONG_AGO;
    return client;
}

static enum hf_status make_loop(struct hf_client *client,
                                struct hf_error *error)
{
    if (!hf_page_open(client)) {
        return hf_fail_memory(error);
    }
    hf_entropy(&client->random, sizeof(client->random));
    gethostname(client->host, HF_HOST_MAX);
    client->poke.fd =
        hf_standard_fds_avoid(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    client->loop = client->poke.fd < 0 ? NULL : hf_loop_new();
    if (client->loop != NULL && hf_loop_watch(client->loop, &client->poke)) {
        return HF_OK;
    }
    return errno == ENOMEM
               ? hf_fail_memory(error)
               : hf_fail(error, HF_NO_MEMORY, "no descriptor left: %s",
                         hf_errno_text(errno));
}

static bool is_cancelled(const void *user)
{
    const struct hf_client *client = user;
    return hf_cancel_is_triggered(client->options.cancel);
}

static enum hf_status open_store(struct hf_client *client,
                                 struct hf_error *error)
{
    const struct hf_url *url = client->url;
    const struct hf_store_ops *ops;
    enum hf_status status = hf_store_find(url, &ops, error);
    if (status != HF_OK) {
        return status;
    }
    unsigned n_nodes = url->n_endpoints > 0 ? url->n_endpoints : 1;
    if (n_nodes > HF_NODES_MAX || n_nodes % 2 == 0) {
        return hf_fail(error, HF_CONFIG,
                       "%u nodes: an odd number of at most %d is needed, "
                       "since a majority decides",
                       n_nodes, HF_NODES_MAX);
    }
    bool is_default = !url->has_node_timeout && ops->node_timeout.ns > 0;
    hf_nodes_init(&client->nodes, n_nodes,
                  is_default ? ops->node_timeout
                             : hf_span_ms(url->node_timeout_ms),
                  hf_span_ms(url->connect_timeout_ms));
    struct hf_store_env env = {
        .push = hf_client_on_push,
        .listen = hf_client_on_listen,
        .client = client,
        .loop = client->loop,
        .answer = hf_client_on_answer,
        .status = hf_client_on_status,
        .log = on_log,
        .login = client->options.login != NULL ? hf_client_on_login : NULL,
        .is_cancelled = is_cancelled,
        .announces_writes = true,
        .is_for_setup = client->options.is_for_setup,
    };
    status = ops->open(url, &env, &client->store, error);
    HF_ASSERT(status != HF_OK || client->store->n_nodes == n_nodes);
    return status;
}

static enum hf_status
open_client(const char *url, const struct hf_client_options *options,
            struct hf_client **out, struct hf_error *error)
{
    struct hf_client *client = make();
    if (client == NULL) {
        return hf_fail_memory(error);
    }
    enum hf_status status = read_options(options, &client->options, error);
    if (status == HF_OK) {
        const struct hf_client_options *own = &client->options;
        status = hf_url_parse(url != NULL ? url : "local:",
                              own->login != NULL ? "" : own->password,
                              &client->url, error);
    }
    if (status == HF_OK) {
        status = make_loop(client, error);
    }
    if (status == HF_OK) {
        status = hf_cancel_admit(client, client->options.cancel, error);
    }
    if (status == HF_OK) {
        status = open_store(client, error);
    }
    if (status == HF_OK) {
        status = hf_fence_check(client, error);
    }
    if (status != HF_OK) {
        hf_client_free(client);
        return status;
    }
    client->options.password = NULL; /* borrowed only for this call */
    *out = client;
    return HF_OK;
}

enum hf_status hf_client_open(const char *url,
                              const struct hf_client_options *options,
                              struct hf_client **out, struct hf_error *error)
{
    if (out == NULL) {
        return hf_fail(error, HF_INVALID, "no place for the client");
    }
    *out = NULL;
    int before = hf_cancel_state_hold();
    enum hf_status status = open_client(url, options, out, error);
    hf_cancel_state_restore(before);
    return status;
}

/* ---- What it was opened with -------------------------------------------- */

const char *hf_client_url(const struct hf_client *client)
{
    return client == NULL ? "" : client->url->display;
}

int64_t hf_client_max_ttl_ms(const struct hf_client *client)
{
    return client == NULL ? 0 : client->url->max_ttl_ms;
}

int hf_client_nodes(const struct hf_client *client)
{
    return client == NULL ? 0 : client->nodes.count;
}
