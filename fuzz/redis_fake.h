/* SPDX-License-Identifier: Apache-2.0 */
/* Servers in memory, for the shipped Redis store. Their replies go through the
 * store's own socket calls (--wrap), at times that the target chooses. */
#ifndef FUZZ_REDIS_FAKE_H
#define FUZZ_REDIS_FAKE_H

#include "fuzz.h"

#include "base/time.h"
#include "io/loop.h"
#include "store/store.h"

/* Begin a new run with no state of the last one. @return the loop. */
struct hf_loop *fake_begin(void);

struct hf_instant fake_now(void);

/* Advance the time in steps (about the square of @p amount, in milliseconds)
 * and run all that is due. */
void fake_pass(unsigned amount);

/* Set the faults: bits for connections that fail, are slow, drop what is
 * written or look dead when idle, and for bytes that arrive one at a time. */
void fake_mood(uint8_t mood);

/* ---- Replies of servers; ignored without a connection ------------------ */

void fake_say(struct hf_store *store, unsigned node, bool listens,
              const void *data, size_t len);
void fake_hang_up(struct hf_store *store, unsigned node, bool listens);

/* An array of integers and one owner, as the scripts reply. */
void fake_say_array(struct hf_store *store, unsigned node,
                    struct fuzz_input *in);

/* The same, followed by queue entries; or a page of names. */
void fake_say_queue(struct hf_store *store, unsigned node,
                    struct fuzz_input *in);

/* A push on the store's channel. */
void fake_say_grant(struct hf_store *store, unsigned node,
                    struct fuzz_input *in);

/* The replies of a healthy server to all pending requests. */
void fake_answer(struct hf_store *store, unsigned node, bool listens);

#endif
