/* SPDX-License-Identifier: Apache-2.0 */
/* Cancel tokens: a flag that is never cleared, and an eventfd that wakes
 * waiting clients. A trigger sets the flag first. A call watches the eventfd
 * and then reads the flag before it sleeps, so no trigger is lost, neither
 * before the call nor during it.
 *
 * Cost: a trigger is one write(2), and a call with a token one epoll_ctl(2)
 * more. Each asynchronous operation is looked at after a trigger. */
#include "client/cancel.h"

#include "client/mutex.h"
#include "client/op_async.h"

#include "base/fail.h"
#include "io/standard_fds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct hf_cancel {
    atomic_bool is_triggered;
    int fd;
};

/* ---- The token --------------------------------------------------------- */

enum hf_status hf_cancel_new(struct hf_cancel **out, struct hf_error *error)
{
    if (out == NULL) {
        return hf_fail(error, HF_INVALID, "no place for the token");
    }
    *out = NULL;
    struct hf_cancel *cancel = malloc(sizeof(*cancel));
    if (cancel == NULL) {
        return hf_fail_memory(error);
    }
    atomic_init(&cancel->is_triggered, false);
    cancel->fd = hf_standard_fds_avoid(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (cancel->fd < 0) {
        free(cancel);
        return hf_fail(error, HF_NO_MEMORY, "no descriptor left: %s",
                       hf_errno_text(errno));
    }
    *out = cancel;
    return HF_OK;
}

void hf_cancel_free(struct hf_cancel *cancel)
{
    if (cancel != NULL) {
        int before = hf_cancel_state_hold();
        close(cancel->fd);
        free(cancel);
        hf_cancel_state_restore(before);
    }
}

/* Async-signal-safe: an atomic operation and a write. */
void hf_cancel_trigger(struct hf_cancel *cancel)
{
    if (cancel == NULL || atomic_exchange(&cancel->is_triggered, true)) {
        return;
    }
    int saved = errno;
    int before = hf_cancel_state_hold();
    uint64_t one = 1;
    ssize_t written = write(cancel->fd, &one, sizeof(one));
    (void)written; /* the only write: it cannot block */
    hf_cancel_state_restore(before);
    errno = saved;
}

bool hf_cancel_is_triggered(const struct hf_cancel *cancel)
{
    return cancel != NULL && atomic_load(&cancel->is_triggered);
}

/* ---- In a client ------------------------------------------------------- */

enum hf_status hf_cancel_admit(struct hf_client *client,
                               const struct hf_cancel *cancel,
                               struct hf_error *error)
{
    if (cancel == NULL) {
        return HF_OK;
    }
    if (hf_cancel_is_triggered(cancel)) {
        return hf_fail(error, HF_CANCELLED, "%s", hf_status_text(HF_CANCELLED));
    }
    if (!hf_loop_watch_also(client->loop, &client->poke, cancel->fd)) {
        return hf_fail(error, HF_NO_MEMORY, "the token cannot be watched: %s",
                       hf_errno_text(errno));
    }
    return HF_OK;
}

bool hf_op_is_cancelled(const struct hf_op *op)
{
    return !op->is_cleanup &&
           (hf_cancel_is_triggered(op->order.cancel) ||
            hf_cancel_is_triggered(op->client->options.cancel));
}

/* The search begins anew each time: ending a bundle ends its members, too. */
static struct hf_op *find_cancelled(struct hf_client *client)
{
    struct hf_op *op = client->ops.first;
    while (op != NULL && (op->call == NULL || !hf_op_is_cancelled(op))) {
        op = op->next;
    }
    return op;
}

void hf_client_cancel_started(struct hf_client *client)
{
    struct hf_op *op = NULL;
    while ((op = find_cancelled(client)) != NULL) {
        hf_op_stop(op);
    }
}
