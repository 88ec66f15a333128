/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes that contend for one lock, through libholdfast.
 *
 *   queue --url URL [--clients N] [--hold MS] [--rest MS] [--seconds S]
 *         [--ttl MS] [--servers ADDRESS,...] [--ping ADDRESS] [--pids PID,...]
 *
 * Blocking calls; each process has its own client. contenders.h describes the
 * measurements and the options. */
#include "contenders.h"

#include <holdfast/holdfast.h>

struct client {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_request request;
};

struct access {
    const char *url;
    int ttl_ms;
};

static void *client_open(int index, void *arg)
{
    const struct access *access = arg;
    struct client *c = must_alloc(1, sizeof(*c));
    struct hf_error error;
    (void)index;
    if (hf_client_open(access->url, NULL, &c->client, &error) != HF_OK) {
        die_text("open", error.text);
    }
    hf_request_init(&c->request, "queue");
    c->request.ttl_ms = access->ttl_ms;
    c->request.wait_ms = PATIENCE_S * 1000;
    return c;
}

static void client_take(void *client)
{
    struct client *c = client;
    struct hf_error error;
    if (hf_lock_acquire(c->client, &c->request, &c->lock, &error) != HF_OK) {
        die_text("acquire", error.text);
    }
}

static void client_give(void *client)
{
    struct client *c = client;
    enum hf_status status = hf_lock_release(c->lock);
    if (status != HF_OK) {
        die_text("release", hf_status_name(status));
    }
}

static void client_close(void *client)
{
    struct client *c = client;
    hf_client_close(c->client);
    free(c);
}

int main(int argc, char **argv)
{
    struct crowd_plan plan;
    struct access access = {
        .url = arg_text(argc, argv, "--url", "local:"),
        .ttl_ms = arg_int(argc, argv, "--ttl", 10000),
    };
    struct crowd_side side = {.label = "ours",
                              .open = client_open,
                              .take = client_take,
                              .give = client_give,
                              .close = client_close,
                              .arg = &access};
    crowd_parse(&plan, argc, argv);
    return crowd_run(&plan, &side);
}
