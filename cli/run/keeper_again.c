/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election (--again): rounds of acquiring the lock, running the command,
 * and releasing the lock.
 *
 *     wait in the queue   lead            wait again, after the others
 *     |------------------|command-------|-------------------------|command-
 *                        fence 7        ended, or lost            fence 9
 *
 * Each round has another owner and a greater fence, and inherits no state from
 * the round before, so a lost lock cannot be mistaken for held. The connection
 * stays open, and an outage of the store only delays a later round. The keeper
 * runs the loop, not the wrapper, since the keeper knows why a round ended.
 *
 * If a command fails at once, or its lock is lost before it begins, the host
 * must not acquire the lock in a busy loop, and another host should lead. So
 * the keeper pauses before the next round, without the lock and without a place
 * in the queue. */
#include "clocks.h"
#include "run/keeper.h"

#include "acquire.h"
#include "base/assert.h"
#include "exit_code.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>

/* Milliseconds. A command that ran for less than this has failed to lead: a
 * program that cannot start, as without its configuration, exits within some
 * tenths of a second. So has a round whose lock was lost before there was a
 * command. */
#define SHORT_MS 1000

/* Milliseconds; doubled each time, with jitter down to a half. Even half of the
 * first one, 1 s, is enough for a waiter of another host to acquire the lock.
 * The cap is the default lease: as with a leader that died, a host that has
 * recovered leads again within one. */
#define PAUSE_MS 2000
#define PAUSE_MS_MAX 30000

/* ---- Whether another round follows --------------------------------------- */

static bool has_next_round(const struct cli_keeper *keeper)
{
    bool was_run = atomic_load(&keeper->run->link.shared->exec_errno) == 0;
    return keeper->args->is_again && keeper->was_taken && was_run &&
           keeper->why != CLI_WHY_WRAPPER && keeper->survivor == 0 &&
           !cli_keeper_was_asked(keeper);
}

/* ---- The pause between two rounds ---------------------------------------- */

/* With jitter: if commands on several hosts fail at the same time, the hosts
 * return at different times. */
static int64_t jittered_ms(int64_t ms)
{
    uint32_t random = 0;
    HF_ASSERT(ms > 0);
    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
    return ms / 2 + (int64_t)(random % (uint64_t)(ms / 2 + 1));
}

/* Awake for signals and for the store: a release may be in flight.
 * @return 0, or the signal that ended it; CLI_STOP_GONE. */
static int pause_for(struct cli_keeper *keeper, int64_t ms)
{
    struct pollfd fds[2] = {
        {.fd = keeper->wake, .events = POLLIN},
        {.fd = hf_client_fd(keeper->client), .events = POLLIN},
    };
    struct hf_instant until = hf_instant_add(cli_time_now(), hf_span_ms(ms));
    struct hf_span left;
    HF_ASSERT(keeper->lock == NULL); /* another host may lead meanwhile */
    while ((left = hf_instant_until(cli_time_now(), until)).ns > 0) {
        int n = poll(fds, 2, (int)hf_span_ms_ceil(left));
        int stop = n > 0 && fds[0].revents != 0 ? cli_keeper_stop(keeper) : 0;
        if (stop != 0) {
            return stop;
        }
        if (n > 0 && fds[1].revents != 0) {
            hf_client_process(keeper->client); /* a release may be in flight */
        }
    }
    return 0;
}

static bool has_led(const struct cli_keeper *keeper)
{
    struct hf_span ran = hf_instant_until(keeper->started, cli_time_now());
    return ran.ns >= hf_span_ms(SHORT_MS).ns; /* HF_NEVER: it did not */
}

/* A command that ran for a while was well: the next pause is the first one
 * again. */
static int pause_after(struct cli_keeper *keeper, int64_t *pause_ms)
{
    if (has_led(keeper)) {
        *pause_ms = PAUSE_MS;
        return 0;
    }
    int64_t ms = jittered_ms(*pause_ms);
    *pause_ms = *pause_ms * 2 < PAUSE_MS_MAX ? *pause_ms * 2 : PAUSE_MS_MAX;
    return pause_for(keeper, ms);
}

int cli_keeper_again(struct cli_keeper *keeper)
{
    struct cli_keeper fresh = *keeper;
    int64_t pause_ms = PAUSE_MS;
    int code = cli_keeper_round(keeper);
    fresh.is_again = true;
    while (has_next_round(keeper)) {
        int stop = pause_after(keeper, &pause_ms);
        if (stop != 0) {
            return stop == CLI_STOP_GONE
                       ? CLI_EXIT_INTERNAL
                       : cli_acquire_stopped(keeper->args, stop);
        }
        *keeper = fresh;
        code = cli_keeper_round(keeper);
    }
    return code;
}
