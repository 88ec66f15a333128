/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for a call that blocks and cannot be interrupted. Nothing waits for
 * its end. */
#ifndef HF_IO_DETACHED_H
#define HF_IO_DETACHED_H

/** Run @p run in a thread of its own, which blocks all signals: they are for
 * the program's own threads. @return 0, or an error of pthread_create(3). */
int hf_detached_start(void *(*run)(void *arg), void *arg);

#endif
