/* SPDX-License-Identifier: Apache-2.0 */
/* THE BEGIN AND THE END OF A PUBLIC CALL
 *
 *     begin   refuse NULL, and the client of a parent process
 *             lock the mutex; refuse a client that is being closed
 *             read the clock; begin overdue reconnects; deliver their news
 *     end     settle (deferred.c); check the invariants; run on_state
 *             hand out the lock; set the timer; unlock the mutex
 *             free the client, if a callback in this thread has closed it
 *
 * The first check for a fork is before the mutex: in the child, that may be
 * locked for ever by a thread which is not there. Callbacks may fork, too, so
 * the end checks again, and the child then neither sends nor sets a timer.
 *
 * A lock is handed out after the callbacks of this call. Else on_state could
 * release a lock whose handle its caller does not have yet. A change of state
 * in between is queued for the next call, or for the library's thread.
 *
 * Cost: besides the requests that settling writes, one system call at most, if
 * no other thread has the mutex: a timer that is due earlier is set. */
#include "client/enter.h"

#include "client/close.h"
#include "client/deferred.h"
#include "client/events.h"
#include "client/fork.h"
#include "client/mutex.h"
#include "client/notify.h"
#include "client/timer.h"

#include "base/assert.h"
#include "base/fail.h"

enum hf_status hf_client_enter(struct hf_client *client, struct hf_error *error)
{
    if (client == NULL) {
        return hf_fail(error, HF_INVALID, "no client");
    }
    if (hf_client_is_forked(client)) {
        return hf_fail(error, HF_INVALID,
                       "this client belongs to the parent process: open one "
                       "after fork()");
    }
    if (error != NULL) {
        error->status = HF_OK;
        error->node = -1;
        error->text[0] = '\0';
    }
    hf_client_lock(client);
    if (client->is_closing || client->is_ending) {
        hf_client_unlock(client);
        return hf_fail(error, HF_INVALID, "this client is being closed");
    }
    HF_ASSERT(client->in_store == 0); /* no store calls a public function */
    hf_client_tick(client);
    if (!client->is_polling && !client->is_processing) {
        client->reading_since = client->now;
    }
    hf_client_resume(client);
    if (hf_client_has_news(client)) {
        hf_client_settle(client);
    }
    return HF_OK;
}

static void finish_call(struct hf_client *client, struct hf_lock *lock)
{
    if (!hf_client_is_forked(client)) {
        hf_client_settle(client);
        hf_client_check(client);
        hf_notify_here(client);
    }
    if (hf_client_is_forked(client)) {
        return; /* in a callback, and this is the child */
    }
    if (lock != NULL && hf_lock_hand_out(lock)) {
        hf_client_notify(client, lock); /* in the next call, or in the thread */
    }
    hf_client_arm(client);
}

bool hf_client_leave_with(struct hf_client *client, struct hf_lock *lock)
{
    finish_call(client, lock);
    bool is_forked = hf_client_is_forked(client);
    bool is_to_shut_down = hf_client_is_to_shut_down(client);
    int before = hf_client_pause_lock(client);
    if (is_to_shut_down) {
        hf_client_shut_down(client);
    }
    hf_cancel_state_restore(before);
    return is_to_shut_down || is_forked;
}

bool hf_client_leave(struct hf_client *client)
{
    return hf_client_leave_with(client, NULL);
}

enum hf_status hf_client_begin(struct hf_client *client, struct hf_error *error)
{
    enum hf_status status = hf_client_enter(client, error);
    if (status == HF_OK && hf_cancel_is_triggered(client->options.cancel)) {
        hf_client_leave(client);
        status =
            hf_fail(error, HF_CANCELLED, "%s", hf_status_text(HF_CANCELLED));
    }
    return status;
}

enum hf_status hf_op_enter(struct hf_client *client, const char *missing,
                           struct hf_op **out, struct hf_error *error)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (missing != NULL) {
        return hf_fail(error, HF_INVALID, "%s", missing);
    }
    return hf_client_begin(client, error);
}
