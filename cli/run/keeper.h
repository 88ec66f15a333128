/* SPDX-License-Identifier: Apache-2.0 */
/* The process that holds the lease: it acquires the lock, starts the command,
 * renews, kills the command before the lease can end, and releases.
 *
 * One round (keeper.c), as a sequence of the functions below:
 *
 *     cli_keeper_may_begin(keeper, &take);     --once, --min-hold
 *     cli_acquire(&take);                      until then cli_keeper_stop()
 *     cli_keeper_mark(keeper, &take);          --once; before the start
 *     cli_keeper_begin(keeper, ttl_ms);        sets the deadlines
 *     cli_child_start(…); cli_keeper_add_group(keeper);
 *     while the command runs, or cli_keeper_drains(keeper):
 *         wait until cli_keeper_next(keeper), or for a descriptor
 *         cli_keeper_enforce(keeper);          first: true ends the loop
 *         cli_keeper_receive(keeper); cli_keeper_look(keeper);
 *     cli_keeper_unmark(keeper, has_run);      then the release
 *     code = cli_keeper_code(keeper, was_ours); */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "acquire.h"
#include "base/time.h"
#include "run/child.h"
#include "run/interrupt.h"
#include "run/lost_to.h"
#include "run/run.h"
#include "status.h"

#include <holdfast/holdfast.h>
#include <signal.h>

/* Runs in the forked process, and ends it with the exit code of the whole. */
_Noreturn void cli_keeper(struct cli_run *run);

/* Why the command is being killed. */
enum cli_why {
    CLI_WHY_NONE,
    CLI_WHY_LOST, /* the lease ends, or was lost */
    CLI_WHY_MAX_HOLD,
    CLI_WHY_WRAPPER /* the wrapper has ended */
};

/* cli_keeper_stop(): the wrapper has ended. No signal has this number. */
#define CLI_STOP_GONE 1000

/* keeper_signals.c: SIGHUP, SIGINT, SIGQUIT and SIGTERM to the keeper itself,
 * in the order of its table. */
#define CLI_OWN_SIGNALS 4
struct cli_own {
    struct hf_instant due[CLI_OWN_SIGNALS];  /* when it is handed on, or
                                                HF_NEVER: none came */
    struct hf_instant sent[CLI_OWN_SIGNALS]; /* when the wrapper last sent it,
                                                or HF_LONG_AGO */
};

/* The state of the keeper. */
struct cli_keeper {
    struct cli_run *run;
    const struct cli_args *args;
    int link;    /* our end of the socket pair */
    int signals; /* SIGCHLD, and our own */
    int wake;    /* epoll of `link` and `signals` */
    int timer;
    struct hf_instant timer_at; /* the time that it is set to */
    struct hf_client *client;
    struct hf_lock *lock; /* NULL: running without (--on-unreachable run) */
    enum hf_state state;  /* as it was last seen */
    struct cli_status *status; /* shared with the wrapper */
    struct cli_term term;
    struct cli_child child;
    struct hf_instant started;  /* when the lock was acquired; HF_NEVER: it was
                                   not, or was lost before the command could
                                   begin */
    struct hf_instant deadline; /* end of the lease; HF_NEVER without one */
    struct hf_span grace;       /* from SIGTERM to SIGKILL */
    struct hf_span margin;      /* from SIGKILL to the deadline */
    enum cli_why why;
    struct hf_instant terminated; /* when SIGTERM was sent; HF_NEVER: it was
                                     not */
    struct hf_instant drain_end;  /* the command was ended by a signal: its
                                     descendants are killed then; HF_NEVER: it
                                     was not */
    bool is_alone;                /* no descendant is left */
    bool is_lost;                 /* the lock was lost */
    bool is_lost_by_reply; /* lost by replies of a majority, before the deadline
                            */
    struct cli_lost lost;  /* is_lost_by_reply: the present holder */
    bool was_asleep;       /* the keeper woke too late to kill in time */
    bool has_group;        /* the store knows of the command's process group */
    bool is_denied;        /* the store does not permit the release */
    bool is_again;         /* not the first round of --again */
    bool was_taken;        /* the lock was acquired in this round */
    bool had_terminal;     /* the command was in the foreground to its end */
    sigset_t handed;       /* signals that were forwarded to the command */
    struct cli_own own;    /* signals to the keeper */
    struct cli_interrupt interrupt; /* the signal that ended it */
    pid_t survivor; /* a descendant that did not die in time; 0: none */
};

/* keeper_again.c: run all rounds. @return the exit code. */
int cli_keeper_again(struct cli_keeper *keeper);

/* keeper.c: acquire the lock, run the command, release the lock. @return the
 * exit code. */
int cli_keeper_round(struct cli_keeper *keeper);

/* keeper_deadline.c: the lock was acquired for @p ttl_ms (or there is none). */
void cli_keeper_begin(struct cli_keeper *keeper, int64_t ttl_ms);

