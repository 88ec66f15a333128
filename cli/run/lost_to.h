/* SPDX-License-Identifier: Apache-2.0 */
/* The present holder of a lock that was lost. */
#ifndef CLI_LOST_TO_H
#define CLI_LOST_TO_H

#include "args.h"
#include "out.h"
#include "snapshot.h"

#include <holdfast/holdfast.h>
#include <stdint.h>

struct cli_lost {
    struct cli_holder by; /* its kind is HF_HOLDER_NONE if that is not known */
};

/* A majority has replied that @p lock is lost; its lease would end in
 * @p left_ms. Request the present holder at once, since a break leaves no trace
 * when it is over. No request is sent if the lease is about to end, or for
 * several names: it must not delay the killing of the command. */
void cli_lost_look(struct cli_lost *lost, struct hf_client *client,
                   struct hf_lock *lock, const struct cli_args *args,
                   int64_t left_ms);

/* "broken by `holdfast break` on db3 (pid 4711) at 02:00:04", or, if that is
 * not known, that the lock was broken or the servers lost it. */
void cli_lost_put(struct cli_out *out, const struct cli_lost *lost);

#endif
