/* SPDX-License-Identifier: Apache-2.0 */
/* A callback runs without the mutex, so it may call any function of the
 * library, also hf_client_close(). The list of callers, each on its own stack,
 * is how such a call finds out that it runs inside a callback.
 *
 * After the callback all that was read from the client before may be old: the
 * clock is read again, and a closed client is seen by `is_closing`. In a
 * forked child the mutex may be locked by a thread that does not exist there;
 * then it is made anew, and the client counts as closed in any case: nothing
 * is sent for the parent's locks.
 *
 * Cost: no allocation, two operations of the mutex, and one eventfd_write()
 * for all queued callbacks until they are processed. */
#include "client/callback.h"

#include "client/fork.h"
#include "client/mutex.h"
#include "client/timer.h"

#include "base/assert.h"

#include <sys/eventfd.h>

void hf_client_let_out(struct hf_client *client, struct hf_caller *self)
{
    HF_ASSERT(client->in_store == 0); /* a callback may use the client */
    *self = (struct hf_caller){pthread_self(), client->cancel_state,
                               client->callers};
    client->callers = self;
    pthread_mutex_unlock(&client->mutex);
}

/* A forked child has no other thread. A thread of the parent may have had the
 * mutex, in the middle of a change. */
static void lock_in_child(struct hf_client *client)
{
    if (pthread_mutex_trylock(&client->mutex) != 0) {
        client->is_torn = true;
        pthread_mutex_init(&client->mutex, NULL);
        pthread_mutex_lock(&client->mutex);
    }
    client->is_closing = true; /* so that the call ends */
}

void hf_client_take_in(struct hf_client *client, struct hf_caller *self)
{
    if (hf_client_is_forked(client)) {
        lock_in_child(client);
    } else {
        pthread_mutex_lock(&client->mutex);
    }
    hf_client_note_resumed(client, self->cancel_state);
    struct hf_caller **at = &client->callers;
    while (*at != self) {
        HF_ASSERT(*at != NULL); /* hf_client_let_out() appended it */
        at = &(*at)->next;
    }
    *at = self->next;
    hf_client_tick(client);
}

bool hf_client_is_in_callback(const struct hf_client *client)
{
    const struct hf_caller *caller = client->callers;
    while (caller != NULL && !pthread_equal(caller->thread, pthread_self())) {
        caller = caller->next;
    }
    return caller != NULL;
}

/* ---- Queued callbacks -------------------------------------------------- */

bool hf_client_is_deferring(const struct hf_client *client)
{
    return client->is_processing && !client->is_blocking &&
           pthread_equal(client->processor, pthread_self());
}

void hf_client_schedule_callback(struct hf_client *client)
{
    if (client->done_fd >= 0 && !client->is_done_signalled &&
        !hf_client_is_deferring(client) && !hf_client_is_forked(client)) {
        client->is_done_signalled = true;
        eventfd_write(client->done_fd, 1);
    }
}