/* keeper_deadline.c: write the last event of a lock: "lost" or "released". */
void cli_keeper_say_end(struct cli_keeper *keeper, const char *event);

/* keeper_deadline.c: read the lock's state after the client has run. */
void cli_keeper_look(struct cli_keeper *keeper);

/* keeper_deadline.c: report the command's process group to the store. After an
 * error it is reported again with the next renewal. */
void cli_keeper_add_group(struct cli_keeper *keeper);

/* keeper_deadline.c: send the signals that are due; called first after every
 * wait.
 * @return true when all processes were killed. */
bool cli_keeper_enforce(struct cli_keeper *keeper);

/* keeper_deadline.c: when cli_keeper_enforce() must be called next. */
struct hf_instant cli_keeper_next(const struct cli_keeper *keeper);

/* The command was ended by a signal, and its descendants are waited for. */
static inline bool cli_keeper_is_draining(const struct cli_keeper *keeper)
{
    return !hf_instant_is_never(keeper->drain_end);
}

/* keeper_drain.c: the command has ended. @return true while the lock must be
 * kept, since descendants are left and a signal ended the command. The first
 * time this gives the terminal back, and begins the grace. */
bool cli_keeper_drains(struct cli_keeper *keeper);

/* keeper_drain.c: the command has ended. Did a signal that was handed on, or
 * Ctrl-C, ask it to? That ends an election, too. */
bool cli_keeper_was_asked(const struct cli_keeper *keeper);

/* keeper_drain.c: signal the command's process group, or what is left of it. */
void cli_keeper_signal(const struct cli_keeper *keeper, int number);

/* keeper_signals.c: no signal came yet. */
void cli_keeper_signals_init(struct cli_own *own);

/* keeper_signals.c: add to `wanted` the signals to the keeper that are handed
 * on.
 */
void cli_keeper_signals_add(const struct cli_keeper *keeper, sigset_t *wanted);

/* keeper_signals.c: read keeper->signals, and note those. */
void cli_keeper_signals_read(struct cli_keeper *keeper);

/* keeper_signals.c: the wrapper has sent this signal: it is not handed on
 * again. */
void cli_keeper_signals_sent(struct cli_keeper *keeper, int number);

/* keeper_signals.c: when cli_keeper_signals_hand_on() must be called next. */
struct hf_instant cli_keeper_signals_next(const struct cli_keeper *keeper);

/* keeper_signals.c: forget a signal that is due by then. @return it; 0: none.
 */
int cli_keeper_signals_take(struct cli_keeper *keeper, struct hf_instant until);

/* keeper_signals.c: hand on to the command what is due. */
void cli_keeper_signals_hand_on(struct cli_keeper *keeper,
                                struct hf_instant now);

/* keeper_signals.c: the command has ended. What has come by now counts as
 * handed on: the command may have had the same signal itself. */
void cli_keeper_signals_end(struct cli_keeper *keeper);

/* keeper_deadline.c: send SIGTERM to the command. */
void cli_keeper_end(struct cli_keeper *keeper, enum cli_why why);

/* keeper_deadline.c: kill all descendants, and wait until they have ended. */
void cli_keeper_kill(struct cli_keeper *keeper);

/* keeper_code.c: @return the exit code, after a line on stderr if it needs one.
 * @p was_ours: the lock was still ours when it was released. */
int cli_keeper_code(const struct cli_keeper *keeper, bool was_ours);

/* keeper_once.c: before the lock is acquired, read the mark of --once, or
 * whether the store can do --min-hold. @return false with take->outcome;
 * HF_BUSY: a command was started in this period. */
bool cli_keeper_may_begin(struct cli_keeper *keeper, struct cli_acquire *take);

/* keeper_once.c: write the mark while the lock is held. @return false: as
 * above, and the lock was released. */
bool cli_keeper_mark(struct cli_keeper *keeper, struct cli_acquire *take);

/* keeper_once.c: withdraw the mark if needed, before the release. @p has_run:
 * the command was started. */
void cli_keeper_unmark(struct cli_keeper *keeper, bool has_run);

/* keeper_jobs.c: the command was stopped by a signal. */
void cli_keeper_stopped(struct cli_keeper *keeper, int number);

/* keeper_jobs.c: the command has ended. Give the terminal back to our group,
 * and note the signal that ended the command. */
void cli_keeper_give_terminal(struct cli_keeper *keeper);

/* keeper_jobs.c: process all messages of the wrapper.
 * @return false when the wrapper has ended. */
bool cli_keeper_receive(struct cli_keeper *keeper);

/* keeper_jobs.c: the same while no command runs, and signals to the keeper; a
 * cli_acquire_stop_fn, called when keeper->wake is readable.
 * @return the signal that ends the run, CLI_STOP_GONE, or 0. */
int cli_keeper_stop(void *user);

#endif
