/* SPDX-License-Identifier: Apache-2.0 */
/* The client's event loop: one epoll descriptor, and timers for stores. One
 * per client, used by one thread at a time (the client sees to that). It never
 * blocks by itself but in hf_loop_wait().
 *
 * hf_loop_wait() only waits: it may run without the client's mutex. Handlers
 * run in hf_loop_dispatch(), under it. */
#ifndef HF_IO_LOOP_H
#define HF_IO_LOOP_H

#include "base/time.h"
#include "io/timers.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_loop;
struct hf_watch;

/* Told that a descriptor is ready. Edge-triggered: read and write until
 * EAGAIN. `events` is a set of EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP,
 * EPOLLERR. */
typedef void hf_watch_fn(struct hf_watch *watch, uint32_t events,
                         struct hf_instant now);

/* A watched descriptor; embedded in its owner, which must call
 * hf_loop_unwatch() before closing it. */
struct hf_watch {
    int fd;
    hf_watch_fn *ready;
};

/* @return NULL with errno set. */
struct hf_loop *hf_loop_new(void);
void hf_loop_free(struct hf_loop *loop);

/* The epoll descriptor: readable when there is something to dispatch. */
int hf_loop_fd(const struct hf_loop *loop);

/* @return false with errno set. Watched for input, edge-triggered. */
bool hf_loop_watch(struct hf_loop *loop, struct hf_watch *watch);

/* Report `fd` as if it were that of `watch`, which is watched, until `fd` is
 * closed; again is fine. @return false with errno set. */
bool hf_loop_watch_also(struct hf_loop *loop, const struct hf_watch *watch,
                        int fd);

/* Watch for room to write too, or no more. Only for as long as there is
 * something to write: a unix socket has "room again" each time that the other
 * side reads, and each would be a wake-up for nothing. */
void hf_loop_watch_output(struct hf_loop *loop, struct hf_watch *watch,
                          bool on);

/* Bytes were left unread on purpose: report the descriptor again, behind the
 * timers that are due. The loop's own descriptor is readable until then. */
void hf_loop_rearm(struct hf_loop *loop, struct hf_watch *watch);

void hf_loop_unwatch(struct hf_loop *loop, struct hf_watch *watch);

/* Register once; set `at` through hf_timer_set() from then on. */
void hf_loop_add_timer(struct hf_loop *loop, struct hf_timer *timer);
void hf_loop_drop_timer(struct hf_loop *loop, struct hf_timer *timer);

/* The earliest timer; HF_NEVER if none. */
struct hf_instant hf_loop_next_timer(const struct hf_loop *loop);

/* Wait until something is ready or `until` has come (HF_NEVER: no limit;
 * earlier than now: only look). Keeps what it found for hf_loop_dispatch().
 * @return number of descriptors found ready, 0 on time-out or signal. */
int hf_loop_wait(struct hf_loop *loop, struct hf_instant until);

/* Run the handlers of what hf_loop_wait() found, then the timers due. A handler
 * reads a bounded amount (socket.h), so no peer can keep a timer waiting. The
 * timers come second: after a pause of this process, a reply that has arrived
 * must be seen before its timeout. */
void hf_loop_dispatch(struct hf_loop *loop, struct hf_instant now);

#endif
