/* SPDX-License-Identifier: Apache-2.0 */
/* The thread begins with all signals blocked, so no handler of the program
 * ever runs in it. It is detached: a join would wait for the call that cannot
 * be interrupted. What it shares with its starter is freed by the last of the
 * two (resolve.c, dial.c). */
#include "io/detached.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

int hf_detached_start(void *(*run)(void *arg), void *arg)
{
    pthread_attr_t attr;
    int error = pthread_attr_init(&attr);
    if (error != 0) {
        return error;
    }
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    error = pthread_create(&thread, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}
