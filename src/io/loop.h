/* SPDX-License-Identifier: Apache-2.0 */
/* The client's event loop: one epoll descriptor, and timers for stores. One
 * per client.
 *
 *     struct hf_loop *loop = hf_loop_new();
 *     watch = (struct hf_watch){fd, on_ready};     stays the caller's
 *     if (!hf_loop_watch(loop, &watch)) …          errno
 *     timer = (struct hf_timer){HF_NEVER, on_due}; timers.h; also the caller's
 *     hf_loop_add_timer(loop, &timer);
 *     hf_timer_set(&timer, until);
 *     for (;;) {
 *         hf_loop_wait(loop, hf_loop_next_timer(loop));
 *         hf_loop_dispatch(loop, hf_clock_now());  on_ready(), then on_due()
 *     }
 *     hf_loop_drop_timer(loop, &timer);
 *     hf_loop_unwatch(loop, &watch); close(fd);    in this order
 *     hf_loop_free(loop);                          after all its users
 *
 * One thread at a time is in hf_loop_wait(), which alone blocks, and may run
 * without the client's mutex. The other functions need the mutex, and another
 * thread may call them meanwhile. Handlers run in hf_loop_dispatch(), in the
 * thread that waited. */
#ifndef HF_IO_LOOP_H
#define HF_IO_LOOP_H

#include "base/time.h"
#include "io/timers.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_loop;
struct hf_watch;

/* Called when a descriptor is ready. Edge-triggered: it must read and write
 * until EAGAIN, or call hf_loop_rearm() if it stops earlier. `events` is a set
 * of EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR. */
typedef void hf_watch_fn(struct hf_watch *watch, uint32_t events,
                         struct hf_instant now);

/* A watched descriptor; embedded in its owner, which must call
 * hf_loop_unwatch() before closing it. */
struct hf_watch {
    int fd;
    hf_watch_fn *ready;
};

/** @return NULL with errno set. */
struct hf_loop *hf_loop_new(void);

/* NULL is fine. Nothing may be watched, and no timer registered. */
void hf_loop_free(struct hf_loop *loop);

/* The epoll descriptor: readable if a descriptor is ready, at times for
 * nothing. A due timer does not make it readable: see hf_loop_next_timer(). */
int hf_loop_fd(const struct hf_loop *loop);

/** Watch for input, edge-triggered. @return false with errno set. */
bool hf_loop_watch(struct hf_loop *loop, struct hf_watch *watch);

/** Report events of `fd` to `watch`, which must be watched, until `fd` is
 * closed. May be called again for the same `fd`. @return false with errno set.
 */
bool hf_loop_watch_also(struct hf_loop *loop, const struct hf_watch *watch,
                        int fd);

/* Start or stop to watch for EPOLLOUT too. Use it only while bytes wait to be
 * written: a unix socket reports EPOLLOUT each time that the peer reads. */
void hf_loop_watch_output(struct hf_loop *loop, struct hf_watch *watch,
                          bool on);

/* The handler has left bytes unread on purpose: report the descriptor again,
 * after the timers that are due. The loop's own descriptor is readable until
 * then. */
void hf_loop_rearm(struct hf_loop *loop, struct hf_watch *watch);

/* Stop to watch; nothing happens if it is not watched. Before the descriptor is
 * closed. Events of it that were read already are not reported. */
void hf_loop_unwatch(struct hf_loop *loop, struct hf_watch *watch);

/* The same for a descriptor that a library has closed: the kernel no longer
 * watches it, and its number may be another one's. */
void hf_loop_unwatch_closed(struct hf_loop *loop, struct hf_watch *watch);

/* Register a timer, once; hf_timer_set() then changes its time. */
void hf_loop_add_timer(struct hf_loop *loop, struct hf_timer *timer);

/* Take the timer out, before its memory is freed; nothing happens if it is not
 * registered. In a handler too. */
void hf_loop_drop_timer(struct hf_loop *loop, struct hf_timer *timer);

/* The earliest timer; HF_NEVER if none. */
struct hf_instant hf_loop_next_timer(const struct hf_loop *loop);

/** Wait until a descriptor is ready, or until `until` (HF_NEVER: no limit; in
 * the past: do not block). Keeps the events for hf_loop_dispatch().
 * @return number of ready descriptors. 0: a timeout, a signal, or nothing, so
 * callers look at the clock. */
int hf_loop_wait(struct hf_loop *loop, struct hf_instant until);

/* Run the handlers of the events of hf_loop_wait(), then the due timers. A
 * handler reads a bounded amount (socket.h), so no peer can delay a timer for
 * long. The timers are second: after a pause of this process, a reply that has
 * arrived must be read before its timeout runs. */
void hf_loop_dispatch(struct hf_loop *loop, struct hf_instant now);

#endif
