/* SPDX-License-Identifier: Apache-2.0 */
/* The machine below the embedded store.
 *
 *   src/store/local   as shipped, with LMDB
 *   ───────────────   what it asks of the kernel, linked with --wrap:
 *   files.c           the folder, its files, /proc
 *   mutex.c           the robust mutex of the gate, and clocks
 *   datagrams.c       wake-ups
 *   transactions.c    the disk may be full; the judge looks on
 *   verb_trace.c      … what each request did in one, told to the judge
 *   lock_state.c      … and what the table says of a lock
 *
 * All processes of such a world run on one host. Each of these calls is a step
 * at which the caller may be stopped, or killed (machine.c); what it left
 * then stays as the kernel would leave it: files and mapped memory as they are,
 * descriptors closed, the mutex passed on, its process number free to be used
 * again. */
#ifndef HF_SIM_MACHINE_H
#define HF_SIM_MACHINE_H

#include "world/world.h"

struct hf_watch;
struct sim_machine;

#define SIM_MACHINE_URL "local:///hfsim"

struct sim_machine *sim_machine_new(struct sim_world *world);
void sim_machine_free(struct sim_machine *machine);

/* A process begins: it gets a number and a start time. It ended: what it had
 * open is closed, who waits for its mutex goes on. */
void sim_machine_started(struct sim_process *process);
void sim_machine_ended(struct sim_process *process);

/* The process dies while it opens a client, before the caller has the handle.
 * Its code runs to the end of that call, so that it frees its memory, without
 * touching the machine: its system calls fail from now on. */
void sim_machine_disown(struct sim_process *process);
bool sim_machine_has_disowned(const struct sim_process *process);

/* The host has restarted: what is in the folder is of another boot. */
void sim_machine_rebooted(struct sim_machine *machine);

/* The number of a process, as getpid() says. */
int sim_machine_pid(const struct sim_process *process);

/* In its call number `calls` from now on, counted from 1, the process stops for
 * `span_ns`; or dies there, and starts again after that. */
void sim_machine_stop_in(struct sim_process *process, int64_t calls,
                         int64_t span_ns);
void sim_machine_kill_in(struct sim_process *process, int64_t calls,
                         int64_t span_ns);

/* The disk is full: nothing is written that needs a new page. */
void sim_machine_set_full(struct sim_machine *machine, bool is_full);

/* Nothing breaks any more. */
void sim_machine_calm(struct sim_machine *machine);

/* ---- The loop (world/io_shim.c calls these) ---------------------------- */

void sim_machine_watch(struct sim_process *process, struct hf_watch *watch);
void sim_machine_unwatch(struct sim_process *process, struct hf_watch *watch);
bool sim_machine_has_news(const struct sim_process *process);
void sim_machine_dispatch(struct sim_process *process, struct hf_instant now);

/* ---- The judge --------------------------------------------------------- */

/* The owner of a lock in the table, and for how much longer it owns it by the
 * machine's clock. NULL: it is free. Borrowed until the next commit. */
const char *sim_machine_owner(const struct sim_machine *machine,
                              const char *name, size_t *len, int64_t *left_ns);

/* For how much longer `owner`, a digest, shares the lock at `fence`; -1: it
 * does not. */
int64_t sim_machine_shares(const struct sim_machine *machine, const char *name,
                           uint64_t owner, uint64_t fence);

/* The sharer number `idx` of the lock, as a digest; 0: there are fewer. */
uint64_t sim_machine_sharer(const struct sim_machine *machine, const char *name,
                            unsigned idx);

/* 0: no counter is known. */
uint64_t sim_machine_counter(const struct sim_machine *machine,
                             const char *name);

/* Another owner than `but` waits for it. */
bool sim_machine_has_queue(const struct sim_machine *machine, const char *name,
                           uint64_t but);

/* The mark that is kept is that of the run `fence`, and not withdrawn. */
bool sim_machine_has_mark(const struct sim_machine *machine, const char *name,
                          uint64_t fence);

/* The disk is full, or a process stands still, perhaps inside the gate. */
bool sim_machine_hinders(const struct sim_machine *machine);

/* At the end: is anything left? */
void sim_machine_judge_end(struct sim_machine *machine);

#endif
