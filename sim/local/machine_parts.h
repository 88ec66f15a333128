/* SPDX-License-Identifier: Apache-2.0 */
/* The state shared by the files of the simulated machine (machine.h). A
 * replaced system call asks sim_task_running() first: NULL means that it is the
 * simulator's own call, which is passed on. Else sim_task_call() comes before
 * its effect. Times are the world's, unless a comment says otherwise. */
#ifndef HF_SIM_MACHINE_PARTS_H
#define HF_SIM_MACHINE_PARTS_H

#include "world/world.h"

#include "store/local/record.h"
#include "store/local/wake.h"

#include <lmdb.h>
#include <pthread.h>

#define SIM_FOLDER "/hfsim"

/* Descriptors that a process may have for files of the machine at a time: the
 * store keeps three or four, and opens others for a moment. More abort. */
#define SIM_FDS_MAX 16

/* Process numbers: from the first one after init, and few, so that they are
 * used again: four more than processes, for those that have ended. */
#define SIM_PID_FIRST 2
#define SIM_PIDS_MAX (SIM_PROCESSES_MAX + 4)

/* The files of the folder that have contents here. */
enum sim_file_kind { SIM_FILE_GATE, SIM_FILE_DATA, SIM_FILES };

/* Datagrams that wait in a socket: one more than net.unix.max_dgram_qlen, which
 * is 10 by default, as Linux counts. Further ones are refused. */
#define SIM_INBOX_MAX 11

/* The datagram socket of a process. */
struct sim_datagram {
    size_t len;
    char data[16 + sizeof(struct hf_wake_note) * HF_WAKE_NOTES_MAX];
};
struct sim_box {
    int fd;      /* -1: none */
    char id[24]; /* "": not bound */
    struct hf_watch *watch;
    bool has_news;
    unsigned n_inbox;
    struct sim_datagram *inbox[SIM_INBOX_MAX];
};

/* The kernel's state of a process. */
struct sim_task {
    struct sim_machine *machine;
    struct sim_process *process;
    int pid;
    uint64_t start_ticks; /* clock ticks since the boot */
    bool is_zombie;       /* it has ended, and keeps its number */
    bool is_disowned;     /* its calls fail (machine.h) */
    bool waits;           /* for the mutex */
    int64_t n_calls;      /* until it stops or ends in one; 0: no such fault */
    int64_t span_ns;      /* … for this time */
    bool dies;
    int fds[SIM_FDS_MAX];          /* 0: none */
    MDB_txn *txn;                  /* NULL: none is open */
    const struct hf_txn *verb_txn; /* its request; NULL: none yet */
    bool only_reads;               /* the request is LIST or QUEUE */
    struct sim_box box;
    struct sim_random random; /* delays of datagrams to it */
};

/* The contents of the table after the last commit, for the oracle: rows are
 * the names and permits that a story has locked; more abort. Entries are the
 * sharers and waiters of a row, some for each lane; others are not kept. */
#define SIM_ROWS_MAX 64
#define SIM_ROW_ENTRIES 128

/* A sharer, or a waiter. */
struct sim_row_entry {
    uint64_t owner; /* digest */
    uint64_t counter;
    int64_t until_ns;
    bool waits;
};

struct sim_row {
    char name[8];
    uint64_t counter;
    uint64_t counter_at_calm;
    int64_t until_ns;
    int64_t waits_until_ns; /* the end of the last place; 0: no waiters */
    bool is_there, is_owned, is_shared;
    struct hf_local_mark mark;
    unsigned n_entries; /* at most SIM_ROW_ENTRIES are kept */
    struct sim_row_entry entries[SIM_ROW_ENTRIES];
    size_t owner_len;
    char owner[HF_RECORD_OWNER_MAX];
};

struct sim_machine {
    struct sim_world *world;
    bool has_folder;
    int files[SIM_FILES]; /* memory; -1: it does not exist */
    int pid_last;
    int n_bursts; /* process numbers beyond the usual range that were used */
    /* clock ticks: the start of the last process with this number in this
     * boot, plus 1; 0: none */
    uint64_t starts_ticks[SIM_PIDS_MAX];
    bool is_full;
    struct sim_task tasks[SIM_PROCESSES_MAX];
    struct sim_row rows[SIM_ROWS_MAX];
    unsigned n_rows;
};

/* The task that runs now; NULL: none, or not on such a machine: then the call
 * is the simulator's own. */
struct sim_task *sim_task_running(void);

/* The task of a process; NULL: the world has servers instead of a machine. */
struct sim_task *sim_task_of(const struct sim_process *process);

/* The task makes a system call: it may be stopped here, or killed and not
 * return. @return false: the call fails, since the process has been killed. */
bool sim_task_call(struct sim_task *task);

/* A live process or a zombie with this number; NULL: none. */
struct sim_task *sim_task_find(struct sim_machine *machine, int64_t pid);

/* A mutex is free: wake its waiters, which retry. */
void sim_mutex_wake(struct sim_machine *machine);

/* @return false: `fd` is no socket of this process. */
bool sim_box_close(struct sim_task *task, int fd);

/* A transaction has ended, by a commit if `has_written`: report the request to
 * the oracle. Call it after sim_table_look(). */
void sim_verb_done(struct sim_task *task, bool has_written);

/* The disk was full: a RELEASE had no effect, and a process that does not retry
 * keeps the lock. */
void sim_verb_failed(const struct sim_task *task);

/* Read the table, after a commit or at any other time. */
void sim_table_look(struct sim_machine *machine, MDB_env *env);

#endif
