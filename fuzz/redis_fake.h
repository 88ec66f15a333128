/* SPDX-License-Identifier: Apache-2.0 */
/* Servers in memory, for the Redis store as it ships: what they say is said
 * through the store's own sockets (--wrap), at a time of our own. */
#ifndef FUZZ_REDIS_FAKE_H
#define FUZZ_REDIS_FAKE_H

#include "fuzz.h"

#include "base/time.h"
#include "io/loop.h"
#include "store/store.h"

/* Another run: time begins, everything is forgotten. @return the loop. */
struct hf_loop *fake_begin(void);

struct hf_instant fake_now(void);

/* Time passes in steps (about the square of @p amount, in milliseconds), and
 * whatever is due happens. */
void fake_pass(unsigned amount);

/* How it goes from now on: bits for connections that fail, are late, swallow
 * what is written, look dead when idle, and for bytes that come one at a
 * time. */
void fake_mood(uint8_t mood);

/* ---- What servers say; nothing if there is no connection --------------- */

void fake_say(struct hf_store *store, unsigned node, bool listens,
              const void *data, size_t len);
void fake_hang_up(struct hf_store *store, unsigned node, bool listens);

/* An array of integers, and of one owner, as scripts answer. */
void fake_say_array(struct hf_store *store, unsigned node,
                    struct fuzz_input *in);

/* The same with seats behind it; or a page of names. */
void fake_say_roster(struct hf_store *store, unsigned node,
                     struct fuzz_input *in);

/* A push on our channel. */
void fake_say_grant(struct hf_store *store, unsigned node,
                    struct fuzz_input *in);

/* What a server that is well says to everything that it was asked. */
void fake_answer(struct hf_store *store, unsigned node, bool listens);

#endif
