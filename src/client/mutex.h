/* SPDX-License-Identifier: Apache-2.0 */
/* The client's mutex, in a public call.
 *
 * pthread_cancel() would end a thread inside a call at the next system call: it
 * would keep the mutex, or leave an operation on a stack that is gone, and
 * nothing would be renewed any more. So a thread cannot be cancelled from the
 * begin of a call to its end, callbacks included: it ends at its next
 * cancellation point after the call. The state that it had before is kept
 * beside the mutex, or on the stack while the mutex is released in the call.
 *
 * hf_client_interrupt() ends a call that waits for the mutex, too: the counter
 * of interrupts is read before, and kept beside the mutex for the operation
 * that the call begins. One that begins after the call has released the mutex
 * is ended by later interrupts only. */
#ifndef HF_CLIENT_MUTEX_H
#define HF_CLIENT_MUTEX_H

#include "client/client.h"

/** Begin and end something in which the thread is not cancelled. @return the
 * state of before. */
static inline int hf_cancel_state_hold(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

/* The end of that: `before` is what hf_cancel_state_hold() returned. */
static inline void hf_cancel_state_restore(int before)
{
    pthread_setcancelstate(before, NULL);
}

/* At the begin and the end of a public call. */
static inline void hf_client_lock(struct hf_client *client)
{
    int before = hf_cancel_state_hold();
    unsigned interrupts = atomic_load(&client->interrupts);
    pthread_mutex_lock(&client->mutex);
    client->cancel_state = before;
    client->interrupts_before = interrupts;
}

/* The end of a public call: the thread may be cancelled again, as before it. */
static inline void hf_client_unlock(struct hf_client *client)
{
    int before = client->cancel_state;
    pthread_mutex_unlock(&client->mutex);
    hf_cancel_state_restore(before);
}

/* The mutex was taken again within a call. @p before: as it was released. */
static inline void hf_client_note_resumed(struct hf_client *client, int before)
{
    client->cancel_state = before;
    client->interrupts_before = atomic_load(&client->interrupts);
}

/** Release the mutex within a call, and take it again. @return what
 * hf_client_resume_lock() needs. */
static inline int hf_client_pause_lock(struct hf_client *client)
{
    int before = client->cancel_state;
    pthread_mutex_unlock(&client->mutex);
    return before;
}

/** @param before  what hf_client_pause_lock() has returned, in the same call.
 */
static inline void hf_client_resume_lock(struct hf_client *client, int before)
{
    pthread_mutex_lock(&client->mutex);
    hf_client_note_resumed(client, before);
}

#endif
