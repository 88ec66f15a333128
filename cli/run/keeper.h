/* SPDX-License-Identifier: Apache-2.0 */
/* The process that holds the lease: takes the lock, starts the command,
 * renews, has the command dead before the lease can end, and gives back. */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "run/child.h"
#include "run/lost.h"
#include "run/wrapper.h"
#include "status.h"
#include "take.h"

#include <holdfast/holdfast.h>
#include <signal.h>

/* Runs in the forked process, and ends it with the exit code of the whole. */
_Noreturn void cli_keeper(struct cli_run *run);

/* Why the command is being ended before its time. */
enum cli_why {
    CLI_WHY_NONE,
    CLI_WHY_LOST, /* the lease ends, or was lost */
    CLI_WHY_MAX_HOLD,
    CLI_WHY_WRAPPER /* the wrapper has ended */
};

/* cli_keeper_stop(): the wrapper is gone. No signal has this number. */
#define CLI_STOP_GONE 1000

/* What the keeper's files share. Times are CLOCK_BOOTTIME in nanoseconds. */
struct cli_keeper {
    struct cli_run *run;
    const struct cli_args *args;
    int link; /* our end */
    int signals;
    int timer;
    int64_t timer_ns; /* what it is set to */
    struct hf_client *client;
    struct hf_lock *lock; /* NULL: running without (--on-unreachable run) */
    enum hf_state state;  /* as it was last seen */
    struct cli_status status;
    struct cli_term term;
    struct cli_child child;
    int64_t started_ns;  /* the lock was taken */
    int64_t deadline_ns; /* end of the lease, INT64_MAX without one */
    int64_t grace_ns;    /* from SIGTERM to SIGKILL */
    int64_t margin_ns;   /* from SIGKILL to the deadline */
    enum cli_why why;
    int64_t ending_ns;    /* when SIGTERM was sent */
    bool is_lost;         /* it was, whatever was done about it */
    bool was_told;        /* by a majority, with the deadline still ahead */
    struct cli_lost lost; /* was_told: who took it */
    bool was_asleep;      /* we woke up too late to end the command in time */
    bool is_covered;      /* the store knows of the command's process group */
    bool is_denied;       /* the store does not permit the release */
    bool is_again;        /* not the first round of --again */
    bool was_taken;       /* the lock, in this round, whatever came of it */
    bool had_terminal;    /* the command was in the foreground to its end */
    sigset_t handed;      /* signals that were handed on to the command */
    pid_t survivor;       /* a descendant that would not die; 0: none */
};

/* keeper_again.c: run rounds until none is to follow. @return the exit code. */
int cli_keeper_again(struct cli_keeper *keeper);

/* keeper.c: take the lock, run the command, give the lock back. @return the
 * exit code. */
int cli_keeper_round(struct cli_keeper *keeper);

/* keeper_end.c: the lock was just taken, for @p ttl_ms (or there is none). */
void cli_keeper_begin(struct cli_keeper *keeper, int64_t ttl_ms);

/* keeper_end.c: look at the lock after the client has done something. */
void cli_keeper_look(struct cli_keeper *keeper);

/* keeper_end.c: tell the store of the command's process group. What it could
 * not be told is told again after the next renewal. */
void cli_keeper_cover(struct cli_keeper *keeper);

/* keeper_end.c: do what the time asks for; first thing after every wait.
 * @return true when everything was ended. */
bool cli_keeper_enforce(struct cli_keeper *keeper);

/* keeper_end.c: when cli_keeper_enforce() wants to be called next. */
int64_t cli_keeper_next(const struct cli_keeper *keeper);

/* keeper_end.c: begin to end the command: SIGTERM now. */
void cli_keeper_end(struct cli_keeper *keeper, enum cli_why why);

/* keeper_end.c: SIGKILL to all that descends, and wait until it is gone. */
void cli_keeper_kill(struct cli_keeper *keeper);

/* keeper_code.c: the exit code, after its line if there is one. @p was_ours:
 * the lock was still ours when it was given back. */
int cli_keeper_code(const struct cli_keeper *keeper, bool was_ours);

/* keeper_once.c: before anything is taken. @return false: take->outcome says
 * why not; HF_BUSY: a command was started in this period. */
bool cli_keeper_is_unmarked(struct cli_keeper *keeper, struct cli_take *take);

/* keeper_once.c: the lock is held; the period begins. @return false: as above,
 * and the lock was given back. */
bool cli_keeper_mark(struct cli_keeper *keeper, struct cli_take *take);

/* keeper_once.c: before the lock is given back. @p has_run: the command was
 * started. */
void cli_keeper_unmark(struct cli_keeper *keeper, bool has_run);

/* keeper_jobs.c: the command was stopped by a signal. */
void cli_keeper_stopped(struct cli_keeper *keeper, int number);

/* keeper_jobs.c: everything that the wrapper said.
 * @return false when the wrapper is gone. */
bool cli_keeper_hear(struct cli_keeper *keeper);

/* keeper_jobs.c: the same while no command runs; a cli_take_stop_fn.
 * @return the signal to end with, CLI_STOP_GONE, or 0. */
int cli_keeper_stop(void *user);

#endif
