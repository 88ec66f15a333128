/* SPDX-License-Identifier: Apache-2.0 */
/* Who took a lock from us. */
#ifndef CLI_LOST_H
#define CLI_LOST_H

#include "args.h"
#include "out.h"
#include "snapshot.h"

#include <holdfast/holdfast.h>
#include <stdint.h>

struct cli_lost {
    struct cli_holder by; /* its kind is HF_HOLDER_NONE if that is not known */
};

/* A majority has said that @p lock is lost, whose lease would end in
 * @p left_ms. Look who has the name now: at once, since a break leaves no trace
 * when it is over. Nothing is asked if the lease is about to end, or of several
 * names: the enforcement of its end must not be held up. */
void cli_lost_look(struct cli_lost *lost, struct hf_client *client,
                   struct hf_lock *lock, const struct cli_args *args,
                   int64_t left_ms);

/* "broken by `holdfast break` on db3 (pid 4711) at 02:00:04", or that it was
 * broken or forgotten. */
void cli_lost_put(struct cli_out *out, const struct cli_lost *lost);

#endif
