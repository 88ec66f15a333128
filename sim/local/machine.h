/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated machine below the embedded store.
 *
 *   src/store/local   as shipped, with LMDB
 *   ───────────────   its system calls, replaced by --wrap when linking:
 *   files.c           the folder, its files, /proc
 *   mutex.c           the robust mutex of the gate, and clocks
 *   datagrams.c       wake-ups
 *   transactions.c    a full disk; the oracle reads the table after a commit
 *   verb_trace.c      … and gets a report of each request
 *   lock_state.c      … and can read the state of a lock in the table
 *
 * All processes of such a world run on one host. Each of these calls is a step
 * at which the caller may be stopped, or killed (machine.c). After a kill the
 * machine is as a kernel leaves it: files and mapped memory are unchanged,
 * descriptors closed, the mutex is passed on, and the process number may be
 * used again. */
#ifndef HF_SIM_MACHINE_H
#define HF_SIM_MACHINE_H

#include "world/world.h"

struct hf_watch;
struct sim_machine;

/* The store's URL in such a world. Nothing of that path exists on the real
 * machine. */
#define SIM_MACHINE_URL "local:///hfsim"

/* The machine of a world, without processes and with an empty folder. Its
 * files are in memory (memfd_create()). */
struct sim_machine *sim_machine_new(struct sim_world *world);

/* After the processes have ended. NULL is ignored. */
void sim_machine_free(struct sim_machine *machine);

/* A process has started: it gets a number and a start time. */
void sim_machine_started(struct sim_process *process);

/* A process has ended: its descriptors are closed, and waiters for its mutex
 * continue. */
void sim_machine_ended(struct sim_process *process);

/* The process is killed while it opens a client, before the caller has the
 * handle. Its code runs to the end of that call, which frees its memory. It
 * does not change the machine: its system calls fail from now on. */
void sim_machine_disown(struct sim_process *process);

/* Whether that has happened, and the process has not started again. */
bool sim_machine_has_disowned(const struct sim_process *process);

/* The host has restarted: the data in the folder belongs to an earlier boot. */
void sim_machine_rebooted(struct sim_machine *machine);

/* The number of a process, as getpid() says. */
int sim_machine_pid(const struct sim_process *process);

/* In its call number `calls` from now on, counted from 1, the process stops for
 * `span_ns`; or ends there, and starts again after that time. */
void sim_machine_stop_in(struct sim_process *process, int64_t calls,
                         int64_t span_ns);
void sim_machine_kill_in(struct sim_process *process, int64_t calls,
                         int64_t span_ns);

/* While the disk is full, a write that needs a new page fails. */
void sim_machine_set_full(struct sim_machine *machine, bool is_full);

/* The last fault is over. */
void sim_machine_calm(struct sim_machine *machine);

/* ---- The loop (world/io_shim.c calls these) ---------------------------- */

/* The process polls a descriptor. The machine notes it only if it is the
 * process' own socket for wake-ups. */
void sim_machine_watch(struct sim_process *process, struct hf_watch *watch);

/* It polls it no more. */
void sim_machine_unwatch(struct sim_process *process, struct hf_watch *watch);

/* Whether a datagram has come for a socket that the process polls: it must not
 * sleep. */
bool sim_machine_has_news(const struct sim_process *process);

/* Report that datagram to the store, from the fiber of the process. */
void sim_machine_dispatch(struct sim_process *process, struct hf_instant now);

/* ---- For the oracle ---------------------------------------------------- */

/* The owner of a lock in the table, and the rest of its lease by the machine's
 * clock. NULL: the lock is free. Borrowed until the next commit. */
const char *sim_machine_owner(const struct sim_machine *machine,
                              const char *name, size_t *len, int64_t *left_ns);

/* The rest of the lease by which `owner`, a digest, shares the lock at `fence`;
 * -1: it does not. */
int64_t sim_machine_shares(const struct sim_machine *machine, const char *name,
                           uint64_t owner, uint64_t fence);

/* The sharer number `idx` of the lock, as a digest; 0: there are fewer. */
uint64_t sim_machine_sharer(const struct sim_machine *machine, const char *name,
                            unsigned idx);

/* @return the counter of the name; 0: none is known. */
uint64_t sim_machine_counter(const struct sim_machine *machine,
                             const char *name);

/* An owner other than `but`, a digest, waits for the name. */
bool sim_machine_has_queue(const struct sim_machine *machine, const char *name,
                           uint64_t but);

/* The mark in the table is that of the run `fence`; one that was withdrawn is
 * none. */
bool sim_machine_has_mark(const struct sim_machine *machine, const char *name,
                          uint64_t fence);

/* The disk is full, or a process is paused, which may be inside the gate: then
 * a free name may not be granted soon. */
bool sim_machine_hinders(const struct sim_machine *machine);

/* RESIDUE at the end of the run: no lock or waiter may be left. */
void sim_machine_judge_end(struct sim_machine *machine);

#endif
